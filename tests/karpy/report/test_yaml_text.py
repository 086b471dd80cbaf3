from __future__ import annotations

import yaml

from karpy.report.yaml_text import to_yaml


def test_what_is_shared_is_written_out_each_time() -> None:
    shared = {"a": [1]}
    text = to_yaml([{"x": shared, "y": shared}])
    assert "&" not in text
    assert yaml.safe_load(text) == {"x": shared, "y": shared}


def test_keys_keep_their_order() -> None:
    assert to_yaml([{"kind": "B", "apiVersion": "a"}]) == "---\nkind: B\napiVersion: a\n"

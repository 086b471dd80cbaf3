from __future__ import annotations

import pytest

from karpy.sim.api.printing.jsonpath import find

OBJ = {
    "metadata": {"labels": {"node.kubernetes.io/instance-type": "m5.large"}},
    "spec": {"size": 3, "list": [{"n": 1}, {"n": 2}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        ("{.spec.size}", [3]),
        (r".metadata.labels.node\.kubernetes\.io/instance-type", ["m5.large"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".spec.list[1].n", [2]),
        (".spec.list[*].n", [1, 2]),
        (".spec.none.deeper", []),
        (".spec.size.deeper", []),
    ],
)
def test_paths_of_printer_columns(path: str, found: list) -> None:
    assert find(path, OBJ) == found

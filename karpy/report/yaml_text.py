"""Objects as YAML that kubectl takes and people read: in the order of their keys, without anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

__all__ = ["to_yaml"]


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Parts that several objects share are written out each time."""
        del data
        return True


def to_yaml(objects: Iterable[Mapping[str, Any]]) -> str:
    """One document for each object, each after a line of its own with three dashes."""
    return "".join("---\n" + yaml.dump(obj, Dumper=_Dumper, sort_keys=False, width=120) for obj in objects)

"""What `kubectl apply` wrote down of its last configuration, which its server-side form takes over.

Fields that client-side applying set, and that nobody has changed since, are no conflict for the manager ``kubectl``; the note
is kept up to date for those who go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

__all__ = ["KUBECTL", "last_applied", "with_last_applied"]

Body = Mapping[str, Any]

KUBECTL: Final = "kubectl"
"""The manager that server-side applying with kubectl has, unless another is named."""
_NOTE: Final = "kubectl.kubernetes.io/last-applied-configuration"
_encode = msgspec.json.Encoder(order="sorted").encode
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Go writes these so, also within strings."""


def last_applied(obj: Body) -> Body | None:
    """The configuration noted on an object; None when there is none that can be read."""
    note = (obj["metadata"].get("annotations") or {}).get(_NOTE)
    if not note:
        return None
    try:
        found = msgspec.json.decode(note)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, Mapping) else None


def with_last_applied(obj: dict[str, Any], applied: Body) -> dict[str, Any]:
    """``obj`` with ``applied`` noted, if anything was noted before."""
    meta = obj["metadata"]
    noted = meta.get("annotations") or {}
    if not noted.get(_NOTE):
        return obj
    given = applied.get("metadata") or {}
    if "annotations" in given:
        given = {**given, "annotations": {k: v for k, v in (given["annotations"] or {}).items() if k != _NOTE}}
    text = _encode({**applied, "metadata": given}).decode().translate(_ESCAPED) + "\n"
    return {**obj, "metadata": {**meta, "annotations": {**noted, _NOTE: text}}}

"""Whether new room comes before old room goes, where a pool says so itself.

In Karpenter a node that is deleted or expires is drained at once. karpy may wait until its pods have a place, by its settings or by
the pool's annotation `REPLACE_BEFORE_DRAIN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpy.errors import InvalidObject, shown

__all__ = ["REPLACE_BEFORE_DRAIN", "replace_before_drain"]

REPLACE_BEFORE_DRAIN: Final = "karpy.dev/replace-before-drain"


def replace_before_drain(annotations: Mapping[str, str]) -> bool | None:
    """Whether nodes of the pool are drained only when their pods have a place; None where the annotation is not there.

    Raises:
        InvalidObject: it says neither "true" nor "false".

    >>> replace_before_drain({REPLACE_BEFORE_DRAIN: "true"})
    True
    """
    text = annotations.get(REPLACE_BEFORE_DRAIN)
    if text is None:
        return None
    if text not in ("true", "false"):
        path = f"metadata.annotations[{REPLACE_BEFORE_DRAIN}]"
        raise InvalidObject(f"found {shown(text)}", path=path, accepted="true or false")
    return text == "true"

"""Lists in pages: a token says where the next begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpy_aws.testing.refusals import Refused

__all__ = ["page"]

_LEAST: Final = 5


def page(items: Sequence[Any], request: Mapping[str, Any], member: str, *, most: int, size: int = 0) -> dict[str, Any]:
    """One page of ``items`` as ``member``, and a ``NextToken`` when there are more.

    Without ``MaxResults`` all come at once, as from EC2. ``most`` is what the call allows; ``size``, where it is not 0, makes pages
    smaller than was asked for, which AWS may do at any time.
    """
    asked = request.get("MaxResults")
    if asked is None:
        return {member: list(items)}
    if not (_LEAST <= asked <= most):
        raise Refused("InvalidParameterValue", f"Value ( {asked} ) for parameter maxResults is invalid.")
    token = request.get("NextToken") or "0"
    if not token.isdecimal() or int(token) > len(items):
        raise Refused("InvalidNextToken", "The token is not valid")
    start = int(token)
    end = start + (min(asked, size) if size else asked)
    found: dict[str, Any] = {member: list(items[start:end])}
    return {**found, "NextToken": str(end)} if end < len(items) else found

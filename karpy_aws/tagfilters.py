"""Tags of selector terms as filters of EC2's Describe calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["tag_filters"]

ANY = "*"


def tag_filters(tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """One filter a tag, and all must hold. The value ``*`` asks for the key alone; other wildcards are EC2's to read.

    >>> tag_filters({"team": "a", "env": "*"})
    [{'Name': 'tag-key', 'Values': ['env']}, {'Name': 'tag:team', 'Values': ['a']}]
    """
    return [
        {"Name": "tag-key", "Values": [key]} if value == ANY else {"Name": f"tag:{key}", "Values": [value]}
        for key, value in sorted(tags.items())
    ]

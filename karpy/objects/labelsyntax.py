"""What Kubernetes takes for the key and the value of a label (and of a taint, whose value is written like a key)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["KEY_FORM", "VALUE_FORM", "is_label_key", "is_label_value"]

_MAX_NAME = 63
_MAX_PREFIX = 253
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

KEY_FORM: Final = (
    f"a name of 1 to {_MAX_NAME} letters, digits, '-', '_' and '.', with a letter or digit at both ends; "
    "before it, if at all, a DNS name in lower case and '/'"
)
VALUE_FORM: Final = (
    f"up to {_MAX_NAME} letters, digits, '-', '_' and '.', with a letter or digit at both ends; or nothing"
)


def is_label_key(text: str) -> bool:
    """Whether it is a qualified name.

    >>> is_label_key("example.com/team"), is_label_key("a/b/c"), is_label_key("Example.com/team")
    (True, False, False)
    """
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > _MAX_PREFIX or _PREFIX.fullmatch(prefix) is None):
        return False
    return len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether it is empty, or written like the name of a key."""
    return not text or (len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None)

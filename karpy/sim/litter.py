"""Python's search for garbage in cycles, less often while a world runs.

A world holds hundreds of thousands of objects that live long, and makes little garbage that only this search would find. Looking
through all of them as often as Python does by default takes a fifth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["rarely_collected"]

_NEW_OBJECTS = 50_000
"""As many may be made before the young ones are looked through."""
_LOOKS = 50
"""As often is that done before those that outlived it are looked through as well."""
_LOOKS_AT_ALL = 2
"""And that before everything is, if enough has gathered: else one world after another would be left lying about."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for garbage less often, and only among new objects, for as long as this lasts.

    What the process has set itself to be rarer, or has set aside, stays so.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < _NEW_OBJECTS:
        yield
        return
    gc.set_threshold(_NEW_OBJECTS, max(before[1], _LOOKS), min(before[2], _LOOKS_AT_ALL))
    sets_aside = gc.get_freeze_count() == 0
    if sets_aside:
        gc.freeze()
    try:
        yield
    finally:
        if sets_aside:
            gc.unfreeze()
        gc.set_threshold(*before)

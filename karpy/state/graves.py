"""Claims that ended, so that they do not come back.

What a controller wrote is taken in from the answer to the write. With several threads that answer may come in after the watch has
told already that the claim is gone: it would stay in the state for ever, a machine that no one has.
"""

from __future__ import annotations

from typing import Any

from karpy.objects.meta import ObjectMeta

__all__ = ["Graves", "is_older"]

_MOST = 4_096
"""So many are remembered. An answer that comes in after so many other claims ended has been lost for long."""


class Graves:
    """The last versions of claims that ended, by uid."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def add(self, claim: Any) -> None:
        """This claim, raw JSON, ended."""
        metadata = claim["metadata"]
        uid, version = metadata.get("uid"), metadata.get("resourceVersion")
        if isinstance(uid, str) and isinstance(version, str) and uid:
            self._last[uid] = version
            if len(self._last) > _MOST:
                del self._last[next(iter(self._last))]

    def hold(self, metadata: ObjectMeta) -> bool:
        """Whether this claim ended later than it was like this."""
        last = self._last.get(metadata.uid)
        return last is not None and _is_before(metadata.resource_version, last)


def is_older(new: ObjectMeta, known: ObjectMeta) -> bool:
    """Whether ``new`` is an earlier version of the same object, as far as versions can be compared."""
    return new.uid == known.uid and _is_before(new.resource_version, known.resource_version)


def _is_before(version: str, other: str) -> bool:
    return version.isdigit() and other.isdigit() and int(version) < int(other)

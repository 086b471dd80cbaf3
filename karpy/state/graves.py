"""Claims that ended, so that they do not come back.

What a controller wrote is taken in from the answer to the write. With several threads that answer may come in after the watch has
told already that the claim is gone: it would stay in the state for ever, a machine that no one has.
"""

from __future__ import annotations

__all__ = ["Graves"]

_MOST = 4_096
"""So many are remembered. An answer that comes in after so many other claims ended has been lost for long."""


class Graves:
    """The uids of claims that ended. No API server gives one out twice."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def add(self, uid: str) -> None:
        if uid:
            self._uids[uid] = None
            if len(self._uids) > _MOST:
                del self._uids[next(iter(self._uids))]

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

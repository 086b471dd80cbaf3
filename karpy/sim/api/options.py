"""The options of a call, as values: those of writes and those of deletes."""

from __future__ import annotations

from collections.abc import Callable

import attrs

__all__ = ["IN_PROCESS", "DeleteOptions", "WriteOptions"]


@attrs.frozen(kw_only=True)
class WriteOptions:
    """How a create, update or patch is meant.

    ``manager``: who writes, for field ownership; empty: ownership is not tracked. ``field_validation``: Strict, Warn, Ignore,
    or empty, which is Ignore without the cost of looking. ``warn`` is told what the client should read.
    """

    dry_run: bool = False
    manager: str = ""
    field_validation: str = ""
    force: bool = False
    warn: Callable[[str], None] | None = None

    @property
    def from_client(self) -> bool:
        """Whether the write came over HTTP, and not from the cluster's own actors in this process."""
        return bool(self.field_validation)


IN_PROCESS = WriteOptions()
"""The options of calls from within the process: no ownership, no warnings."""


@attrs.frozen(kw_only=True)
class DeleteOptions:
    """How a delete is meant; the fields of the API's DeleteOptions."""

    grace_period_s: int | None = None
    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    dry_run: bool = False

"""Everything karpy raises, as one tree.

::

    KarpyError
    ├─ InvalidObject            a manifest cannot be read (object, field path, value, what is accepted); a ValueError too
    ├─ ProviderError            anything a cloud says; .retryable
    │  ├─ NodeClaimNotFound     the instance is gone
    │  ├─ InsufficientCapacity  .offerings that failed, so that the next choice avoids them
    │  ├─ NodeClassNotReady     the node class cannot be launched from
    │  ├─ CreateFailed          .reason and .message for the claim's condition
    │  └─ Throttled             the cloud asks to slow down
    ├─ KubeError                what the API server answered; .code, .reason, .conflict, .not_found, .retryable
    ├─ PluginError              an entry point that does not hold its promise
    └─ InternalError            an invariant of ours broke: please report a bug

"Does not fit" is never an exception: outcomes that are expected are values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "CreateFailed",
    "InsufficientCapacity",
    "InternalError",
    "InvalidObject",
    "KarpyError",
    "KubeError",
    "NodeClaimNotFound",
    "NodeClassNotReady",
    "PluginError",
    "ProviderError",
    "Throttled",
    "plain",
    "shown",
    "standing",
]


_LONG = 80


class KarpyError(Exception):
    """The root of the tree."""


class InvalidObject(KarpyError, ValueError):
    """A manifest, or a value in it, cannot be read.

    ``str()`` gives one line that names the object, the field path, what was found and what is accepted.
    """

    def __init__(self, problem: str, *, path: str = "", object_name: str = "", accepted: str = "") -> None:
        self.problem = problem
        self.path = path
        self.object_name = object_name
        self.accepted = accepted
        super().__init__(problem, path, object_name, accepted)

    def __str__(self) -> str:
        head = ": ".join(part for part in (self.object_name, self.path, self.problem) if part)
        return f"{head} (accepted: {self.accepted})" if self.accepted else head

    def at(self, *, path: str = "", object_name: str = "") -> InvalidObject:
        """The same complaint, told from further out: ``path`` is put before the path known so far."""
        joined = ".".join(part for part in (path, self.path) if part).replace(".[", "[")
        return InvalidObject(
            self.problem, path=joined, object_name=object_name or self.object_name, accepted=self.accepted
        )


def plain(text: str) -> str:
    """A name as a complaint shows it: as it is, unless it is long or has letters that cannot be shown."""
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def shown(value: object) -> str:
    """A value as a complaint shows it: on one line, never long.

    >>> shown("a" * 100) == "'" + "a" * 79 + "…", shown([1, 2]), shown(None)
    (True, 'a list', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > _LONG:
        return "an integer of more than 64 bits"
    return plain(repr(value))


def standing(value: object) -> str:
    """What stands where something should, as a complaint shows it."""
    return "nothing" if value is None else shown(value)


class ProviderError(KarpyError):
    """A cloud refused or failed. ``retryable`` says whether the same call may succeed later."""

    retryable = True


class NodeClaimNotFound(ProviderError):
    """There is no instance for this claim (any more)."""

    retryable = False


class InsufficientCapacity(ProviderError):
    """Every offering that was tried is sold out; the claim is given up and its pods are looked at anew."""

    retryable = False

    def __init__(self, message: str, offerings: Sequence[Any] = ()) -> None:
        self.offerings = tuple(offerings)
        super().__init__(message)


class NodeClassNotReady(ProviderError):
    """The node class is missing, being deleted or not resolved, so nothing can be launched from it."""

    retryable = False


class CreateFailed(ProviderError):
    """The launch failed for a reason that belongs on the claim's ``Launched`` condition."""

    def __init__(self, message: str, reason: str = "LaunchFailed") -> None:
        self.reason = reason
        super().__init__(message)


class Throttled(ProviderError):
    """The cloud asks to slow down; ``retry_after_s`` is its wish, 0 when it has none."""

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class KubeError(KarpyError):
    """What the API server answered instead of an object (a ``Status`` with ``status: Failure``)."""

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after_s: float = 0.0,
    ) -> None:
        self.message = message
        self.code = code
        self.reason = reason
        self.details = dict(details or {})
        self.retry_after_s = retry_after_s
        super().__init__(message)

    @property
    def not_found(self) -> bool:
        return self.code == 404

    @property
    def conflict(self) -> bool:
        """The object changed since it was read (not: an object of that name exists)."""
        return self.code == 409 and self.reason == "Conflict"

    @property
    def already_exists(self) -> bool:
        return self.code == 409 and self.reason == "AlreadyExists"

    @property
    def gone(self) -> bool:
        """The resourceVersion asked for is too old: list again."""
        return self.code == 410

    @property
    def retryable(self) -> bool:
        return self.conflict or self.code in (408, 429) or self.code >= 500


class PluginError(KarpyError):
    """A cloud provider plug-in is missing, cannot start or does not implement the protocol."""


class InternalError(KarpyError):
    """An invariant of karpy's own broke."""

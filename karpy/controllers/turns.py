"""Whose turn it is: which controller looks at which object, for whoever tells of what happens in between.

Controllers say what they do, and not each time who they are: log lines and metrics find it here.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import attrs

from karpy.controllers.base import Controller, Request, Result, Source, by_name
from karpy.errors import InternalError, KarpyError, KubeError
from karpy.objects.kinds import Kind

__all__ = ["InTurn", "Known", "TurnKeys", "acting"]


_UNSYNCED_RETRY_S = 1.0


class Known(Protocol):
    """What controllers know of the cluster."""

    @property
    def is_synced(self) -> bool:
        """Whether that is everything."""
        ...


@attrs.define(eq=False)
class _Turn:
    """One call of a controller. Its ``id`` is given to it when somebody asks."""

    controller: InTurn
    request: Request
    id: str = ""


_TURN: ContextVar[_Turn | None] = ContextVar("turn", default=None)


class InTurn:
    """``controller``, whose every call is a turn. That a turn failed is logged; the loop tries again.

    Nobody's turn comes before ``known`` is synced, if that is given: much is decided by what is not there, and everything that was
    not listed yet is not there.
    """

    def __init__(self, controller: Controller, log: Any, known: Known | None = None) -> None:
        self._controller = controller
        self._log = log
        self._known = known
        self.name = controller.name

    @functools.cached_property
    def sources(self) -> Sequence[Source]:
        return self._controller.sources

    @functools.cached_property
    def looks_at(self) -> Kind | None:
        """The kind of object that its requests name; None for one that looks at everything at once. A controller that picks among
        the events of that kind says so itself."""
        declared: Kind | None = getattr(self._controller, "looks_at", None)
        return declared or next((source.kind for source in self.sources if source.requests is by_name), None)

    def reconcile(self, request: Request) -> Result:
        if self._known is not None and not self._known.is_synced:
            return Result(_UNSYNCED_RETRY_S)
        turn = _TURN.set(_Turn(self, request))
        try:
            return self._controller.reconcile(request)
        except InternalError:
            raise
        except KarpyError as error:
            if not (isinstance(error, KubeError) and error.conflict):  # somebody else was faster: that is no news
                self._log.error("Reconciler error", error=str(error))
            raise
        finally:
            _TURN.reset(turn)


def acting() -> str:
    """The name of the controller in whose turn this is asked; empty outside of all turns."""
    turn = _TURN.get()
    return turn.controller.name if turn is not None else ""


class TurnKeys:
    """For structlog: a line that is written in a turn says whose, by Karpenter's keys (core specification 8.3)."""

    def __init__(self, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._new_id = new_id

    def __call__(self, _logger: Any, _level: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        turn = _TURN.get()
        if turn is None:
            return line
        turn.id = turn.id or self._new_id()
        request, kind = turn.request, turn.controller.looks_at
        keys: dict[str, Any] = {"controller": turn.controller.name}
        if kind is not None:
            about = {"name": request.name, **({"namespace": request.namespace} if request.namespace else {})}
            keys |= {"controllerGroup": kind.group, "controllerKind": kind.kind, kind.kind: about}
        keys |= {"namespace": request.namespace, "name": request.name, "reconcileID": turn.id}
        return {**keys, **line}

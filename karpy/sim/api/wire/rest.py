"""The REST face of the server, without the network: a request in, an answer (or an open watch) out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.access.access import Action
from karpy.sim.api.access.guard import Guard, action_of
from karpy.sim.api.access.identity import Identity
from karpy.sim.api.access.tokens import Tokens
from karpy.sim.api.wire import newevents
from karpy.sim.api.wire.answers import Answer, page_not_found, told
from karpy.sim.api.wire.calls import Call
from karpy.sim.api.wire.landing import Landing
from karpy.sim.api.wire.listing import WatchStream
from karpy.sim.api.wire.metrics import Metrics
from karpy.sim.api.wire.negotiation import check_accept, in_form
from karpy.sim.api.wire.requests import Request, Target, parse_target, undeprecated

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["Rest"]


class Rest:
    """Answers requests from one `ApiServer`."""

    def __init__(self, server: ApiServer, tokens: Tokens | None = None) -> None:
        self._server = server
        self._tokens = tokens or Tokens(server)
        self._guard = Guard(server, self._tokens)
        self._metrics = Metrics(server.registry, server.store)
        self._landing = Landing(server.registry, self._metrics)

    def handle(self, request: Request) -> Answer | WatchStream:
        """Answer one request; never raises."""
        warnings: list[str] = []
        request = undeprecated(request)
        target = parse_target(request.path)
        action = action_of(request, target)
        with self._server.lock:
            answer = self._answer(request, target, action, warnings)
            if isinstance(answer, Answer):
                answer = in_form(answer, request)
            code = answer.code if isinstance(answer, Answer) else 200
            self._metrics.count(action, target.version if target is not None else "", code)
        return answer

    def _answer(
        self, request: Request, target: Target | None, action: Action, warnings: list[str]
    ) -> Answer | WatchStream:
        try:
            who = self._guard.admit(request, action)
            if target is not None:
                check_accept(request)
            if target is None or not target.plural:
                return self._landing.answer(request)
            return self._resource(request, target, who, warnings)
        except KubeError as error:
            return told(error, tuple(warnings))
        except RecursionError:
            return told(status.bad_request("exceeded max depth"), tuple(warnings))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # an object of a shape that no rule foresaw: the client is told, the server lives on
            return told(status.internal(f"{type(error).__name__}: {error}"), tuple(warnings))

    def _resource(self, request: Request, target: Target, who: Identity, warnings: list[str]) -> Answer | WatchStream:
        if not self._server.registry.serves(target.group, target.version):
            return page_not_found()
        resource, version = self._server.registry.at(target.group, target.version, target.plural)
        if target.namespace and not resource.namespaced:
            raise status.no_resource()
        if target.name and resource.namespaced and not target.namespace:
            raise status.no_resource()
        if version.warning:
            warnings.append(version.warning)
        face = resource
        if resource.key == newevents.KEY:
            resource, version = self._server.registry.at("", "v1", "events")
            chosen = newevents.core_field_selector(request.query.get("fieldSelector", ""))
            request = attrs.evolve(request, query={**request.query, "fieldSelector": chosen})
        call = Call(self._server, request, target, resource, version, warnings, face, who, self._tokens)
        if target.subresource and target.subresource != "status":
            return call.subresource()
        if target.subresource == "status" and not version.status:
            raise status.no_resource()
        if target.name:
            return call.on_object()
        return call.on_collection()

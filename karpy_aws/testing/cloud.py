"""`FakeAWS`: every call that karpy makes, answered from a world in memory."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from typing import Any, Final

import attrs

from karpy.clock import Clock, SystemClock
from karpy.errors import InternalError
from karpy_aws.api import APIs, Request, Response, apis
from karpy_aws.errors import INVALID_REQUEST, aws_error, resource_named_in
from karpy_aws.testing import describing, fleets, machines, services, templates
from karpy_aws.testing.buckets import Buckets
from karpy_aws.testing.describing import Handler
from karpy_aws.testing.models import answer_problems, request_problems
from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.world import World

__all__ = ["Call", "FakeAWS"]

_HANDLERS: Final[Mapping[str, Mapping[str, Handler]]] = {
    "ec2": {**describing.HANDLERS, **templates.HANDLERS, **fleets.HANDLERS, **machines.HANDLERS},
    **services.HANDLERS,
}


@attrs.frozen
class Call:
    """One call as it came, whether it succeeded or not."""

    service: str
    operation: str
    request: Mapping[str, Any]
    at: float

    @property
    def name(self) -> str:
        """Also the name of the IAM action."""
        return f"{self.service}:{self.operation}"


class FakeAWS:
    """A `karpy_aws.api.Transport`: ``FakeAWS(world).apis`` is used like the real thing.

    Every request is checked against botocore's own model of the call, so a wrong name or type cannot pass. With ``check_answers``
    the same is done with what the fake says. ``buckets`` make it throttle as EC2 does.

    >>> fake = FakeAWS(World(parameters={"/image": "ami-1"}))
    >>> fake.apis.ssm.get_parameter({"Name": "/image"})["Parameter"]["Value"]
    'ami-1'
    """

    def __init__(
        self,
        world: World | None = None,
        *,
        clock: Clock | None = None,
        buckets: Buckets | None = None,
        check_answers: bool = False,
    ) -> None:
        self.world = World() if world is None else world
        self.calls: list[Call] = []
        """All that was asked, in order."""
        self._clock = clock or SystemClock()
        self._buckets = buckets
        self._check_answers = check_answers
        self._lock = threading.Lock()

    @property
    def apis(self) -> APIs:
        return apis(self, self.world.region)

    def requests(self, operation: str) -> list[Mapping[str, Any]]:
        """What was asked of one operation, in order."""
        return [call.request for call in self.calls if call.operation == operation]

    def call(self, service: str, operation: str, request: Request) -> Response:
        """As `karpy_aws.api.Transport` says."""
        with self._lock:
            now = self._clock.now()
            asked = copy.deepcopy(dict(request))
            self.calls.append(Call(service, operation, asked, now))
            try:
                answer = self._answer(service, operation, asked, now)
            except Refused as refused:
                raise aws_error(
                    f"{service}:{operation}",
                    refused.code,
                    refused.message,
                    status=refused.status,
                    resource=resource_named_in(request),
                ) from None
        if self._check_answers and (problems := answer_problems(service, operation, answer)):
            raise InternalError(f"the fake's answer to {service}:{operation} is none of AWS: {problems}")
        return answer

    def _answer(self, service: str, operation: str, request: dict[str, Any], now: float) -> Response:
        """Checked in the order in which AWS does: what is asked, by whom, how often, and whether it is meant."""
        problems = request_problems(service, operation, request)
        if problems:
            raise Refused(INVALID_REQUEST, f"Parameter validation failed:\n{problems}", 0)
        if self.world.failures.get(operation):
            raise Refused(*self.world.failures[operation].popleft())
        if f"{service}:{operation}" in self.world.denied:
            raise _denied(service, operation)
        if self._buckets is not None and service == "ec2":
            self._buckets.spend(operation, request, now)
        if request.get("DryRun") and operation != "RunInstances":  # that one looks closer
            raise Refused("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)
        return copy.deepcopy(_HANDLERS[service][operation](self.world, request, now))


def _denied(service: str, operation: str) -> Refused:
    if service == "ec2":
        return Refused(
            "UnauthorizedOperation",
            f"You are not authorized to perform this operation. User is not authorized to perform: ec2:{operation} because "
            "no identity-based policy allows the action",
            403,
        )
    return Refused("AccessDenied", f"User is not authorized to perform: {service}:{operation}", 403)

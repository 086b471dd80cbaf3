"""What is told of a node class once it was looked up: the status of its object, and whether machines can be launched from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpy.cloud.provider import NodeClassStatus
from karpy.errors import NodeClassNotReady, ProviderError
from karpy.objects.kinds import PROVISIONER, Kind
from karpy_aws.discovery import Discovered, Problem
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["node_class_status", "raise_problems", "written_status"]

_ALWAYS: Final = ("subnets", "securityGroups", "amis")
"""Written even if there are none: what the object said before does not hold any more."""


def node_class_status(found: Discovered, origin: Kind, further: Sequence[Problem] = ()) -> NodeClassStatus:
    """The outcome. ``further`` problems are those of a class whose things were all found.

    Raises:
        ProviderError: AWS did not answer, and may do so soon. What is known of the class stays.
    """
    problems = (*found.problems, *further)
    if problems and all(problem.may_pass for problem in problems):
        raise ProviderError(_told(problems))
    status = written_status(found.status, origin)
    if not problems:
        return NodeClassStatus(True, status=status)
    return NodeClassStatus(False, problems[0].reason, _told(problems), status)


def raise_problems(problems: Sequence[Problem]) -> None:
    """For a launch that comes before the class was looked up, or after nothing was found.

    Raises:
        NodeClassNotReady: something is not there.
        ProviderError: AWS did not answer.
    """
    if problems and all(problem.may_pass for problem in problems):
        raise ProviderError(_told(problems))
    if problems:
        raise NodeClassNotReady(_told(problems))


def _told(problems: Sequence[Problem]) -> str:
    if len(problems) == 1:
        return problems[0].message
    return "; ".join(f"{problem.reason}: {problem.message}" for problem in problems)


def written_status(status: NodeClassStatusFields, origin: Kind) -> Mapping[str, Any]:
    """The fields of the object's status. Its conditions are the core's; a Provisioner has no place for any of it."""
    if origin == PROVISIONER:
        return {}
    said = {name: value for name, value in status.to_dict().items() if name != "conditions"}
    always = (*_ALWAYS, "capacityReservations") if origin == EC2_NODE_CLASS else _ALWAYS
    return {**{name: [] for name in always}, **said}

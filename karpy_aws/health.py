"""What EC2 finds wrong with machines, and what it is going to do to them: DescribeInstanceStatus, asked every minute.

A machine that does not answer any more is ended at once, since draining it leads nowhere; one that is announced to be rebooted
or retired is drained. Checks of volumes are not looked at.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from karpy_aws.api import EC2API, Request, items

__all__ = ["Ailment", "Unhealthy", "health_requests", "newly_unhealthy", "read_health", "unhealthy_instances", "worst"]


class Ailment(enum.StrEnum):
    """Karpenter's categories, as in its metric."""

    INSTANCE = "instance_status"
    """The machine's own network or system fails its checks."""
    SYSTEM = "system_status"
    """What is under the machine does."""
    EVENT = "event_status"
    """EC2 announces to do something to it."""


@attrs.frozen(order=True)
class Unhealthy:
    """One machine with one ailment."""

    instance_id: str
    ailment: Ailment

    @property
    def is_forceful(self) -> bool:
        """Whether its pods have nothing to gain from being drained."""
        return self.ailment is not Ailment.EVENT


_EVENTS: Final = ("instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop")
_TOLERATED: Final = dt.timedelta(seconds=120)
_PAST: Final = ("[Completed]", "[Canceled]")
"""How EC2 begins the description of an event that is over, which it goes on listing for a week."""
_CHECKS: Final = {Ailment.INSTANCE: "InstanceStatus", Ailment.SYSTEM: "SystemStatus"}


def health_requests() -> tuple[Request, ...]:
    """One for each category: filters of one call would all have to hold."""
    wanted = {
        "instance-status.status": ["impaired"],
        "system-status.status": ["impaired"],
        "event.code": list(_EVENTS),
    }
    return tuple(
        {"Filters": [{"Name": name, "Values": values}], "MaxResults": 1_000} for name, values in wanted.items()
    )


def read_health(status: Mapping[str, Any], now: float) -> Iterator[Unhealthy]:
    """What ails one machine. The filters are not relied on: a machine that is well is answered with nothing."""
    for ailment, member in _CHECKS.items():
        if any(_has_failed(detail, now) for detail in (status.get(member) or {}).get("Details") or ()):
            yield Unhealthy(status["InstanceId"], ailment)
    events = status.get("Events") or ()
    if any(event.get("Code") in _EVENTS and not event.get("Description", "").startswith(_PAST) for event in events):
        yield Unhealthy(status["InstanceId"], Ailment.EVENT)


def _has_failed(detail: Mapping[str, Any], now: float) -> bool:
    """For two minutes already: shorter ones come and go."""
    since = detail.get("ImpairedSince")
    if detail.get("Status") != "failed" or since is None:
        return False
    return bool(since + _TOLERATED <= dt.datetime.fromtimestamp(now, dt.UTC))


def unhealthy_instances(ec2: EC2API, now: float) -> frozenset[Unhealthy]:
    """All that EC2 finds wrong now, with machines of other people too.

    Raises:
        AWSError: one that is refused for want of permission will be refused again.
    """
    return frozenset(
        found
        for request in health_requests()
        for status in items(ec2.describe_instance_status, request, "InstanceStatuses")
        for found in read_health(status, now)
    )


def worst(found: Iterable[Unhealthy]) -> dict[str, Unhealthy]:
    """By machine, what decides: it is ended at once when anything asks for that."""
    return {item.instance_id: item for item in sorted(found, key=lambda item: (item.is_forceful, item))}


def newly_unhealthy(found: Iterable[Unhealthy], known: Iterable[Unhealthy]) -> frozenset[Unhealthy]:
    """What is to be counted: each ailment of a machine once, and again when it comes back after it was gone."""
    return frozenset(found) - frozenset(known)

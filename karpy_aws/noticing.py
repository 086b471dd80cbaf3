"""What EC2 announces of machines: the messages of the queue, and what its own checks find."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from karpy import labels as core
from karpy.clock import Clock
from karpy.cloud.notices import Notice, NoticeKind
from karpy_aws.api import EC2API
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.health import Unhealthy, newly_unhealthy, unhealthy_instances, worst
from karpy_aws.instances import Instances
from karpy_aws.interruption import InterruptionQueue
from karpy_aws.machines import Machine, instance_id, provider_id
from karpy_aws.reservations import ReservationCounts
from karpy_aws.unavailable import OfferingKey, UnavailableOfferings

__all__ = ["NamesOfMachines", "Notices"]

_CHECKED_S: Final = 60.0
_LISTED_S: Final = 30.0
_OWN: Final = "karpy/"
"""How the ids of notices begin that no queue knows."""


class Notices:
    """Gives the notices, and learns from those that say what cannot be had any more. One thread at a time asks for them.

    ``log`` is told what goes wrong with EC2's checks, which are looked at beside the queue.
    """

    def __init__(
        self,
        ec2: EC2API,
        queue: InterruptionQueue | None,
        instances: Instances,
        unavailable: UnavailableOfferings,
        reservations: ReservationCounts,
        clock: Clock,
        *,
        expiring: Callable[[], Collection[str]],
        failed: Callable[[AWSError], object],
    ) -> None:
        """``expiring`` are the capacity blocks that end soon."""
        self._ec2 = ec2
        self._queue = queue
        self._instances = instances
        self._unavailable = unavailable
        self._reservations = reservations
        self._clock = clock
        self._expiring = expiring
        self._failed = failed
        self._told_to_leave: frozenset[str] = frozenset()
        self._checked_at: float | None = None
        self._may_check = True
        self._unhealthy: frozenset[Unhealthy] = frozenset()
        self._open: dict[str, Notice] = {}
        """Those of no queue that were not dealt with yet."""

    def messages(self, most: int) -> Sequence[Notice]:
        """Raises: AWSError: the queue is missing, or may not be read."""
        self._check()
        self._leave_blocks()
        found = [*self._open.values()][:most]
        if self._queue is not None and len(found) < most:
            found.extend(self._queue.messages(most - len(found)))
        for notice in found:
            self._learn(notice)
        return found

    def acknowledge(self, notice: Notice) -> None:
        """Raises: AWSError: the queue would not delete the message."""
        if notice.id.startswith(_OWN):
            self._open.pop(notice.id, None)
        elif self._queue is not None:
            self._queue.acknowledge(notice)

    def _learn(self, notice: Notice) -> None:
        """What EC2 takes back there is no more of for a while."""
        machine = self._instances.known(instance_id(notice.provider_id)) if notice.provider_id else None
        if machine is None:
            return
        now = self._clock.now()
        if notice.kind is NoticeKind.SPOT_INTERRUPTION:
            self._unavailable.mark(_offering_of(machine), now, "SpotInterruption")
        elif notice.kind is NoticeKind.RESERVATION_INTERRUPTION and machine.reservation_id:
            self._reservations.exhausted(machine.reservation_id, now)

    def _check(self) -> None:
        now = self._clock.now()
        if not self._may_check or (self._checked_at is not None and 0 <= now - self._checked_at < _CHECKED_S):
            return
        self._checked_at = now
        try:
            found = unhealthy_instances(self._ec2, now)
        except AWSError as error:
            self._may_check = not error.has(ErrorClass.UNAUTHORIZED)  # it would be refused for ever
            self._failed(error)
            return
        new = newly_unhealthy(found, self._unhealthy)
        self._unhealthy = found
        for id_, ailing in worst(new).items():
            machine = self._instances.known(id_)
            if machine is not None:
                notice = _notice_of(ailing, machine, now)
                self._open[notice.id] = notice

    def _leave_blocks(self) -> None:
        """Machines in a capacity block are told of some minutes before EC2 ends them by itself."""
        blocks, now = self._expiring(), self._clock.now()
        leaving = [each for each in self._instances.all_known() if each.reservation_id in blocks] if blocks else []
        for machine in leaving:
            if machine.id not in self._told_to_leave:
                id_ = f"{_OWN}{machine.id}/{machine.reservation_id}"
                self._open[id_] = Notice(id_, NoticeKind.RESERVATION_INTERRUPTION, machine.provider_id, now)
        self._told_to_leave = frozenset(machine.id for machine in leaving)


def _notice_of(ailing: Unhealthy, machine: Machine, now: float) -> Notice:
    """EC2 finds it ill, or will do something to it: either way it is to be replaced."""
    id_ = f"{_OWN}{machine.id}/{ailing.ailment}"
    return Notice(id_, NoticeKind.SCHEDULED_CHANGE, machine.provider_id, now)


def _offering_of(machine: Machine) -> OfferingKey:
    return OfferingKey(
        core.SPOT, machine.instance_type, machine.zone, machine.placement_group_id, machine.partition or 0
    )


class NamesOfMachines:
    """What an instance id is called in the cluster; empty for a machine that is not ours: queues are often shared."""

    def __init__(self, instances: Instances, clock: Clock) -> None:
        self._instances = instances
        self._clock = clock
        self._listed_at: float | None = None

    def __call__(self, id_: str) -> str:
        machine = self._instances.known(id_)
        if machine is None and self._may_list():
            self._instances.list()
            machine = self._instances.known(id_)
        return provider_id(machine.zone, id_) if machine is not None else ""

    def _may_list(self) -> bool:
        now = self._clock.now()
        if self._listed_at is not None and 0 <= now - self._listed_at < _LISTED_S:
            return False
        self._listed_at = now
        return True

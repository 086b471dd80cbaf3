"""Which subnet a machine goes to: in each zone the one with the most free addresses, less what launches under way take."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence

import attrs

from karpy.cloud.instancetype import InstanceType
from karpy.requirements import Requirements
from karpy_aws.objects.status import Subnet

__all__ = ["Held", "SubnetAddresses", "addresses_wanted", "by_zone"]


def by_zone(subnets: Sequence[Subnet], free: Mapping[str, int], full: Collection[str] = ()) -> dict[str, Subnet]:
    """Zone → the subnet to launch into: the one with the most ``free`` addresses, of equals the first.

    One of the ``full``, which EC2 lately refused to launch into, is taken only where there is no other.
    """
    chosen: dict[str, Subnet] = {}
    for subnet in sorted(subnets, key=lambda each: (each.id in full, -free.get(each.id, 0))):
        chosen.setdefault(subnet.zone, subnet)
    return chosen


def addresses_wanted(types: Sequence[InstanceType], wanted: Requirements) -> dict[str, int]:
    """Zone → how many addresses a machine launched there takes at least: those of the type for the fewest pods.

    Which type it will be is EC2's choice, so counting more could leave out subnets that have room.
    """
    least: dict[str, int] = {}
    for type_ in types:
        zones = {o.zone for o in type_.offerings if o.available and o.requirements.intersects(wanted) is None}
        for zone in zones:
            least[zone] = min(least.get(zone, type_.max_pods), type_.max_pods)
    return least


@attrs.frozen
class _Taken:
    """Addresses of one subnet, taken when EC2 had been asked ``looks`` times about it."""

    count: int
    looks: int


@attrs.frozen
class Held:
    """The subnets of a launch that is under way, and what it may take of them."""

    subnets: Mapping[str, Subnet]
    """By zone."""
    taken: Mapping[str, _Taken] = attrs.field(factory=dict, repr=False)
    """By subnet."""


class SubnetAddresses:
    """How many addresses are free in each subnet, between two looks at EC2. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[str, int] = {}
        self._looks: dict[str, int] = {}

    def synced(self, free: Mapping[str, int]) -> None:
        """EC2 was asked: subnet → addresses (``AvailableIpAddressCount``), less what machines have taken by now."""
        with self._lock:
            self._free.update(free)
            for subnet in free:
                self._looks[subnet] = self._looks.get(subnet, 0) + 1

    def exhausted(self, subnet: str) -> None:
        """EC2 refused to launch into it."""
        self.synced({subnet: 0})

    def free(self) -> dict[str, int]:
        """Subnet → addresses that nobody has or is about to take. A subnet that nothing is known of is not there."""
        with self._lock:
            return dict(self._free)

    def hold(self, subnets: Sequence[Subnet], wanted: Mapping[str, int], full: Collection[str] = ()) -> Held:
        """Choose a subnet in each zone, and count ``wanted`` addresses, by zone, as taken until the launch is settled."""
        with self._lock:
            chosen = by_zone(subnets, self._free, full)
            taken: dict[str, _Taken] = {}
            for zone, subnet in chosen.items():
                count = wanted.get(zone, 0)
                self._free[subnet.id] = self._free.get(subnet.id, 0) - count
                taken[subnet.id] = _Taken(count, self._looks.get(subnet.id, 0))
            return Held(chosen, taken)

    def settle(self, held: Held, used: Collection[str] = ()) -> None:
        """The launch is over: what it held of subnets that it did not use is free again.

        Where EC2 was asked meanwhile its answer stands: it counted only what was really taken.
        """
        with self._lock:
            for subnet, taken in held.taken.items():
                if subnet not in used and self._looks.get(subnet, 0) == taken.looks:
                    self._free[subnet] += taken.count

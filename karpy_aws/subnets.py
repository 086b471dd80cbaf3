"""Which subnet a machine goes to: in each zone the one with the most free addresses, counting those that launches under way take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from karpy_aws.objects.status import Subnet

__all__ = ["Held", "SubnetAddresses"]


class Held: ...


class SubnetAddresses:
    """How many addresses are free in each subnet. May be used from several threads."""

    def synced(self, free: Mapping[str, int]) -> None:
        """EC2 was asked: subnet → addresses (``AvailableIpAddressCount``). What was in flight is in it."""
        ...

    def exhausted(self, subnet: str) -> None:
        """EC2 refused to launch into it."""
        ...

    def hold(self, subnets: Sequence[Subnet], wanted: Mapping[str, int], full: Collection[str] = ()) -> Held: ...

    def settle(self, held: Held, used: Collection[str]) -> None: ...

    @property
    def free(self) -> Mapping[str, int]: ...

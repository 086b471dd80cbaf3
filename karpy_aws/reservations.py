"""Capacity reservations: which ones a node class may use, and how many machines are left in each."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from karpy.clock import format_time
from karpy_aws.objects.nodeclass import CapacityReservationTerm
from karpy_aws.objects.status import CapacityReservation
from karpy_aws.times import moment

__all__ = [
    "EXPIRING",
    "ReservationCounts",
    "available_counts",
    "reservation_request",
    "resolve_reservations",
]

ACTIVE: Final = "active"
EXPIRING: Final = "expiring"
CAPACITY_BLOCK: Final = "capacity-block"
_EXPIRING_S: Final = 40 * 60.0
"""EC2 takes the machines of a capacity block half an hour before its end; ten minutes more are for leaving them."""
_COUNTED_S: Final = 24 * 3_600.0


def reservation_request(term: CapacityReservationTerm) -> dict[str, Any]:
    """What DescribeCapacityReservations is asked for: one query a term. By id the answer is one page."""
    active = {"Name": "state", "Values": [ACTIVE]}
    if term.id:
        return {"CapacityReservationIds": [term.id], "Filters": [active]}
    filters = [active]
    if term.owner_id:
        filters.append({"Name": "owner-id", "Values": [term.owner_id]})
    if term.instance_match_criteria:
        filters.append({"Name": "instance-match-criteria", "Values": [term.instance_match_criteria]})
    for key, value in sorted((term.tags or {}).items()):
        tag = {"Name": "tag-key", "Values": [key]} if value == "*" else {"Name": f"tag:{key}", "Values": [value]}
        filters.append(tag)
    return {"Filters": filters, "MaxResults": 1_000}


def resolve_reservations(entries: Iterable[Mapping[str, Any]], now: float) -> tuple[CapacityReservation, ...]:
    """The reservations that the answers of all terms name, sorted by id; those that are over are left out.

    Raises:
        InvalidObject: one whose end cannot be read.
    """
    found = {entry["CapacityReservationId"]: entry for entry in entries if _is_current(entry, now)}
    return tuple(_read(found[id_], now) for id_ in sorted(found))


def available_counts(entries: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Reservation → how many machines can still be launched into it, as EC2 says."""
    return {entry["CapacityReservationId"]: entry.get("AvailableInstanceCount") or 0 for entry in entries}


def _end(entry: Mapping[str, Any]) -> float | None:
    end = entry.get("EndDate")
    return None if end is None else moment(end, f"{entry['CapacityReservationId']}.EndDate")


def _is_current(entry: Mapping[str, Any], now: float) -> bool:
    end = _end(entry)
    return entry.get("State", ACTIVE) == ACTIVE and (end is None or end > now)


def _read(entry: Mapping[str, Any], now: float) -> CapacityReservation:
    end, kind = _end(entry), entry.get("ReservationType") or "default"
    is_expiring = kind == CAPACITY_BLOCK and end is not None and end - now <= _EXPIRING_S
    return CapacityReservation(
        id=entry["CapacityReservationId"],
        instance_type=entry["InstanceType"],
        availability_zone=entry["AvailabilityZone"],
        owner_id=entry.get("OwnerId", ""),
        instance_match_criteria=entry.get("InstanceMatchCriteria", "targeted"),
        reservation_type=kind,
        interruptible=bool(entry.get("Interruptible")),
        state=EXPIRING if is_expiring else ACTIVE,
        end_time=None if end is None else format_time(end),
    )


class ReservationCounts:
    """How many machines are left in each reservation, between two looks at EC2. May be used from several threads.

    What EC2 said is forgotten after a day; a reservation that nothing is known of has nothing left.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, tuple[int, float]] = {}
        self._now: Mapping[str, int] = {}

    def synced(self, counts: Mapping[str, int], now: float) -> None:
        """EC2 was asked."""
        with self._lock:
            self._left.update({id_: (count, now) for id_, count in counts.items()})
            self._renew(now)

    def launched(self, reservation: str, now: float) -> None:
        """A machine was launched into it."""
        self._change(reservation, now, -1)

    def ended(self, reservation: str, now: float) -> None:
        """A machine that ran in it is known to be gone."""
        self._change(reservation, now, +1)

    def exhausted(self, reservation: str, now: float) -> None:
        """EC2 refused to launch into it."""
        with self._lock:
            self._left[reservation] = (0, now)
            self._renew(now)

    def at(self, now: float) -> Mapping[str, int]:
        """Reservation → machines left. The same object while nothing changes."""
        with self._lock:
            if any(now - since >= _COUNTED_S for _, since in self._left.values()):
                self._renew(now)
            return self._now

    def _change(self, reservation: str, now: float, by: int) -> None:
        with self._lock:
            if reservation in self._left:
                count, since = self._left[reservation]
                self._left[reservation] = (max(count + by, 0), since)
                self._renew(now)

    def _renew(self, now: float) -> None:
        self._left = {id_: left for id_, left in self._left.items() if now - left[1] < _COUNTED_S}
        counts = {id_: count for id_, (count, _) in self._left.items()}
        if counts != self._now:
            self._now = counts

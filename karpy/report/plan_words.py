"""What the reports of an outlook say in words and rows, whatever they are written in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.instancetype import Price
from karpy.report.outlook import Outlook
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources, format_amount
from karpy.scheduling.plan import BufferOutcome, Launch, Plan

__all__ = [
    "Row",
    "asked",
    "buffer_words",
    "count",
    "dollars",
    "launch_words",
    "named",
    "nomination_words",
    "reasons",
    "rows",
    "total_words",
    "waiting_words",
    "whom",
]

NOTHING = "-"

_MIB = 2**20
_GIB = 2**30


@attrs.frozen(kw_only=True)
class Row:
    """Launches of one pool whose first choice is the same: one line of a table."""

    pool: str
    type: str
    zone: str
    capacity_type: str
    price: Price

    def cells(self, launches: Sequence[Launch]) -> tuple[str, ...]:
        """How many machines; then pool, type with the number of others that would do, zone, capacity type and price of each;
        and how many pods in all."""
        others = sorted({len(launch.instance_types) - 1 for launch in launches})
        more = f" +{others[0]}" if others[0] else ""
        price = f"{self.price:.4f}" if math.isfinite(self.price) else NOTHING
        pods = sum(len(launch.pods) for launch in launches)
        return (str(len(launches)), self.pool, self.type + more, self.zone, self.capacity_type, price, str(pods))


def rows(outlook: Outlook, plan: Plan) -> list[tuple[Row, list[Launch]]]:
    """The launches by rows: by pool, then the dearest first; those of a row by their pods."""
    alike: dict[Row, list[Launch]] = {}
    for launch in sorted(plan.launches, key=lambda launch: sorted(launch.pods)):
        alike.setdefault(_row(outlook, launch), []).append(launch)
    return sorted(alike.items(), key=lambda item: (item[0].pool, -item[0].price, item[0].type, item[0].zone))


def _row(outlook: Outlook, launch: Launch) -> Row:
    offering = outlook.offering(launch)
    return Row(
        pool=launch.pool.name,
        type=launch.instance_types[0].name,
        zone=NOTHING if offering is None else offering.zone,
        capacity_type=NOTHING if offering is None else offering.capacity_type,
        price=launch.price,
    )


def asked(requests: Resources) -> str:
    """Amounts for people, rounded; pods are counted elsewhere.

    >>> asked(Resources.parse({"cpu": "1500m", "memory": "2100Mi", "pods": "3", "nvidia.com/gpu": "1"}))
    '1.5 cpu, 2.1Gi memory, 1 nvidia.com/gpu'
    """
    shown = ((name, amount) for name, amount in sorted(requests.items()) if amount and name != PODS)
    return ", ".join(f"{_amount(name, amount)} {name}" for name, amount in shown)


def _amount(name: str, amount: int) -> str:
    if name == CPU:
        return f"{amount / 1000:g}"
    if name in (MEMORY, EPHEMERAL_STORAGE):
        return f"{amount / _GIB:.1f}Gi" if amount >= _GIB else f"{amount / _MIB:.0f}Mi"
    return format_amount(name, amount)


def count(number: int, word: str) -> str:
    """A number and what it counts.

    >>> count(1, "pod"), count(2, "pod")
    ('1 pod', '2 pods')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def dollars(price: Price) -> str:
    """
    >>> dollars(0.5)
    '$0.5000/h'
    """
    return f"${price:.4f}/h" if math.isfinite(price) else "an unknown price"


def named(keys: Iterable[str], most: int = 6) -> str:
    """Pods by name; the default namespace goes without saying, and of many only the first are named.

    >>> named(["default/b", "default/a", "kube-system/c"], most=2)
    'a, b and 1 more'
    """
    found = [key.removeprefix("default/") for key in sorted(keys)]
    rest = len(found) - most
    return f"{', '.join(found[:most])} and {rest} more" if rest > 0 else ", ".join(found)


def whom(launch: Launch, most: int = 6) -> str:
    """Whom a machine is for: pods by name, and the CapacityBuffers that have room on it."""
    parts = [named(launch.pods, most)] if launch.pods else []
    for buffer, uids in sorted(launch.headroom.items()):
        parts.append(f"room for {count(len(uids), 'pod')} of capacity buffer {named([buffer])}")
    return " and ".join(parts)


def launch_words(plan: Plan) -> str:
    """What is launched, in one line."""
    if not plan.launches:
        return "Launch nothing."
    pods = sum(len(launch.pods) for launch in plan.launches)
    room = sum(len(uids) for launch in plan.launches for uids in launch.headroom.values())
    parts = [count(pods, "pod")] if pods or not room else []
    parts += [f"room for {count(room, 'pod')} more" if pods else f"room for {count(room, 'pod')}"] if room else []
    return f"Launch {count(len(plan.launches), 'machine')} for {' and '.join(parts)}: {dollars(plan.price)}"


def buffer_words(buffer: BufferOutcome) -> str:
    """Where a CapacityBuffer has its room, in one line."""
    places = [f"{amount} on {node}" for node, amount in sorted(buffer.on_nodes.items())]
    places += [f"{buffer.launched} on new machines"] if buffer.launched else []
    places += [f"{buffer.unplaced} nowhere: {buffer.reason}"] if buffer.unplaced else []
    return f"capacity buffer {named([buffer.buffer])}, room for {count(buffer.wanted, 'pod')}: {', '.join(places)}"


def nomination_words(plan: Plan) -> str:
    """Who goes to machines that are there, in one line."""
    pods, machines = sum(len(nomination.pods) for nomination in plan.nominations), len(plan.nominations)
    where = "is there or on its way" if machines == 1 else "are there or on their way"
    return f"{count(pods, 'pod')} {'fits' if pods == 1 else 'fit'} on {count(machines, 'machine')} that {where}"


def waiting_words(plan: Plan) -> str:
    """How many pods have no place, in one line."""
    pods = sum(len(part.pods) for part in plan.unschedulable)
    return f"{count(pods, 'pod')} {'finds' if pods == 1 else 'find'} no place"


def reasons(plan: Plan) -> list[tuple[list[str], Sequence[str]]]:
    """Pods that have no place, those together that wait for the same reasons; and the reasons, one for each pool."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for part in plan.unschedulable:
        why = tuple(str(refusal) for refusal in part.refusals) or (part.reason,)
        alike.setdefault(why, []).extend(part.pods)
    return sorted((sorted(pods), why) for why, pods in alike.items())


def total_words(outlook: Outlook, plan: Plan) -> str:
    """All of it in one line."""
    waiting = sum(len(part.pods) for part in plan.unschedulable)
    if not (plan.placed or waiting or plan.launches):
        return "No pod waits for a node."
    parts = [f"{count(plan.placed, 'pod')} placed", f"{waiting} waiting", count(len(plan.launches), "new machine")]
    if plan.launches:
        parts.append(dollars(plan.price))
    bound = f"; no machines that hold these pods cost less than {dollars(outlook.bound)}" if outlook.bound else ""
    return f"Total: {', '.join(parts)}{bound}"

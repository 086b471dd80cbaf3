"""What the reports of an outlook say in words and rows, whatever they are written in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from karpy.cloud.instancetype import Price
from karpy.report.outlook import DisruptionOutlook, Outlook
from karpy.resources import PODS, Resources
from karpy.scheduling.plan import Launch, Plan, Unschedulable

__all__ = [
    "Row",
    "command_words",
    "count",
    "dollars",
    "launch_words",
    "named",
    "nomination_words",
    "reasons",
    "rows",
    "total_words",
    "waiting_words",
]

NOTHING = "-"


@attrs.frozen(kw_only=True)
class Row:
    """Launches that are alike: of one pool, for the same amount of the same kind of machine."""

    pool: str
    type: str
    others: int
    """How many further types would do."""
    zone: str
    capacity_type: str
    price: Price
    pods_each: int
    requests: Resources

    @property
    def cells(self) -> tuple[str, ...]:
        """Pool, type, zone, capacity type, price and pods, each of one machine."""
        types = f"{self.type} +{self.others}" if self.others else self.type
        price = f"{self.price:.4f}" if math.isfinite(self.price) else NOTHING
        return (self.pool, types, self.zone, self.capacity_type, price, str(self.pods_each))

    @property
    def asks(self) -> str:
        """What the pods of one machine ask for, daemons included."""
        return str(Resources({name: amount for name, amount in self.requests.items() if name != PODS and amount}))


def rows(outlook: Outlook, plan: Plan) -> list[tuple[Row, list[Launch]]]:
    """The launches, those that are alike together: by pool, then the dearest first."""
    alike: dict[Row, list[Launch]] = {}
    for launch in sorted(plan.launches, key=lambda launch: sorted(launch.pods)):
        alike.setdefault(_row(outlook, launch), []).append(launch)
    return sorted(alike.items(), key=lambda item: (item[0].pool, -item[0].price, item[0].cells, item[0].asks))


def _row(outlook: Outlook, launch: Launch) -> Row:
    offering = outlook.offering(launch)
    return Row(
        pool=launch.pool.name,
        type=launch.instance_types[0].name,
        others=len(launch.instance_types) - 1,
        zone=NOTHING if offering is None else offering.zone,
        capacity_type=NOTHING if offering is None else offering.capacity_type,
        price=launch.price,
        pods_each=len(launch.pods),
        requests=launch.requests,
    )


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


def launch_words(plan: Plan) -> str:
    """What is launched, in one line."""
    if not plan.launches:
        return "Launch nothing."
    pods = sum(len(launch.pods) for launch in plan.launches)
    return f"Launch {count(len(plan.launches), 'machine')} for {count(pods, 'pod')}: {dollars(plan.price)}"


def nomination_words(plan: Plan) -> str:
    """Who goes to machines that are there, in one line."""
    pods = sum(len(nomination.pods) for nomination in plan.nominations)
    verb = "fits" if pods == 1 else "fit"
    return f"{count(pods, 'pod')} {verb} on {count(len(plan.nominations), 'machine')} that karpy has or expects already"


def waiting_words(plan: Plan) -> str:
    """How many pods have no place, in one line."""
    pods = sum(len(part.pods) for part in plan.unschedulable)
    return f"{count(pods, 'pod')} {'finds' if pods == 1 else 'find'} no place"


def reasons(part: Unschedulable) -> Sequence[str]:
    """Why these pods have no place: a line for each pool."""
    return [str(refusal) for refusal in part.refusals] or [part.reason]


def total_words(outlook: Outlook, plan: Plan) -> str:
    """All of it in one line."""
    waiting = sum(len(part.pods) for part in plan.unschedulable)
    if not (plan.placed or waiting):
        return "No pod waits for a node."
    parts = [f"{count(plan.placed, 'pod')} placed", f"{waiting} waiting", count(len(plan.launches), "new machine")]
    if plan.launches:
        parts.append(dollars(plan.price))
    bound = f"; no machines that hold these pods cost less than {dollars(outlook.bound)}" if outlook.bound else ""
    return f"Total: {', '.join(parts)}{bound}"


def command_words(found: DisruptionOutlook) -> str:
    """What is disrupted next, in one line."""
    command = found.command
    if command is not None:
        return f"{command.decision.value.capitalize()} {', '.join(command.nodes)}: {command.explain()}"
    if not (found.candidates or found.refused):
        return "Disrupt nothing: there is no node that karpy launched."
    if not found.candidates:
        return f"Disrupt nothing now: {count(len(found.refused), 'node')} may not be disrupted."
    kept = f"Disrupt nothing now: budgets, consolidateAfter or the price keep {count(len(found.candidates), 'node')}"
    return f"{kept}; {count(len(found.refused), 'node')} may not be disrupted." if found.refused else f"{kept}."

"""How much a pool lets its nodes be moved around for the sake of money, where the pool says so itself.

Karpenter has none of this. All of it is off unless the setting ``churn_control``, or a pool's annotation `CHURN_CONTROL`, switches
a bundle on; each of the other annotations changes one rule of it, or sets one without the bundle.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from karpy.errors import InvalidObject, shown
from karpy.objects.duration import parse_duration

__all__ = ["CHURN_CONTROL", "CHURN_ON", "ChurnRules", "Rate", "churn_problems", "churn_rules", "disruption_price"]

CHURN_CONTROL: Final = "karpy.dev/churn-control"
DISRUPTION_PRICE: Final = "karpy.dev/disruption-price"
EVICTIONS_PER_POD: Final = "karpy.dev/evictions-per-pod"
NO_RETURN_WITHIN: Final = "karpy.dev/no-return-within"
CAPACITY_TYPE_COOLDOWN: Final = "karpy.dev/capacity-type-cooldown"
QUARANTINE: Final = "karpy.dev/quarantine"
DELAY_AFTER_ADD: Final = "karpy.dev/delay-after-add"
SPARE_ROLLOUTS: Final = "karpy.dev/spare-rollouts"

LONGEST_S: Final = 24 * 3600.0
"""No rule looks back further than this."""


@attrs.frozen
class Rate:
    """So many within so long."""

    count: int
    within_s: float


@attrs.frozen(kw_only=True)
class ChurnRules:
    """What holds for the nodes of one pool. Each rule is off by default."""

    disruption_price: float = 0.0
    """Dollars that it costs to move a pod. Whatever saves money must earn that back."""
    evictions_per_pod: Rate | None = None
    """How often pods may be evicted of karpy's own accord; it is counted for all pods of a workload together."""
    no_return_s: float = 0.0
    """For so long a node does not become again what its predecessors were."""
    cooldown_s: float = 0.0
    """For so long pods are not moved from one capacity type to another again."""
    quarantine_s: float = 0.0
    """For so long a node is not replaced whose replacement failed, and half as long again each further time."""
    delay_after_add_s: float = 0.0
    """For so long no pods are moved after a node was launched because pods had no place."""
    spare_rollouts: bool = False
    """Whether nodes are left alone that host a workload which is being rolled out."""

    @property
    def is_off(self) -> bool:
        return self == _OFF


_UNLIMITED: Final = Rate(0, 0.0)
_OFF = ChurnRules()
CHURN_ON = ChurnRules(
    disruption_price=0.04,
    evictions_per_pod=Rate(1, 6 * 3600.0),
    no_return_s=6 * 3600.0,
    cooldown_s=3600.0,
    quarantine_s=600.0,
    spare_rollouts=True,
)
"""The bundle that one word switches on."""

_BUNDLES: Final = {"off": _OFF, "on": CHURN_ON}


def churn_rules(annotations: Mapping[str, str], default: str = "off") -> ChurnRules:
    """The rules of a pool with these annotations; ``default`` names the bundle where they name none.

    What cannot be read does not count; `churn_problems` tells of it.

    >>> churn_rules({CHURN_CONTROL: "on", NO_RETURN_WITHIN: "12h"}).no_return_s
    43200.0
    """
    try:
        bundle = _read(annotations, CHURN_CONTROL)
    except InvalidObject:
        bundle = None
    rules = _BUNDLES[default] if bundle is None else bundle
    changes: dict[str, Any] = {}
    for key, (field, _reader, _accepted) in _FIELDS.items():
        try:
            value = _read(annotations, key)
        except InvalidObject:
            continue
        if value is not None:
            changes[field] = None if value is _UNLIMITED else value
    return attrs.evolve(rules, **changes) if changes else rules


def churn_problems(annotations: Mapping[str, str]) -> None:
    """Nothing, where all of them can be read.

    Raises:
        InvalidObject: the first that cannot, with what stands there and what is accepted.
    """
    for key in (CHURN_CONTROL, *_FIELDS):
        _read(annotations, key)


def disruption_price(annotations: Mapping[str, str]) -> float | None:
    """What it costs to move a pod that says so itself by the same annotation; None where it says nothing that can be read."""
    try:
        price = _read(annotations, DISRUPTION_PRICE)
    except InvalidObject:
        return None
    return None if price is None else float(price)


def _read(annotations: Mapping[str, str], key: str) -> Any:
    text = annotations.get(key)
    if text is None:
        return None
    reader, accepted = (_BUNDLES.get, "on or off") if key == CHURN_CONTROL else _FIELDS[key][1:]
    found = reader(text)
    if found is None:
        raise InvalidObject(f"found {shown(text)}", path=f"metadata.annotations[{key}]", accepted=accepted)
    return found


def _dollars(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) and math.isfinite(float(text)) else None


def _span(text: str) -> float | None:
    try:
        seconds = parse_duration(text)
    except InvalidObject:
        return None
    return seconds if 0 <= seconds <= LONGEST_S else None


def _rate(text: str) -> Rate | None:
    if text == "unlimited":
        return _UNLIMITED
    count, _slash, within = text.partition("/")
    seconds = _span(within)
    return Rate(int(count), seconds) if seconds and re.fullmatch(r"[1-9]\d{0,5}", count, re.ASCII) else None


_SPAN = 'a duration up to 24h, such as "30m"; "0s": off'
_FIELDS: Final[Mapping[str, tuple[str, Callable[[str], Any], str]]] = {
    DISRUPTION_PRICE: ("disruption_price", _dollars, 'dollars for each pod that is moved, such as "0.02"; "0": off'),
    EVICTIONS_PER_POD: (
        "evictions_per_pod",
        _rate,
        'a whole number and a duration up to 24h, such as "1/6h", or "unlimited"',
    ),
    NO_RETURN_WITHIN: ("no_return_s", _span, _SPAN),
    CAPACITY_TYPE_COOLDOWN: ("cooldown_s", _span, _SPAN),
    QUARANTINE: ("quarantine_s", _span, _SPAN),
    DELAY_AFTER_ADD: ("delay_after_add_s", _span, _SPAN),
    SPARE_ROLLOUTS: ("spare_rollouts", {"true": True, "false": False}.get, "true or false"),
}
"""Which rule each annotation sets, how it is read, and what is accepted."""

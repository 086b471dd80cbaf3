from __future__ import annotations

import pytest

from karpy.lifecycle.conditions import with_condition
from karpy.objects.meta import Condition, find_condition
from karpy.testing import START

PARTS = ("Launched", "Registered")


def ready(*conditions: Condition) -> tuple[str, str, str]:
    found: tuple[Condition, ...] = ()
    for condition in conditions:
        found = with_condition(found, condition, PARTS, now=START)
    root = find_condition(found, "Ready")
    assert root is not None
    return root.status, root.reason or "", root.message or ""


@pytest.mark.parametrize(
    ("launched", "registered", "expected"),
    [
        ("True", "True", ("True", "Ready", "")),
        ("True", "Unknown", ("Unknown", "ReconcilingDependents", "Registered=Unknown")),
        ("False", "True", ("False", "UnhealthyDependents", "Launched=False")),
        ("False", "Unknown", ("False", "UnhealthyDependents", "Launched=False, Registered=Unknown")),
    ],
)
def test_ready_follows_from_the_others(launched: str, registered: str, expected: tuple[str, str, str]) -> None:
    assert ready(Condition("Launched", launched), Condition("Registered", registered)) == expected


def test_conditions_that_nothing_was_said_about_wait() -> None:
    found = with_condition((), Condition("Launched", "True"), PARTS, now=START)
    waiting = find_condition(found, "Registered")
    assert waiting is not None
    assert (waiting.status, waiting.reason, waiting.since) == ("Unknown", "AwaitingReconciliation", START)


@pytest.mark.core("CORE-666")
def test_other_conditions_do_not_touch_ready() -> None:
    up = (Condition("Launched", "True"), Condition("Registered", "True"))
    assert ready(*up, Condition("InstanceTerminating", "True")) == ready(*up)

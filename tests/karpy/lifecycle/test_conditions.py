from __future__ import annotations

import pytest

from karpy.lifecycle.conditions import is_said, with_condition, with_conditions
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


def test_conditions_that_change_together_do_not_make_ready_flip() -> None:
    before = with_conditions((), [Condition("Launched", "False"), Condition("Registered", "True")], PARTS, now=START)
    swapped = [Condition("Launched", "True"), Condition("Registered", "False")]
    root = find_condition(with_conditions(before, swapped, PARTS, now=START + 10), "Ready")
    assert root is not None
    assert (root.status, root.since) == ("False", START)


@pytest.mark.core("CORE-665")
def test_what_is_written_holds_of_the_present_generation() -> None:
    before = with_conditions((), [Condition("Launched", "True")], PARTS, now=START, generation=1)
    after = with_conditions(before, [Condition("Registered", "True")], PARTS, now=START + 10, generation=2)
    assert {each.observed_generation for each in before} == {1}
    assert {each.observed_generation for each in after} == {2}


def test_what_is_said_already_is_known_whenever_it_was_said() -> None:
    known = with_condition((), Condition("Launched", "True", "Launched", ""), PARTS, now=START)
    assert is_said(known, Condition("Launched", "True", "Launched", ""))
    assert not is_said(known, Condition("Launched", "True", "Other", ""))
    assert not is_said(known, Condition("Drained", "True"))

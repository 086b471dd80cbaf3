"""Which nodes are broken, and how many are too many."""

from __future__ import annotations

import msgspec
import pytest

from karpy.clock import format_time
from karpy.cloud.provider import RepairPolicy
from karpy.lifecycle.repair import Companion, Fault, fault_of, is_suspect, may_replace
from karpy.objects.node import Node
from karpy.testing import START, make_condition, make_node

POLICIES = (
    RepairPolicy("Ready", "False", 600.0),
    RepairPolicy("Ready", "Unknown", 900.0),
    RepairPolicy("Disk", "True", 60.0),
)


def node(*conditions: tuple[str, str, float]) -> Node:
    """Conditions by type, status, and when they turned so, in seconds from `START`."""
    raw = make_node()
    raw["status"]["conditions"] = [make_condition(kind, START + since, status) for kind, status, since in conditions]
    return Node.from_dict(raw)


@pytest.mark.core("CORE-703")
@pytest.mark.parametrize(
    ("condition", "due"),
    [
        (("Ready", "False", 0.0), 600.0),
        (("Ready", "Unknown", 100.0), 1000.0),
        (("Disk", "True", 0.0), 60.0),
        (("Ready", "True", 0.0), None),
        (("Disk", "False", 0.0), None),
        (("Other", "False", 0.0), None),
    ],
)
def test_a_node_is_broken_from_the_end_of_what_is_tolerated(
    condition: tuple[str, str, float], due: float | None
) -> None:
    found = fault_of(node(condition), POLICIES)
    assert found == (None if due is None else Fault(condition[0], START + condition[2], START + due))


@pytest.mark.core("CORE-705")
def test_of_several_faults_the_one_that_ends_its_life_first_counts() -> None:
    assert fault_of(node(("Ready", "False", 0.0), ("Disk", "True", 500.0)), POLICIES) == Fault(
        "Disk", START + 500, START + 560
    )
    assert fault_of(node(("Ready", "False", 0.0), ("Disk", "True", 580.0)), POLICIES) == Fault(
        "Ready", START, START + 600
    )


def test_without_policies_nothing_is_broken() -> None:
    assert fault_of(node(("Ready", "False", 0.0)), ()) is None


def test_only_conditions_of_a_policy_are_suspect() -> None:
    assert is_suspect([("Disk", "False"), ("Ready", "Unknown")], POLICIES)
    assert not is_suspect([("Disk", "False"), ("Ready", "True")], POLICIES)
    assert not is_suspect([], POLICIES)


SICK, WELL = node(("Ready", "False", 0.0)), node(("Ready", "True", 0.0))
FAULT = Fault("Ready", START, START + 600)


def companions(broken: int, nodes: int) -> list[Companion]:
    return [Companion(SICK)] * broken + [Companion(WELL)] * (nodes - broken)


@pytest.mark.core("CORE-707")
@pytest.mark.parametrize(
    ("broken", "nodes", "may"),
    [
        (1, 1, True),
        (1, 3, True),
        (2, 3, False),
        (1, 5, True),
        (2, 5, False),
        (2, 6, True),
        (3, 6, False),
        (2, 10, True),
        (3, 10, False),
    ],
)
def test_a_fifth_rounded_up_may_be_broken(broken: int, nodes: int, *, may: bool) -> None:
    assert may_replace(FAULT, companions(broken, nodes), POLICIES) is may


def newcomer(*conditions: tuple[str, str, float], created: float = 100.0) -> Companion:
    found = node(*conditions)
    return Companion(
        msgspec.structs.replace(
            found, metadata=msgspec.structs.replace(found.metadata, creation_timestamp=format_time(START + created))
        )
    )


def test_where_new_nodes_are_well_the_old_ones_are_replaced_one_after_the_other() -> None:
    """Otherwise nobody would ever be replaced where machines died faster than they were repaired."""
    many = [*companions(4, 6), newcomer(("Ready", "True", 110.0))]
    assert may_replace(FAULT, many, POLICIES)
    assert not may_replace(FAULT, [*many, Companion(SICK, is_leaving=True)], POLICIES)


@pytest.mark.parametrize(
    "last",
    [
        newcomer(("Ready", "False", 110.0)),
        newcomer(("Ready", "True", 110.0), ("Disk", "True", 120.0)),
        newcomer(("Other", "True", 110.0)),
        newcomer(("Ready", "True", 110.0), created=-100.0),
    ],
    ids=["not ready", "broken otherwise", "not up yet", "older than the fault"],
)
def test_where_new_nodes_are_not_well_nobody_is_replaced(last: Companion) -> None:
    assert not may_replace(FAULT, [*companions(4, 6), last], POLICIES)

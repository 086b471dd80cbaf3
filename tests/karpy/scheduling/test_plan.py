from __future__ import annotations

import pytest

from karpy.scheduling.plan import Launch, Nomination, Plan, Unschedulable
from karpy.testing import make_node, make_nodepool, make_pod
from tests.judge import plan_of


@pytest.fixture
def plan() -> Plan:
    node = make_node("n", room={"cpu": "1", "pods": "1"})
    sizes = {"stays": "1", "new": "3", "huge": "99"}
    return plan_of(make_nodepool(), node, *(make_pod(name, requests={"cpu": cpu}) for name, cpu in sizes.items()))


def test_the_outcome_of_every_pod_can_be_looked_up(plan: Plan) -> None:
    assert isinstance(plan.outcome("default/stays"), Nomination)
    assert isinstance(plan.outcome("default/new"), Launch)
    assert isinstance(plan.outcome("default/huge"), Unschedulable)
    assert plan.outcome("default/unknown") is None
    assert plan.placed == 2


def test_every_outcome_is_explained(plan: Plan) -> None:
    assert str(plan.explain("default/stays")) == "pod default/stays fits node n, which is there already"
    assert plan.explain("default/new").summary == (
        "pod default/new gets a new node: 1 pod(s) asking for cpu: 3, pods: 1 fit 6 of 10 instance types of nodepool "
        "'default'; the cheapest is a4 at $0.0640/h"
    )
    assert plan.explain("default/huge").summary == "pod default/huge cannot be placed"
    assert str(plan.explain("default/unknown")) == "pod default/unknown was not part of this plan"
    assert [plan.explain(pod).outcome for pod in ("default/new", "default/unknown")] == [plan.launches[0], None]


def test_a_plan_that_no_solve_made_tells_the_reason_that_it_was_given() -> None:
    plan = Plan(version=1, unschedulable=(Unschedulable(("default/a",), "too large"),))
    assert str(plan.explain("default/a")) == "pod default/a cannot be placed: too large"


def test_the_first_types_are_named_and_the_rest_counted(plan: Plan) -> None:
    (launch,) = plan.launches
    assert launch.instance_types_text == "a4, c4, a8, c8, a16 and 1 other(s)"


def test_a_plan_knows_which_picture_it_was_made_from(plan: Plan) -> None:
    assert plan.version > 0


def test_the_price_of_a_plan_is_that_of_its_launches(plan: Plan) -> None:
    assert plan.price == pytest.approx(0.064)

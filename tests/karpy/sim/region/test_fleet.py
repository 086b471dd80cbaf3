from __future__ import annotations

import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.requirements import Requirement, Requirements
from karpy.sim.generic import GenericModel
from karpy.sim.region.fleet import NO_STOCK, FleetAnswer, order

CHOICES = [each for each in GenericModel().instance_types() if each.name in ("c-1x-amd64", "c-2x-amd64")]
SPOT = Requirements((Requirement.in_(labels.CAPACITY_TYPE, "spot"),))


def buy(*refused: tuple[str, str], code: str = NO_STOCK, tries: int | None = None) -> FleetAnswer:
    def refuses(choice: InstanceType, offering: Offering) -> str:
        return code if (choice.name, offering.zone) in refused else ""

    return order("claim", SPOT, CHOICES, refuses, tries)


def test_the_cheapest_offering_is_bought() -> None:
    answer = buy()
    assert answer.bought is not None
    assert (answer.bought[0].name, answer.bought[1].zone) == ("c-1x-amd64", "sim-1a")
    assert answer.refusals == ()


def test_the_answer_says_what_was_tried_before_and_why_it_was_refused() -> None:
    answer = buy(("c-1x-amd64", "sim-1a"), ("c-1x-amd64", "sim-1b"))
    assert answer.bought is not None
    assert answer.bought[1].zone == "sim-1c"
    assert [(refusal.key, refusal.code) for refusal in answer.refusals] == [
        (("c-1x-amd64", "sim-1a", "spot"), NO_STOCK),
        (("c-1x-amd64", "sim-1b", "spot"), NO_STOCK),
    ]


def test_when_nothing_is_bought_the_error_names_what_was_tried_and_why() -> None:
    everything = [(choice.name, offering.zone) for choice in CHOICES for offering in choice.offerings]
    answer = buy(*everything, code="VcpuLimitExceeded")
    assert answer.bought is None
    assert str(answer.error()) == "insufficient capacity: 6 of 6 offerings were tried (VcpuLimitExceeded)"
    assert len(answer.error().offerings) == 6


def test_a_fleet_gives_up_after_so_many_tries() -> None:
    answer = buy(("c-1x-amd64", "sim-1a"), ("c-1x-amd64", "sim-1b"), tries=2)
    assert answer.bought is None
    assert str(answer.error()) == "insufficient capacity: 2 of 6 offerings were tried"


@pytest.mark.parametrize("tries", [None, 1])
def test_an_order_that_allows_nothing_buys_nothing(tries: int | None) -> None:
    answer = order("claim", SPOT, [], lambda _choice, _offering: "", tries)
    assert str(answer.error()) == "insufficient capacity: no offering is compatible"

from __future__ import annotations

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import Offering
from karpy.cloud.provider import CloudProvider, Defaulting, ProviderContext
from karpy.errors import (
    CreateFailed,
    InsufficientCapacity,
    InvalidObject,
    NodeClaimNotFound,
    NodeClassNotReady,
    ProviderError,
    Throttled,
)
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud, create_provider
from karpy.sim.generic import GenericModel
from karpy.sim.machines import Machine
from karpy.sim.region.market import REMEMBERED_S
from karpy.sim.weather import (
    Hazard,
    Mishap,
    PriceChange,
    PriceWalk,
    Quota,
    Shortage,
    Stray,
    Throttle,
    Trouble,
    Weather,
    Where,
)
from karpy.taints import DISRUPTED, UNREGISTERED
from tests.karpy.sim.manifests import NODE_CLASS, QUICK

POOL = NodePool(name="p")


class Setup:
    def __init__(self, seed: int = 0, weather: Weather | None = None) -> None:
        self.clock = VirtualClock()
        self.cloud = SimCloud((GenericModel(),), self.clock, seed, timing=QUICK, weather=weather)
        self.told: list[Machine] = []
        self.cloud.subscribe(self.told.append)

    def create(self, name: str = "claim", *wanted: Requirement, types: tuple[str, ...] = ()) -> str:
        catalog = self.cloud.instance_types(POOL, NODE_CLASS)
        choices = [each for each in catalog if not types or each.name in types]
        claim = NodeClaim(name=name, requirements=Requirements(wanted), taints=(DISRUPTED,))
        return self.cloud.create(claim, NODE_CLASS, choices).provider_id


def test_it_is_a_provider_that_adds_defaults() -> None:
    cloud = Setup().cloud
    assert isinstance(cloud, CloudProvider)
    assert isinstance(cloud, Defaulting)
    ref = NodeClassRef("sim.karpy.dev", "SimNodeClass", "default")
    assert cloud.default_requirements(NodePool(name="p", node_class=ref)).labels()[labels.OS] == "linux"
    assert not cloud.default_requirements(NodePool(name="p", node_class=NodeClassRef("other", "Kind", "x")))


def test_the_cheapest_allowed_offering_is_launched() -> None:
    it = Setup()
    instance = it.cloud.get(it.create("a", Requirement.in_(labels.ZONE, "sim-1c")))
    assert instance.labels[labels.ZONE] == "sim-1c"
    assert instance.labels[labels.CAPACITY_TYPE] == "spot"
    assert instance.labels[labels.INSTANCE_TYPE] == "c-1x-amd64"
    assert it.cloud.cost_per_hour() == pytest.approx((0.025 + 0.002) * 0.7)


def test_it_launches_what_the_choices_say_is_cheapest_and_charges_its_own_price() -> None:
    it = Setup()
    listed = it.cloud.instance_types(POOL, NODE_CLASS).by_name("c-4x-amd64")
    assert listed is not None
    dear = Offering("sim-1a", "on-demand", 9.0, capacity_override=Resources({"acme.com/gpu": 2}))
    wished = attrs.evolve(listed, offerings=(dear, Offering("sim-1b", "on-demand", 8.0)))
    machine = it.cloud.machine(it.cloud.create(NodeClaim(name="a"), NODE_CLASS, [wished]).provider_id)
    assert machine is not None
    assert (machine.offering.zone, machine.price) == ("sim-1b", pytest.approx(0.108))
    given = it.cloud.create(NodeClaim(name="b"), NODE_CLASS, [attrs.evolve(wished, offerings=(dear,))])
    assert given.allocatable["acme.com/gpu"] == 2


def test_launching_twice_for_one_claim_launches_once() -> None:
    it = Setup()
    assert it.create("a") == it.create("a")
    assert it.create("b") != it.create("a")
    assert it.cloud.launches == 2


def test_a_sold_out_offering_is_passed_over_and_then_shown_as_unavailable() -> None:
    it = Setup()
    before = it.cloud.instance_types(POOL, NODE_CLASS)
    it.cloud.sell_out("c-1x-amd64", "sim-1a", "spot")
    assert it.cloud.instance_types(POOL, NODE_CLASS) is before
    instance = it.cloud.get(it.create("a", types=("c-1x-amd64",)))
    assert instance.labels[labels.ZONE] == "sim-1b"
    assert it.cloud.instance_types(POOL, NODE_CLASS) is not before


def test_when_everything_is_sold_out_the_error_names_what_was_tried() -> None:
    it = Setup()
    it.cloud.sell_out(capacity_type="spot")
    with pytest.raises(InsufficientCapacity) as caught:
        it.create("a", Requirement.in_(labels.CAPACITY_TYPE, "spot"), types=("c-1x-amd64",))
    assert len(caught.value.offerings) == 3
    it.cloud.restock(capacity_type="spot")
    assert it.create("b", Requirement.in_(labels.CAPACITY_TYPE, "spot"), types=("c-2x-amd64",))


def test_a_deleted_machine_terminates_for_a_while_and_is_not_found_then() -> None:
    it = Setup()
    provider_id = it.create()
    it.cloud.delete(provider_id)
    it.cloud.delete(provider_id)
    assert it.cloud.get(provider_id).is_terminating
    assert [each.is_terminating for each in it.cloud.list()] == [True]
    it.clock.advance(5)
    with pytest.raises(NodeClaimNotFound):
        it.cloud.delete(provider_id)
    assert it.cloud.list() == ()
    assert it.cloud.machine(provider_id) is None


def test_a_claim_whose_machine_terminates_gets_a_new_one() -> None:
    it = Setup()
    first = it.create("a")
    it.cloud.delete(first)
    assert it.create("a") != first


def test_machines_cost_from_launch_until_their_end_is_asked_for() -> None:
    it = Setup()
    provider_id = it.create("a", Requirement.in_(labels.CAPACITY_TYPE, "on-demand"), types=("c-1x-amd64",))
    it.clock.advance(3600)
    it.cloud.delete(provider_id)
    it.clock.advance(3600)
    assert it.cloud.cost() == pytest.approx(0.027)
    assert it.cloud.cost_per_hour() == 0.0


def test_running_machines_pay_a_new_price_from_then_on() -> None:
    it = Setup()
    it.create("a", types=("c-1x-amd64",))
    it.clock.advance(3600)
    it.cloud.set_price("c-1x-amd64", "sim-1a", "spot", 1.0)
    assert it.cloud.cost_per_hour() == pytest.approx(1.0)
    assert it.cloud.cost(it.clock.now() + 3600) == pytest.approx(1.0 + 0.027 * 0.7)


def test_scripted_failures_are_raised_one_a_launch() -> None:
    it = Setup()
    it.cloud.fail_launches(CreateFailed("no"), InsufficientCapacity("none"))
    with pytest.raises(CreateFailed):
        it.create()
    with pytest.raises(InsufficientCapacity):
        it.create()
    assert it.create()


def test_a_stillborn_machine_costs_but_never_joins() -> None:
    it = Setup()
    it.cloud.launch_stillborn()
    machine = it.cloud.machine(it.create("a"))
    assert machine is not None
    assert machine.joins_at == float("inf")
    assert it.cloud.cost_per_hour() > 0
    second = it.cloud.machine(it.create("b"))
    assert second is not None
    assert second.joins_at < float("inf")


def test_a_vanished_machine_is_gone_at_once() -> None:
    it = Setup()
    provider_id = it.create()
    it.cloud.vanish(provider_id)
    with pytest.raises(NodeClaimNotFound):
        it.cloud.get(provider_id)
    assert it.cloud.cost_per_hour() == 0.0


def test_listeners_hear_of_launch_death_and_end() -> None:
    it = Setup()
    provider_id = it.create()
    it.cloud.kill(provider_id)
    it.cloud.delete(provider_id)
    it.cloud.delete(provider_id)
    assert len(it.told) == 3
    assert not it.told[0].runs_kubelet


def test_its_kubelets_start_with_the_taints_of_the_claim_and_unregistered() -> None:
    it = Setup()
    machine = it.cloud.machine(it.create())
    assert machine is not None
    assert machine.taints == (DISRUPTED, UNREGISTERED)


def test_node_classes_that_no_model_knows_are_refused() -> None:
    cloud = Setup().cloud
    foreign = {"apiVersion": "other/v1", "kind": "Class", "metadata": {"name": "x"}}
    with pytest.raises(NodeClassNotReady):
        cloud.instance_types(POOL, foreign)
    assert not cloud.resolve(foreign).ready
    assert cloud.resolve(NODE_CLASS).ready


def test_delays_come_from_the_seed() -> None:
    def joins(seed: int) -> float:
        cloud = SimCloud((GenericModel(),), VirtualClock(), seed)
        cloud.add_machine("c-1x-amd64", "sim-1a", NODE_CLASS)
        return cloud.machines[0].joins_at

    assert joins(1) == joins(1)
    assert joins(1) != joins(2)


def test_the_entry_point_serves_every_installed_model_and_the_generic_one() -> None:
    provider = create_provider(ProviderContext(clock=VirtualClock()))
    assert provider.name == "sim"
    assert "SimNodeClass" in {kind.kind for kind in provider.node_classes}


# Under weather


def test_the_answers_of_orders_say_what_was_tried_refused_and_bought() -> None:
    it = Setup(weather=Weather(shortages=(Shortage(Where(zone="sim-1a")),)))
    it.create("a", types=("c-1x-amd64",))
    (answer,) = it.cloud.answers
    assert answer.claim == "a"
    assert [refusal.key for refusal in answer.refusals] == [("c-1x-amd64", "sim-1a", "spot")]
    assert answer.bought is not None
    assert answer.bought[1].zone == "sim-1b"


def test_a_fleet_may_give_up_before_it_has_tried_everything() -> None:
    it = Setup(weather=Weather(shortages=(Shortage(Where(zone="sim-1a|sim-1b")),), tries=2))
    with pytest.raises(InsufficientCapacity, match="2 of 6 offerings were tried"):
        it.create("a", types=("c-1x-amd64",))


def test_capacity_comes_back_with_the_wave() -> None:
    it = Setup(weather=Weather(shortages=(Shortage(period_s=600.0),)))
    with pytest.raises(InsufficientCapacity):
        it.create("a", types=("c-1x-amd64",))
    it.clock.advance(300)
    assert it.create("b", types=("c-1x-amd64",))


def test_a_quota_refuses_what_exceeds_it_until_something_ends() -> None:
    it = Setup(weather=Weather(quotas=(Quota(Where("c-*", capacity_type="spot"), vcpus=2), Quota(machines=3))))
    spot = it.create("a", types=("c-2x-amd64",))
    second = it.cloud.get(it.create("b", types=("c-2x-amd64",)))
    assert second.labels[labels.CAPACITY_TYPE] == "on-demand"
    it.create("c", types=("s-1x-amd64",))
    it.clock.advance(REMEMBERED_S)
    with pytest.raises(InsufficientCapacity, match=r"InstanceLimitExceeded"):
        it.create("d", types=("s-1x-amd64",))
    it.cloud.delete(spot)
    it.clock.advance(REMEMBERED_S)
    assert it.cloud.get(it.create("e", types=("c-2x-amd64",))).labels[labels.CAPACITY_TYPE] == "spot"


def test_calls_are_throttled_and_counted() -> None:
    it = Setup(weather=Weather(throttles=(Throttle(("create",), burst=2, per_s=0.5, says_when=True),)))
    it.create("a")
    it.create("b")
    with pytest.raises(Throttled) as caught:
        it.create("c")
    assert caught.value.retry_after_s == 2.0
    assert (it.cloud.calls["create"], it.cloud.throttled["create"], it.cloud.launches) == (3, 1, 2)
    it.clock.advance(2.0)
    assert it.create("c")
    assert it.cloud.list()


@pytest.mark.parametrize(
    ("kind", "error"),
    [("no-capacity", InsufficientCapacity), ("fails", CreateFailed), ("not-ready", NodeClassNotReady)],
)
def test_the_launches_of_a_plan_fail_and_leave_nothing_behind(kind: str, error: type[ProviderError]) -> None:
    it = Setup(weather=Weather(troubles=(Trouble(kind, (2,)),)))
    it.create("a")
    with pytest.raises(error):
        it.create("b")
    assert len(it.cloud.machines) == 1
    assert it.create("b")


def test_an_answer_that_is_lost_leaves_a_machine_that_the_next_call_finds() -> None:
    it = Setup(weather=Weather(troubles=(Trouble("answer-lost", (1,)), Trouble("timeout", (2,)))))
    with pytest.raises(ProviderError, match="did not answer in time"):
        it.create("a")
    (machine,) = it.cloud.machines
    assert it.create("a") == machine.provider_id
    with pytest.raises(ProviderError, match="did not answer in time"):
        it.create("b")
    assert it.cloud.machines == (machine,)


def test_machines_carry_what_is_wrong_with_them() -> None:
    kinds = (Trouble("slow", (1,), by=900.0), Trouble("never-joins", (2,)), Trouble("less-memory", (3,), by=0.1))
    it = Setup(weather=Weather(troubles=kinds))
    for name in "abcd":
        it.create(name)
    slow, silent, small, sound = it.cloud.machines
    assert slow.joins_at == slow.created + 901.0
    assert (silent.joins, silent.joins_at) == (False, float("inf"))
    assert small.memory_factor == pytest.approx(0.9)
    assert (sound.joins, sound.joins_at, sound.memory_factor) == (True, sound.created + 1.0, 1.0)


def test_machines_of_a_zone_may_end_before_they_join() -> None:
    """As when a zone takes orders and then cannot start what was ordered."""
    it = Setup(weather=Weather(troubles=(Trouble("ends-early", share=1.0, where=Where(zone="sim-1a")),)))
    ours = it.create("a"), it.create("b", Requirement.in_(labels.ZONE, "sim-1b"))
    it.clock.advance(10)
    assert [it.cloud.get(provider_id).is_terminating for provider_id in ours] == [True, False]
    it.clock.advance(5)
    assert [machine.provider_id for machine in it.cloud.machines] == [ours[1]]


def test_what_is_not_sold_cannot_be_added() -> None:
    with pytest.raises(
        InvalidObject, match=r"generic does not sell 'c-1x-amd64' in 'mars' as on-demand \(accepted: sim-1a"
    ):
        Setup().cloud.add_machine("c-1x-amd64", "mars", NODE_CLASS)
    with pytest.raises(InvalidObject, match="generic does not sell 'x'"):
        Setup().cloud.add_machine("x", "sim-1a", NODE_CLASS)


def test_extended_resources_may_be_late() -> None:
    it = Setup(weather=Weather(troubles=(Trouble("late-resources", (1,), by=90.0),)))
    listed = it.cloud.instance_types(POOL, NODE_CLASS).by_name("c-4x-amd64")
    assert listed is not None
    capacity = Resources({**listed.capacity, "acme.com/gpu": 2})
    it.cloud.create(NodeClaim(name="a"), NODE_CLASS, [attrs.evolve(listed, capacity=capacity, capacity_overlaid=True)])
    assert it.cloud.machines[0].late_resources_s == {"acme.com/gpu": 90.0}


def test_reads_lag_behind_but_launches_are_still_idempotent() -> None:
    it = Setup(weather=Weather(read_lag_s=(10.0, 10.0)))
    provider_id = it.create("a")
    assert it.cloud.list() == ()
    for call in (it.cloud.get, it.cloud.delete):
        with pytest.raises(NodeClaimNotFound):
            call(provider_id)
    assert it.create("a") == provider_id
    assert it.cloud.machine(provider_id) is not None
    it.clock.advance(10)
    assert [seen.provider_id for seen in it.cloud.list()] == [provider_id]
    it.cloud.delete(provider_id)
    assert not it.cloud.get(provider_id).is_terminating
    it.clock.advance(10)
    assert it.cloud.machine(provider_id) is None
    assert it.cloud.get(provider_id).is_terminating
    it.cloud.delete(provider_id)
    it.clock.advance(5)
    assert it.cloud.list() == ()


def test_a_vanished_machine_is_still_told_of_for_a_while() -> None:
    it = Setup(weather=Weather(read_lag_s=(10.0, 10.0)))
    provider_id = it.create("a")
    it.clock.advance(60)
    it.cloud.vanish(provider_id)
    assert not it.cloud.get(provider_id).is_terminating
    assert it.cloud.machines == ()
    it.clock.advance(10)
    with pytest.raises(NodeClaimNotFound):
        it.cloud.get(provider_id)


def test_prices_walk_and_machines_pay_them() -> None:
    it = Setup(weather=Weather(price_walk=PriceWalk(swing=0.5, every_s=600.0)))
    machine = it.cloud.machine(it.create("a", types=("c-1x-amd64",)))
    assert machine is not None
    paid = []
    for _ in range(24):
        paid.append(it.cloud.cost_per_hour())
        assert machine.price == paid[-1]
        it.clock.advance(600)
    assert len(set(paid)) > 20
    assert it.cloud.cost() == pytest.approx(sum(paid) / 6)


def test_the_catalog_changes_only_when_prices_are_looked_up() -> None:
    it = Setup(weather=Weather(price_walk=PriceWalk(listed_every_s=3600.0)))
    first = it.cloud.instance_types(POOL, NODE_CLASS)
    it.clock.advance(3599)
    assert it.cloud.instance_types(POOL, NODE_CLASS) is first
    it.clock.advance(1)
    assert it.cloud.instance_types(POOL, NODE_CLASS) is not first


def test_a_hole_in_the_price_list_is_filled_again() -> None:
    changes = (PriceChange(60.0, None, Where(zone="sim-1a")), PriceChange(120.0, 0.0), PriceChange(180.0, 1.0))
    it = Setup(weather=Weather(price_changes=changes))

    def priced() -> int:
        types = it.cloud.instance_types(POOL, NODE_CLASS)
        return sum(offering.has_price for each in types for offering in each.offerings)

    found = []
    for _ in range(4):
        found.append(priced())
        it.clock.advance(60)
    assert found == [252, 168, 0, 252]


def test_strays_are_listed_cost_and_can_be_deleted() -> None:
    it = Setup(weather=Weather(strays=(Stray(30.0), Stray(60.0, is_ours=False, where=Where("m-*", "sim-1c", "spot")))))
    assert it.cloud.list() == ()
    it.clock.advance(60)
    ours, foreign = it.cloud.list()
    assert (ours.claim, foreign.claim) == ("lost-1", "")
    assert foreign.labels[labels.ZONE] == "sim-1c"
    assert it.cloud.cost() == pytest.approx(0.027 * 30 / 3600)
    it.cloud.delete(ours.provider_id)
    it.clock.advance(5)
    assert it.cloud.list() == (foreign,)


def test_the_weather_ends_when_it_says_so() -> None:
    weather = Weather(
        shortages=(Shortage(),),
        quotas=(Quota(machines=0),),
        throttles=(Throttle(("list",), burst=1, per_s=0.001),),
        troubles=(Trouble("error", share=1.0),),
        strays=(Stray(700.0),),
        mishaps=(Mishap("vanishing", 700.0),),
        hazards=(Hazard("death", 3600.0),),
        read_lag_s=(30.0, 30.0),
        lasts_s=600.0,
    )
    it = Setup(weather=weather)
    with pytest.raises(ProviderError):
        it.create("a")
    it.clock.advance(600)
    provider_id = it.create("a")
    it.clock.advance(3600)
    assert [it.cloud.list() for _ in range(2)] == [(it.cloud.get(provider_id),)] * 2
    machine = it.cloud.machine(provider_id)
    assert machine is not None
    assert machine.runs_kubelet

from __future__ import annotations

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import Offering
from karpy.cloud.provider import CloudProvider, Defaulting, ProviderContext
from karpy.errors import CreateFailed, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud, create_provider
from karpy.sim.generic import GenericModel
from karpy.sim.machines import Machine
from karpy.taints import DISRUPTED, UNREGISTERED
from tests.karpy.sim.manifests import NODE_CLASS, QUICK

POOL = NodePool(name="p")


class Setup:
    def __init__(self, seed: int = 0) -> None:
        self.clock = VirtualClock()
        self.cloud = SimCloud((GenericModel(),), self.clock, seed, timing=QUICK)
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

"""`ProviderConformance`: what every cloud package promises by implementing `karpy.cloud.provider.CloudProvider`, as tests.

A cloud package subclasses it in a test module of its own, and says in the fixture ``cloud`` what to try it with: a stand-in for its
cloud, a node class that can be launched from, and how time passes there::

    class TestMyCloud(ProviderConformance):
        @pytest.fixture
        def cloud(self) -> Conforming:
            clock = FakeClock()
            provider = MyProvider(FakeService(clock), clock)
            return Conforming(provider, clock.advance, node_class={...}, unusable_node_class={...})
"""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, cheapest, holding, order_by_price
from karpy.cloud.notices import GivingNotice, Notice
from karpy.cloud.provider import (
    CloudProvider,
    Defaulting,
    Instance,
    RawNodeClass,
    Repairing,
    WithRegistrationHooks,
)
from karpy.errors import InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady, ProviderError
from karpy.labels import CORE_LABELS
from karpy.objects.meta import ObjectMeta
from karpy.objects.node import Node, NodeSpec
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources

__all__ = ["Conforming", "ProviderConformance"]

_POOL = "default"
_REQUESTS = Resources.parse({"cpu": "100m", "memory": "128Mi", "pods": "1"})
_LAUNCH_WITHIN_S = 300.0
_END_WITHIN_S = 900.0
_STEP_S = 30.0


@attrs.frozen(eq=False)
class Conforming:
    """A provider to try, on a cloud of its own in which nothing is short and nothing goes wrong by itself."""

    provider: CloudProvider
    advance: Callable[[float], object]
    """Lets so many seconds pass."""
    node_class: RawNodeClass = attrs.field(kw_only=True)
    """One of its node classes as a user writes it, without a status."""
    unusable_node_class: RawNodeClass | None = attrs.field(kw_only=True, default=None)
    """One of the same kind that nothing can be launched from; None where there is no such thing."""

    @property
    def pool(self) -> NodePool:
        return NodePool(name=_POOL, node_class=self._ref)

    @property
    def _ref(self) -> NodeClassRef:
        group, _, _ = self.node_class["apiVersion"].rpartition("/")
        return NodeClassRef(group, self.node_class["kind"], self.node_class["metadata"]["name"])

    def resolved(self) -> RawNodeClass:
        """The node class as the API server has it once the core has written its status."""
        found = self.provider.resolve(self.node_class)
        assert found.ready, f"the node class is not ready: {found.reason}: {found.message}"
        return {**self.node_class, "status": {**self.node_class.get("status", {}), **found.status}}

    def claim(self, name: str = "claim-1", *wanted: Requirement) -> NodeClaim:
        metadata = ObjectMeta(name=name, uid=f"uid-{name}", labels={labels.NODEPOOL: _POOL})
        return NodeClaim(
            name=name, metadata=metadata, node_class=self._ref, requirements=Requirements(wanted), requests=_REQUESTS
        )

    def choices(self, node_class: RawNodeClass, *wanted: Requirement) -> tuple[InstanceType, ...]:
        """What the core would offer for a claim that wants this."""
        asked = Requirements(wanted)
        types = self.provider.instance_types(self.pool, node_class)
        return order_by_price(
            [
                held
                for each in types
                if each.requirements.intersects(asked) is None
                and (held := holding(each, _REQUESTS)) is not None
                and cheapest(held, asked) is not None
            ],
            asked,
        )

    def launch(self, name: str = "claim-1", *wanted: Requirement) -> tuple[NodeClaim, Instance]:
        """A claim and its machine. What may go better later is tried again, as the core does."""
        asked, passed = self.claim(name, *wanted), 0.0
        while True:
            node_class = self.resolved()
            try:
                return asked, self.provider.create(asked, node_class, self.choices(node_class, *wanted))
            except ProviderError as error:
                if not error.retryable or passed >= _LAUNCH_WITHIN_S:
                    raise
            self.advance(_STEP_S)
            passed += _STEP_S

    def end(self, provider_id: str) -> None:
        """Ask for a machine's end until it is gone, as the core does."""
        passed = 0.0
        while True:
            try:
                self.provider.delete(provider_id)
            except NodeClaimNotFound:
                return
            except ProviderError as error:
                if not error.retryable:
                    raise
            assert passed < _END_WITHIN_S, f"{provider_id} is still there after {passed:.0f} s"
            self.advance(_STEP_S)
            passed += _STEP_S


def as_launched(claim: NodeClaim, instance: Instance) -> NodeClaim:
    """The claim with what the core writes onto it after its launch."""
    metadata = ObjectMeta(
        name=claim.name,
        uid=claim.metadata.uid,
        labels={**instance.labels, **claim.labels},
        annotations=dict(instance.annotations),
    )
    return attrs.evolve(claim, metadata=metadata, provider_id=instance.provider_id, image_id=instance.image_id)


class ProviderConformance:
    """Subclass it, and give it the fixture ``cloud``."""

    @pytest.fixture
    def cloud(self) -> Conforming:
        raise NotImplementedError("say in the fixture `cloud` which provider to try")

    # What it is

    def test_it_says_once_and_for_all_what_it_is(self, cloud: Conforming) -> None:
        provider = cloud.provider
        assert isinstance(provider, CloudProvider)
        assert provider.name
        assert provider.node_classes, "it serves no node class"
        served = [(kind.group, kind.kind) for kind in provider.node_classes]
        assert len(set(served)) == len(served), f"a kind is there twice: {served}"
        ref = cloud.pool.node_class
        assert (ref.group, ref.kind) in served, "the node class given is of none of its kinds"
        assert (provider.name, provider.labels, tuple(provider.node_classes)) == (
            provider.name,
            provider.labels,
            tuple(provider.node_classes),
        )

    # Node classes

    def test_a_node_class_is_resolved_to_values_that_a_status_can_hold(self, cloud: Conforming) -> None:
        before = copy.deepcopy(cloud.node_class)
        found = cloud.provider.resolve(cloud.node_class)
        assert found.ready, f"{found.reason}: {found.message}"
        assert json.loads(json.dumps(found.status)) == found.status
        assert "conditions" not in found.status, "conditions are the core's"
        assert cloud.node_class == before, "the node class was changed"
        assert cloud.provider.resolve(cloud.resolved()) == found, "looking again found something else"

    def test_a_node_class_that_is_of_no_use_is_told_with_the_reason(self, cloud: Conforming) -> None:
        if cloud.unusable_node_class is None:
            pytest.skip("all node classes of this cloud can be launched from")
        choices = cloud.choices(cloud.resolved())
        found = cloud.provider.resolve(cloud.unusable_node_class)
        assert not found.ready
        assert found.reason.isidentifier(), f"a reason is one word, not {found.reason!r}"
        assert found.message
        with pytest.raises(NodeClassNotReady):
            cloud.provider.create(cloud.claim(), cloud.unusable_node_class, choices)

    # Instance types

    def test_instance_types_are_the_same_object_while_nothing_changes(self, cloud: Conforming) -> None:
        node_class = cloud.resolved()
        types = cloud.provider.instance_types(cloud.pool, node_class)
        assert isinstance(types, InstanceTypes)
        assert len(types) > 0
        assert cloud.provider.instance_types(cloud.pool, node_class) is types

    def test_every_instance_type_says_all_that_is_decided_on(self, cloud: Conforming) -> None:
        types = cloud.provider.instance_types(cloud.pool, cloud.resolved())
        names = [type_.name for type_ in types]
        assert len(set(names)) == len(names), "two types have one name"
        for type_ in types:
            said = type_.requirements
            assert said[labels.INSTANCE_TYPE].single() == type_.name
            for key in (labels.ARCH, labels.OS, labels.ZONE, labels.CAPACITY_TYPE):
                assert key in said, f"{type_.name} says nothing of {key}"
            for resource in ("cpu", "memory", "pods"):
                assert type_.allocatable.get(resource, 0) > 0, f"{type_.name} has no {resource} for pods"
            assert type_.allocatable.fits_in(type_.capacity), f"{type_.name} has more for pods than it has"

    def test_every_offering_is_one_of_its_type(self, cloud: Conforming) -> None:
        for type_ in cloud.provider.instance_types(cloud.pool, cloud.resolved()):
            for offering in type_.offerings:
                told = offering.requirements
                assert told[labels.ZONE].single() == offering.zone
                assert told[labels.CAPACITY_TYPE].single() == offering.capacity_type
                assert offering.capacity_type in labels.CAPACITY_TYPES
                assert not offering.available or offering.has_price, f"{type_.name} is to be had for no price"
                if offering.available:
                    assert told.intersects(type_.requirements) is None, f"{type_.name} denies its own offering"

    def test_labels_of_types_are_declared(self, cloud: Conforming) -> None:
        declared = (CORE_LABELS | cloud.provider.labels).well_known
        types = cloud.provider.instance_types(cloud.pool, cloud.resolved())
        assert {key for type_ in types for key in type_.requirements} <= declared

    # Machines

    def test_a_machine_is_one_of_the_choices_for_its_claim(self, cloud: Conforming) -> None:
        claim, instance = cloud.launch()
        names = {type_.name for type_ in cloud.choices(cloud.resolved())}
        assert instance.provider_id
        assert instance.claim == claim.name
        assert instance.labels[labels.INSTANCE_TYPE] in names
        assert instance.labels[labels.ZONE]
        assert instance.labels[labels.CAPACITY_TYPE] in labels.CAPACITY_TYPES
        assert claim.requests.fits_in(instance.allocatable)
        assert instance.allocatable.fits_in(instance.capacity)
        assert not instance.is_terminating

    def test_a_machine_is_what_its_claim_requires(self, cloud: Conforming) -> None:
        types = cloud.provider.instance_types(cloud.pool, cloud.resolved())
        pools = {(each.zone, each.capacity_type) for type_ in types for each in type_.offerings if each.available}
        for number, (zone, capacity_type) in enumerate(sorted(pools)):
            wanted = Requirement.in_(labels.ZONE, zone), Requirement.in_(labels.CAPACITY_TYPE, capacity_type)
            _, instance = cloud.launch(f"claim-{number}", *wanted)
            assert (instance.labels[labels.ZONE], instance.labels[labels.CAPACITY_TYPE]) == (zone, capacity_type)

    def test_a_claim_gets_one_machine_however_often_it_is_asked_for(self, cloud: Conforming) -> None:
        _, first = cloud.launch()
        _, second = cloud.launch()
        assert first.provider_id == second.provider_id
        assert [each.provider_id for each in cloud.provider.list()] == [first.provider_id]

    def test_claims_that_are_served_at_once_get_a_machine_each(self, cloud: Conforming) -> None:
        cloud.launch("claim-0")
        node_class = cloud.resolved()
        choices = cloud.choices(node_class)
        claims = [cloud.claim(f"claim-{number}") for number in range(1, 7)]
        with ThreadPoolExecutor(len(claims)) as threads:
            found = list(threads.map(lambda claim: cloud.provider.create(claim, node_class, choices), claims))
        assert len({instance.provider_id for instance in found}) == len(claims)
        assert [instance.claim for instance in found] == [claim.name for claim in claims]

    def test_without_a_choice_there_is_no_machine(self, cloud: Conforming) -> None:
        node_class = cloud.resolved()
        with pytest.raises(InsufficientCapacity):
            cloud.provider.create(cloud.claim(), node_class, ())
        assert list(cloud.provider.list()) == []

    def test_machines_are_read_and_listed(self, cloud: Conforming) -> None:
        launched = [cloud.launch(f"claim-{number}")[1] for number in range(2)]
        listed = {each.provider_id: each for each in cloud.provider.list()}
        assert set(listed) == {each.provider_id for each in launched}
        for instance in launched:
            for seen in (listed[instance.provider_id], cloud.provider.get(instance.provider_id)):
                assert seen.claim == instance.claim
                assert seen.image_id == instance.image_id
                for key in (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE):
                    assert seen.labels[key] == instance.labels[key]

    def test_a_machine_is_ended_by_asking_until_it_is_gone(self, cloud: Conforming) -> None:
        _, staying = cloud.launch("claim-1")
        _, going = cloud.launch("claim-2")
        cloud.end(going.provider_id)
        with pytest.raises(NodeClaimNotFound):
            cloud.provider.get(going.provider_id)
        alive = [each.provider_id for each in cloud.provider.list() if not each.is_terminating]
        assert alive == [staying.provider_id]

    def test_a_claim_whose_machine_is_gone_gets_another(self, cloud: Conforming) -> None:
        _, first = cloud.launch()
        cloud.end(first.provider_id)
        assert cloud.launch()[1].provider_id != first.provider_id

    def test_a_machine_that_never_was_is_not_found(self, cloud: Conforming) -> None:
        _, real = cloud.launch()
        unknown = real.provider_id[:-1] + ("0" if real.provider_id[-1] != "0" else "1")
        for ask in (cloud.provider.get, cloud.provider.delete):
            for provider_id in (unknown, "elsewhere:///a/b"):
                with pytest.raises(NodeClaimNotFound):
                    ask(provider_id)

    # Drift

    def test_a_new_machine_has_not_drifted(self, cloud: Conforming) -> None:
        claim, instance = cloud.launch()
        node_class = cloud.resolved()
        before = copy.deepcopy(node_class)
        for _ in range(2):
            assert cloud.provider.drift_reason(as_launched(claim, instance), cloud.pool, node_class) is None
        assert node_class == before, "the node class was changed"

    def test_a_broken_node_class_is_told_in_errors_of_the_tree(self, cloud: Conforming) -> None:
        """Objects in the API server may hold anything; no controller may fall over one."""
        claim, instance = cloud.launch()
        broken = {key: cloud.node_class[key] for key in ("apiVersion", "kind", "metadata")} | {"spec": {"?": "!"}}
        for ask in (
            lambda: cloud.provider.instance_types(cloud.pool, broken),
            lambda: cloud.provider.drift_reason(as_launched(claim, instance), cloud.pool, broken),
            lambda: cloud.provider.resolve(broken),
        ):
            with contextlib.suppress(ProviderError):
                ask()

    # What it may offer beside

    def test_repair_policies_are_times_to_wait(self, cloud: Conforming) -> None:
        if not isinstance(cloud.provider, Repairing):
            pytest.skip("it does not say when a node is broken")
        for policy in cloud.provider.repair_policies:
            assert policy.condition
            assert policy.status in ("True", "False", "Unknown")
            assert policy.toleration_s > 0

    def test_defaults_are_for_keys_that_are_known(self, cloud: Conforming) -> None:
        if not isinstance(cloud.provider, Defaulting):
            pytest.skip("it adds nothing to pools")
        declared = (CORE_LABELS | cloud.provider.labels).well_known
        assert set(cloud.provider.default_requirements(cloud.pool)) <= declared

    def test_a_quiet_cloud_gives_no_notice_of_its_machines(self, cloud: Conforming) -> None:
        if not isinstance(cloud.provider, GivingNotice):
            pytest.skip("it gives no notice")
        cloud.launch()
        notices: Sequence[Notice] = cloud.provider.messages()
        assert [notice for notice in notices if notice.provider_id] == []

    def test_hooks_let_a_node_pass_and_may_be_asked_again(self, cloud: Conforming) -> None:
        if not isinstance(cloud.provider, WithRegistrationHooks):
            pytest.skip("it has no hooks")
        claim, instance = cloud.launch()
        launched = as_launched(claim, instance)
        node = Node(ObjectMeta(name="node-1"), NodeSpec(provider_id=instance.provider_id))
        names = [hook.name for hook in cloud.provider.registration_hooks]
        assert len(set(names)) == len(names)
        for hook in cloud.provider.registration_hooks:
            answers = []
            for _ in range(10):
                answers.append(hook.registered(launched, node))
                if answers[-1].is_done:
                    break
                cloud.advance(answers[-1].retry_after_s or 1.0)
            assert answers[-1].is_done, f"{hook.name} does not let the node pass"
            assert hook.registered(launched, node) == answers[-1]

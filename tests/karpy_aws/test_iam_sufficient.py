"""A provider's whole life needs what the policies allow, and no less."""

from __future__ import annotations

import pytest

from karpy.objects.meta import ObjectMeta
from karpy.objects.node import Node, NodeStatus
from karpy.requirements import Requirement
from karpy.testing.clock import FakeClock
from karpy_aws.iampolicy import PolicyScope, actions_of, policies
from tests.karpy_aws.iam import WatchedAWS, refused
from tests.karpy_aws.providerworld import CLUSTER, POOL, Setup, claim, launched, node_class, world
from tests.karpy_aws.test_provider import warning
from tests.karpy_aws.test_registration import GROUP

SCOPE = PolicyScope(cluster=CLUSTER, region="us-west-2", account="111122223333", node_role="node", queue="queue")
NODE = Node(ObjectMeta(name="ip-10-0-0-1"), status=NodeStatus(capacity={"memory": "7Gi"}))


@pytest.fixture
def lived() -> WatchedAWS:
    """Looked up, tried out, launched on demand and as spot, registered, warned of, checked, ended, and cleared away."""
    clock = FakeClock()
    fake = WatchedAWS(world(clock), clock=clock)
    setup = Setup.on(fake, clock, interruption_queue="queue", enable_zonal_shift=True)
    setup.world.queues["queue"] = []
    setup.world.managed_resources[setup.world.clusters[CLUSTER]["arn"]] = {}
    setup.world.load(placement_groups=[GROUP])
    more = {"capacityReservationSelectorTerms": [{"tags": {"team": "a"}}], "placementGroupSelector": {"id": "pg-1"}}
    raw = setup.resolved(tags={"team": "a"}, **more)
    first = setup.launch(raw)
    spot = setup.launch(raw, "claim-2", Requirement.in_("karpenter.sh/capacity-type", "spot"))
    for hook in setup.provider.registration_hooks:
        hook.registered(launched(claim(), first), NODE)
    setup.provider.drift_reason(launched(claim(), first), POOL, raw)
    warning(setup, spot.provider_id)
    for notice in setup.provider.messages():
        setup.provider.acknowledge(notice)
    for instance in (first, spot):
        setup.provider.get(instance.provider_id)
        setup.provider.delete(instance.provider_id)
    setup.world.roles = None
    changed = node_class(raw["status"], role="other")
    for _ in range(30):
        clock.advance(600)
        setup.provider.resolve(changed)
        setup.provider.list()
    return fake


def test_all_that_a_provider_asks_is_allowed_but_a_role_that_was_not_named(lived: WatchedAWS) -> None:
    left = refused(lived.questions, policies(SCOPE).values())
    assert [(each.action, each.resource) for each in left] == [("iam:PassRole", "arn:aws:iam::111122223333:role/other")]


def test_no_action_is_allowed_for_nothing(lived: WatchedAWS) -> None:
    assert actions_of(policies(SCOPE).values()) == {question.action for question in lived.questions}

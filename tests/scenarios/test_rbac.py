"""karpy's controllers do their work with the rights of `examples/rbac.yaml`, and use all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from karpy.objects import kinds
from karpy.operator import Operator
from karpy.scenarios.rehearsal import Silence
from karpy.sim.api.access.access import Uses, missing, unused
from karpy.sim.api.access.identity import Identity
from karpy.sim.loop import Loop
from karpy.sim.processes.process import install
from karpy.sim.world import World
from tests.karpy.controllers.stage import pool
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, deployment, pods

MANIFEST = tuple(yaml.safe_load_all((Path(__file__).parents[2] / "examples/rbac.yaml").read_text()))
KARPY = Identity(
    "system:serviceaccount:kube-system:karpy",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
)
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "one-at-a-time", "namespace": "default"},
    "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}
OLD_POOL = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "old"},
    "spec": {
        "limits": {"resources": {"cpu": "0"}},
        "providerRef": {"apiVersion": "sim.karpy.dev/v1", "kind": "SimNodeClass", "name": "default"},
    },
}
"""From an earlier age. It may launch nothing; that it is well is written onto it all the same."""


def lived(*manifest: dict[str, Any]) -> World:
    """Pods come and go, and so do nodes, by controllers that have the rights of ``manifest`` alone."""
    world = World(timing=QUICK, rbac=True)
    world.api.access.uses = Uses()
    world.apply([*manifest, NODE_CLASS, pool(), OLD_POOL, BUDGET])
    kube = world.api.acting_as(KARPY)
    loop = Loop(kube, world.clock)
    operator = Operator(kube=kube, providers=(world.cloud,), clock=world.clock, log=Silence())
    install(loop, operator)
    world.loop.invite(loop)
    world.apply([deployment(replicas=12)])
    world.run(200)
    for replicas in (2, 0):
        world.api.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": replicas}}, "default")
        world.run(600)
    held_up(world)
    return world


def held_up(world: World) -> None:
    """A node that a budget holds, and then somebody else's finalizers; and one whose pod is ended because its time is up."""
    in_time = {"spec": {"template": {"spec": {"terminationGracePeriod": "2m"}}}}
    nobody = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
    for change, template_change in (({}, {}), (in_time, nobody)):
        world.api.patch(kinds.NODE_POOL, "default", change)
        world.api.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": 1, "template": template_change}}, "default")
        world.api.patch(
            kinds.POD_DISRUPTION_BUDGET, BUDGET["metadata"]["name"], {"spec": {"maxUnavailable": 0}}, "default"
        )
        world.run(60)
        for claim in world.api.list(kinds.NODE_CLAIM).items:
            for kind in (kinds.NODE, kinds.NODE_CLAIM):
                held = [*claim["metadata"]["finalizers"], "example.com/hold"]
                world.api.patch(kind, claim["metadata"]["name"], {"metadata": {"finalizers": held}})
            world.api.delete(kinds.NODE_CLAIM, claim["metadata"]["name"])
        world.run(60)
        world.api.patch(
            kinds.POD_DISRUPTION_BUDGET, BUDGET["metadata"]["name"], {"spec": {"maxUnavailable": 1}}, "default"
        )
        world.run(300)
        for kind in (kinds.NODE, kinds.NODE_CLAIM):
            for obj in world.api.list(kind).items:
                if "deletionTimestamp" in obj["metadata"]:
                    world.api.patch(kind, obj["metadata"]["name"], {"metadata": {"finalizers": []}})
            world.run(120)
        world.api.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": 0}}, "default")
        world.run(600)


def test_it_is_sufficient_and_minimal() -> None:
    world = lived(*MANIFEST)
    uses = world.api.access.uses
    assert uses is not None
    done = uses.of(KARPY.name)
    assert missing(MANIFEST, KARPY, done) == []
    assert unused(MANIFEST, KARPY, done) == []
    assert (len(pods(world)), len(world.api.list(kinds.NODE_CLAIM).items)) == (0, 0)


def test_without_rights_nothing_is_done() -> None:
    world = lived()
    assert world.api.list(kinds.NODE_CLAIM).items == ()
    assert tuple(world.cloud.list()) == ()

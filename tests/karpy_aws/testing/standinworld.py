"""A simulated cluster whose machines are EC2's, and what users and onlookers do there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karpy.objects.kinds import NODE, POD
from karpy.sim.faults import Faults
from karpy.sim.weather import Weather
from karpy.sim.world import World
from karpy.testing import reference
from karpy.testing.venues import venue
from tests.karpy.sim.manifests import bare_pod

AWS = venue("aws")


def pool(*requirements: Mapping[str, Any], **template: Any) -> dict[str, Any]:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "template": {"spec": {"nodeClassRef": ref, "requirements": list(requirements), **template}},
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "0s",
                "budgets": [{"nodes": "100%"}],
            },
        },
    }


def bought_as(capacity_type: str) -> dict[str, Any]:
    return {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity_type]}


def world(
    faults: Faults | None = None, weather: Weather | None = None, pool_: Mapping[str, Any] | None = None
) -> World:
    """karpy runs in it, and has looked around."""
    made = AWS.world(1, faults or Faults(), weather or Weather())
    made.start(reference, "karpy")
    made.apply([AWS.node_class, pool() if pool_ is None else pool_])
    made.run(5)
    return made


def come(world: World) -> None:
    world.apply([bare_pod("a")])


def go(world: World) -> None:
    world.api.delete(POD, "a", "default")


def phase(world: World) -> str:
    return str(world.api.get(POD, "a", "default")["status"]["phase"])


def nodes(world: World) -> list[Mapping[str, Any]]:
    return list(world.api.list(NODE).items)


def running(world: World) -> list[Mapping[str, Any]]:
    """The instances that cost anything."""
    return [each for each in instances(world) if each["State"]["Name"] in ("pending", "running")]


def instances(world: World) -> Iterator[Mapping[str, Any]]:
    yield from world.site.backend.instances()

"""What planned machines count for while it is open where they will be."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.testing import make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of

ARM = {labels.ARCH: "arm64"}
LOUD = {"app": "loud"}


def in_zones(*zones: str) -> dict[str, Any]:
    term = {"matchExpressions": [selector(labels.ZONE, "In", *zones)]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def loud() -> dict[str, Any]:
    """A pod whose machine may be in either of two zones."""
    spec = {"nodeSelector": ARM, "affinity": in_zones("zone-a", "zone-b")}
    return make_pod("loud", labels=LOUD, requests={"cpu": "5"}, spec=spec)


def settling(zone: str) -> dict[str, Any]:
    """A pod that joins it, and settles in which."""
    return make_pod("settling", requests={"cpu": "2"}, spec={"nodeSelector": {**ARM, labels.ZONE: zone}})


def quiet(zone: str) -> dict[str, Any]:
    """A pod that wants to be in a zone without loud ones."""
    term = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": LOUD}}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return make_pod(
        "quiet",
        requests={"cpu": "500m"},
        spec={"nodeSelector": {labels.ZONE: zone}, "affinity": {"podAntiAffinity": apart}},
    )


@pytest.mark.core("CORE-224")
@pytest.mark.parametrize("packing", ["thrifty", "karpenter"])
def test_a_machine_that_may_be_in_several_zones_keeps_pods_away_from_all(packing: str) -> None:
    plan = plan_of(make_nodepool(), loud(), quiet("zone-b"), packing=packing)
    assert [launch.pods for launch in plan.launches] == [("default/loud",)]


@pytest.mark.parametrize("packing", ["thrifty", "karpenter"])
@pytest.mark.parametrize(("zone", "others"), [("zone-a", ["default/quiet"]), ("zone-b", [])])
def test_once_it_is_settled_it_keeps_them_away_from_its_own_only(zone: str, others: list[str], packing: str) -> None:
    plan = plan_of(make_nodepool(), loud(), settling(zone), quiet("zone-b"), packing=packing)
    together, *rest = sorted((launch.pods for launch in plan.launches), key=len, reverse=True)
    assert set(together) == {"default/loud", "default/settling"}
    assert [pod for pods in rest for pod in pods] == others


@pytest.mark.parametrize("packing", ["thrifty", "karpenter"])
def test_a_machine_that_can_only_be_bought_otherwise_does_not_count(packing: str) -> None:
    """The requirements of the pool leave the architecture open; what it may buy does not."""
    web = {"app": "web"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": labels.ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": web},
    }
    of_intel = make_nodepool("intel", weight=9, requirements=[selector(labels.INSTANCE_TYPE, "In", "intel")])
    types = [make_instance_type("intel", arch="amd64"), make_instance_type("arm", arch="arm64")]
    plain = [
        make_pod(f"plain-{n}", labels=web, requests={"cpu": "1"}, spec={"nodeSelector": {labels.ZONE: "zone-a"}})
        for n in range(2)
    ]
    on_arm = {"nodeSelector": ARM, "affinity": in_zones("zone-a", "zone-b"), "topologySpreadConstraints": [constraint]}
    arms = [make_pod(f"arm-{n}", labels=web, requests={"cpu": "500m"}, spec=on_arm) for n in range(2)]
    plan = plan_of(of_intel, make_nodepool("any"), *plain, *arms, types=types, packing=packing)
    zones = [
        launch.requirements.labels()[labels.ZONE] for launch in plan.launches if "default/plain-0" not in launch.pods
    ]
    assert sorted(zones) == ["zone-a", "zone-b"]

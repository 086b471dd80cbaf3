"""Manifests of every API generation bring nodes and let them go again, in a world of virtual time.

The files of the guides themselves are run where ``../shared`` is there; the scenarios of the package always.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml

import karpy.scenarios
from karpy.cloud.model import load_models
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.operator import Operator
from karpy.sim.world import World


def scenario(name: str) -> str:
    """The manifests of a scenario of the package."""
    return (Path(karpy.scenarios.__file__).parent / f"{name}.yaml").read_text()


SILENT = structlog.wrap_logger(structlog.testing.CapturingLogger())
INFLATE = next(doc for doc in yaml.safe_load_all(scenario("eks")) if doc["kind"] == "Deployment")


class Cluster:
    """A world with karpy in it."""

    def __init__(self, manifests: str, seed: int = 0) -> None:
        self.world = World(seed=seed, models=load_models())
        self.operator = Operator(kube=self.world.api, providers=[self.world.cloud], clock=self.world.clock, log=SILENT)
        self.world.install(self.operator)
        objects = [doc for doc in yaml.safe_load_all(manifests) if doc]
        self.world.apply(objects)
        if not any(obj["kind"] == "Deployment" for obj in objects):
            self.world.apply([INFLATE])

    def scale(self, replicas: int) -> None:
        """Scale `inflate` and let five minutes pass."""
        self.world.api.patch(kinds.DEPLOYMENT, "inflate", {"spec": {"replicas": replicas}}, "default")
        self.world.run(300)

    def items(self, kind: Kind) -> tuple[Mapping[str, Any], ...]:
        return self.world.api.list(kind).items

    @property
    def running(self) -> int:
        return sum(1 for pod in self.items(kinds.POD) if pod["status"].get("phase") == "Running")

    def drifted(self) -> dict[str, str | None]:
        """Why each claim has drifted, if it has, by name."""
        found = {
            claim["metadata"]["name"]: {each["type"]: each["reason"] for each in claim["status"]["conditions"]}
            for claim in self.items(kinds.NODE_CLAIM)
        }
        return {name: reasons.get("Drifted") for name, reasons in found.items()}

    def label(self, key: str) -> set[str]:
        return {node["metadata"]["labels"].get(key, "") for node in self.items(kinds.NODE)}


def seed(shared: Path, name: str) -> str:
    return (shared / "data" / "seeds" / name).read_text()


@pytest.mark.parametrize("name", ["eks", "eks-v0.5.3", "aks"])
def test_a_scenario_scales_up_and_back_to_nothing(name: str) -> None:
    cluster = Cluster(scenario(name))
    for replicas in (5, 40, 3):
        cluster.scale(replicas)
        assert cluster.running == replicas
        assert len(cluster.items(kinds.NODE)) >= 1
    cluster.scale(0)
    assert cluster.items(kinds.NODE) == ()
    assert cluster.items(kinds.NODE_CLAIM) == ()
    assert cluster.world.cloud.cost_per_hour() == 0


def test_provisioner_with_provider_ref(shared: Path) -> None:
    """Karpenter 0.25: the requirements of the Provisioner hold, and nodes stay, since it asks for no consolidation."""
    cluster = Cluster(seed(shared, "eks-v0.25.0.yaml"))
    cluster.scale(5)
    assert cluster.running == 5
    assert cluster.label("karpenter.k8s.aws/instance-category") <= {"c", "m", "r"}
    assert cluster.label("karpenter.sh/provisioner-name") == {"default"}
    assert cluster.label("karpenter.sh/capacity-type") == {"on-demand"}
    cluster.scale(0)
    assert len(cluster.items(kinds.NODE)) == 1


def test_provisioner_with_inline_provider(shared: Path) -> None:
    """Karpenter 0.5.3: spot as asked, and an empty node goes after its 30 seconds."""
    cluster = Cluster(seed(shared, "eks-v0.5.3.yaml"))
    cluster.scale(5)
    assert cluster.label("karpenter.sh/capacity-type") == {"spot"}
    cluster.scale(0)
    assert cluster.items(kinds.NODE) == ()


def test_v1beta1_pool_with_aks_node_class(shared: Path) -> None:
    """AKS: D family, on-demand, and the limit of 100 CPUs is never passed."""
    cluster = Cluster(seed(shared, "aks-v0.5.1.yaml"))
    cluster.scale(5)
    assert cluster.label("karpenter.azure.com/sku-family") == {"D"}
    cluster.scale(200)
    held = sum(int(node["status"]["capacity"]["cpu"]) for node in cluster.items(kinds.NODE))
    assert held <= 100
    waiting = [pod for pod in cluster.items(kinds.POD) if pod["status"].get("phase") == "Pending"]
    assert waiting
    told = [event["message"] for event in cluster.items(kinds.EVENT) if event["reason"] == "FailedScheduling"]
    assert any("limit of cpu" in message for message in told)


def test_two_more_pools_one_by_weight_one_by_selector(shared: Path) -> None:
    """Node auto-provisioning: the heavier pool serves what fits it, the pod's selector finds the other."""
    cluster = Cluster(seed(shared, "aks-nap.yaml"))
    cluster.scale(30)
    assert cluster.running == 31
    by_pool = {
        node["metadata"]["labels"]["karpenter.sh/nodepool"]: node["metadata"]["labels"]
        for node in cluster.items(kinds.NODE)
    }
    assert set(by_pool) == {"my-node", "my-node-comp"}
    assert by_pool["my-node"]["karpenter.azure.com/sku-cpu"] == "8"
    assert by_pool["my-node-comp"]["karpenter.azure.com/sku-memory"] == "131072"


@pytest.mark.parametrize("name", ["eks-v0.25.0.yaml", "eks-v0.5.3.yaml"])
def test_status_is_written_on_the_object_that_the_user_wrote(shared: Path, name: str) -> None:
    cluster = Cluster(seed(shared, name))
    cluster.scale(5)
    (provisioner,) = cluster.items(kinds.PROVISIONER)
    conditions = {c["type"]: c["status"] for c in provisioner["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert int(provisioner["status"]["resources"]["cpu"]) >= 5
    assert "nodepool" not in {obj["kind"].lower() for obj in cluster.items(kinds.NODE_POOL)}


def test_one_bad_pool_gets_a_condition_and_an_event_and_the_others_go_on(shared: Path) -> None:
    bad = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: bad}
spec:
  weight: 100
  requirements: [{key: kubernetes.io/arch, operator: Within, values: [amd64]}]
  providerRef: {name: default}
"""
    lost = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: lost}
spec: {weight: 99, providerRef: {name: nowhere}}
"""
    cluster = Cluster(f"{seed(shared, 'eks-v0.25.0.yaml')}\n---\n{lost}\n---\n{bad}")
    cluster.scale(5)
    assert cluster.running == 5
    status = {
        pool["metadata"]["name"]: {c["type"]: c for c in pool["status"]["conditions"]}
        for pool in cluster.items(kinds.PROVISIONER)
    }
    assert status["default"]["Ready"]["status"] == "True"
    assert status["lost"]["NodeClassReady"]["reason"] == "NodeClassNotFound"
    refused = status["bad"]["ValidationSucceeded"]
    assert (refused["status"], refused["reason"]) == ("False", "NodePoolValidationFailed")
    for part in ("Provisioner/bad", "spec.requirements[0].operator", "'Within'", "NotIn"):
        assert part in refused["message"]
    told = {event["involvedObject"]["name"] for event in cluster.items(kinds.EVENT)}
    assert {"lost", "bad"} <= told


def test_a_pod_that_fits_nothing_is_told_what_stands_in_its_way(shared: Path) -> None:
    cluster = Cluster(seed(shared, "eks-v0.25.0.yaml"))
    giant = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "giant"},
        "spec": {"containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1000"}}}]},
    }
    cluster.world.apply([giant])
    cluster.scale(5)
    assert cluster.running == 5
    told = [
        event["message"]
        for event in cluster.items(kinds.EVENT)
        if event["reason"] == "FailedScheduling" and event["involvedObject"]["name"] == "giant"
    ]
    assert any("request of 1k cpu" in message and "instance types" in message for message in told), told


@pytest.mark.parametrize(
    ("name", "kind", "changed"),
    [
        ("eks", kinds.PROVISIONER, {"labels": {"team": "a"}}),
        ("eks-v0.5.3", kinds.PROVISIONER, {"labels": {"team": "a"}}),
        ("aks", kinds.NODE_POOL, {"template": {"metadata": {"labels": {"team": "a"}}}}),
    ],
)
def test_machines_of_every_generation_drift_when_their_template_changes_and_not_before_and_are_replaced(
    name: str, kind: Kind, changed: Mapping[str, Any]
) -> None:
    cluster = Cluster(scenario(name))
    cluster.scale(5)
    cluster.world.run(2 * 3600)
    before = cluster.drifted()
    assert set(before.values()) == {None}
    (pool,) = cluster.items(kind)
    cluster.world.api.patch(kind, pool["metadata"]["name"], {"spec": changed})
    cluster.world.run(1)
    assert {cluster.drifted()[name] for name in before} == {"NodePoolDrifted"}
    cluster.world.run(1800)
    after = cluster.drifted()
    assert not before.keys() & after.keys()
    assert set(after.values()) == {None}
    assert cluster.label("team") == {"a"}
    assert cluster.running == 5

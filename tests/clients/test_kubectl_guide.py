"""A person at kubectl, on a cluster that lives: the session of the guides, with pools as they were before NodePools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import karpy.scenarios
from tests.clients.cluster import Kubectl, running_cluster

pytestmark = pytest.mark.kubectl


def scenario(name: str) -> str:
    """The manifests of a scenario of the package."""
    return (Path(karpy.scenarios.__file__).parent / f"{name}.yaml").read_text()


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A cluster without any pools, whose nodes nobody else uses."""
    with running_cluster(tmp_path_factory.mktemp("guide"), speed=40) as kubectl:
        yield kubectl


def test_the_guides_session_behaves_as_on_a_real_cluster(kubectl: Kubectl) -> None:
    """The whole of it in order: apply, create, scale, look, watch, describe, delete."""
    applied = kubectl("apply -f -", scenario("eks"))
    assert "provisioner.karpenter.sh/default created" in applied
    assert "awsnodetemplate.karpenter.k8s.aws/default created" in applied

    kubectl("create deployment web --image=nginx --replicas=3")
    kubectl("set resources deployment web --requests=cpu=500m,memory=256Mi")
    kubectl("scale deployment inflate --replicas 5")
    with kubectl.start("get nodeclaims -w") as watching:
        kubectl("rollout status deployment/web --timeout=50s")
        kubectl("rollout status deployment/inflate --timeout=50s")
        kubectl("wait --for=condition=Ready nodeclaim --all --timeout=50s")
        seen = watching.until(" True ")
        assert seen[0].startswith("NAME"), "the watch prints a table"
        assert "default-" in seen[1], "and a line for each claim"

    wide = kubectl("get pods,nodes,nodeclaims -o wide")
    assert wide.count("Running") == 8
    assert "ip-10-0-0-" in wide
    for column in ("NOMINATED NODE", "INTERNAL-IP", "CAPACITY", "NODEPOOL"):
        assert column in wide

    node = kubectl.json("get pods")["items"][0]["spec"]["nodeName"]
    described = kubectl(f"describe node {node}")
    assert "karpenter.sh/nodepool=default" in described
    assert "Non-terminated Pods" in described
    events = kubectl("get events -A")
    assert "Nominated" in events
    assert "Scheduled" in events

    kubectl("delete deployment web inflate")
    kubectl("wait --for=delete nodeclaim --all --timeout=55s")
    assert kubectl.json("get nodes")["items"] == []


def test_a_deleted_node_goes_only_after_its_instance(kubectl: Kubectl) -> None:
    kubectl("apply -f -", scenario("eks"))
    kubectl("create deployment one --image=nginx")
    kubectl("set resources deployment one --requests=cpu=1")
    kubectl("rollout status deployment/one --timeout=50s")
    name = kubectl.json("get pods")["items"][0]["spec"]["nodeName"]
    node = kubectl.json(f"get node {name}")["metadata"]
    assert node["finalizers"] == ["karpenter.sh/termination"]
    claims = kubectl.json("get nodeclaims")["items"]
    (claim,) = (each["metadata"]["name"] for each in claims if each["status"].get("nodeName") == name)

    kubectl(f"delete node {name} --timeout=55s")

    assert name not in kubectl("get nodes")
    kubectl(f"wait --for=delete nodeclaim/{claim} --timeout=30s")
    kubectl("rollout status deployment/one --timeout=50s")  # its pod came back on another node
    kubectl("delete deployment one")


def test_the_api_says_what_it_serves(kubectl: Kubectl) -> None:
    resources = kubectl("api-resources")
    for name in ("nodepools", "nodeclaims", "provisioners", "awsnodetemplates", "aksnodeclasses", "deployments"):
        assert name in resources
    explained = kubectl("explain nodepool.spec")
    assert "disruption" in explained
    assert "weight" in explained

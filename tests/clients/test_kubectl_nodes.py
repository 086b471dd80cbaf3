"""The real kubectl on a living cluster: nodes are cordoned, tainted, labelled, drained, and pods are protected."""

from __future__ import annotations

import pytest

from tests.clients.cluster import Kubectl

pytestmark = pytest.mark.kubectl

BLOCKED = "Cannot evict pod as it would violate the pod's disruption budget."


def web(kubectl: Kubectl, replicas: int) -> str:
    """A deployment that runs; returns the node of its first pod."""
    kubectl(f"create deployment web --image=nginx --replicas={replicas}")
    kubectl("rollout status deployment/web")
    return str(kubectl("get pods -l app=web -o jsonpath={.items[0].spec.nodeName}"))


def test_a_drain_waits_for_the_budget_and_goes_on_when_it_allows(kubectl: Kubectl) -> None:
    node = web(kubectl, 2)
    kubectl("create poddisruptionbudget web --selector=app=web --min-available=2")
    kubectl("wait pdb/web --for=jsonpath={.status.currentHealthy}=2 --timeout=50s")
    described = kubectl("describe pdb web")
    for line in ("Min available:  2", "Allowed disruptions:  0", "Current:              2", "Desired:              2"):
        assert line in described

    with kubectl.start(f"drain {node} --ignore-daemonsets --force --pod-selector=app=web --timeout=50s") as draining:
        assert draining.until(BLOCKED)[-1].startswith('error when evicting pods/"web-')
        assert "Ready,SchedulingDisabled" in kubectl(f"get node {node}")
        kubectl('patch pdb web --type=merge -p \'{"spec":{"minAvailable":0}}\'')
        told = draining.rest()
    assert " evicted\n" in told
    assert told.endswith(f"node/{node} drained\n")

    kubectl("rollout status deployment/web")
    assert node not in kubectl("get pods -l app=web -o jsonpath={..nodeName}")
    assert kubectl(f"uncordon {node}") == f"node/{node} uncordoned\n"


def test_a_drain_minds_pods_that_nobody_would_bring_back(kubectl: Kubectl) -> None:
    kubectl("run alone --image=nginx")
    kubectl("wait pod/alone --for=condition=Ready --timeout=50s")
    node = kubectl("get pod alone -o jsonpath={.spec.nodeName}")
    drain = f"drain {node} --pod-selector=run=alone --ignore-daemonsets"
    assert "cannot delete Pods that declare no controller (use --force to override)" in kubectl.fails(drain)
    assert kubectl(f"{drain} --force --dry-run=server").endswith(f"node/{node} drained (server dry run)\n")
    assert kubectl(f"{drain} --force").endswith(f"pod/alone evicted\nnode/{node} drained\n")
    kubectl(f"uncordon {node}")


def test_nodes_are_cordoned_tainted_labelled_and_annotated(kubectl: Kubectl) -> None:
    node = web(kubectl, 1)
    assert kubectl(f"cordon {node}") == f"node/{node} cordoned\n"
    assert kubectl(f"cordon {node}") == f"node/{node} already cordoned\n"
    kubectl(f"wait node/{node} --for=jsonpath={{.spec.taints[0].key}}=node.kubernetes.io/unschedulable")
    kubectl(f"uncordon {node}")
    assert kubectl(f"label node {node} team=a") == f"node/{node} labeled\n"
    assert "already has a value (a)" in kubectl.fails(f"label node {node} team=b")
    kubectl(f"label node {node} team=b --overwrite")
    assert node in kubectl("get nodes -l team=b -o name")
    assert kubectl(f"annotate node {node} note=x") == f"node/{node} annotated\n"
    assert kubectl(f"label node {node} team-") == f"node/{node} unlabeled\n"

    pod = kubectl("get pods -l app=web -o name").strip()
    assert kubectl(f"taint node {node} gone=soon:NoExecute") == f"node/{node} tainted\n"
    kubectl(f"wait {pod} --for=delete --timeout=50s")
    assert "Taints:             gone=soon:NoExecute" in kubectl(f"describe node {node}")
    assert kubectl(f"taint node {node} gone-") == f"node/{node} untainted\n"
    kubectl("rollout status deployment/web")


def test_nodes_are_described_with_what_runs_on_them(kubectl: Kubectl) -> None:
    # No pod exists before its requests are set: none of an older replica set comes and goes while it is looked at.
    kubectl("create deployment web --image=nginx --replicas=0")
    kubectl("set resources deployment web --requests=cpu=125m,memory=64Mi")
    kubectl("scale deployment web --replicas=1")
    kubectl("rollout status deployment/web")
    kubectl("wait pods -l app=web --for=condition=Ready --timeout=50s")
    (pod,) = kubectl.json("get pods -l app=web")["items"]
    described = kubectl(f"describe node {pod['spec']['nodeName']}")
    assert f"{kubectl.namespace[:20]}" in described
    for text in (
        "Non-terminated Pods:",
        "125m (",
        "Allocatable:",
        "KubeletReady",
        "Lease:",
        "karpenter.sh/nodepool=default",
    ):
        assert text in described
    assert "NodeReady" in described, "its events"

    described = kubectl("describe pod -l app=web")
    for text in (
        "Controlled By:  ReplicaSet/web-",
        "cpu:        125m",
        "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
        "Successfully assigned",
        "Started container nginx",
    ):
        assert text in described

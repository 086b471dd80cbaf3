"""The real kubectl on a living cluster: what it prints of objects and of the API, and whom it is allowed to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.clients.cluster import Kubectl, running_cluster

pytestmark = pytest.mark.kubectl


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A namespace with three pods that run."""
    kubectl("create deployment web --image=nginx --replicas=3")
    kubectl("rollout status deployment/web")
    return kubectl


def test_pods_are_listed_in_every_form(web: Kubectl) -> None:
    names = sorted(each["metadata"]["name"] for each in web.json("get pods")["items"])
    assert web("get pods -o name --sort-by=.metadata.name").split() == [f"pod/{name}" for name in names]
    assert sorted(web("get pods -o jsonpath='{.items[*].metadata.name}'").split()) == names
    assert web("get pods --chunk-size=1 -o name --sort-by=.metadata.name").split() == [f"pod/{name}" for name in names]
    wide = web("get pods -o wide").splitlines()
    assert re.sub(" +", " ", wide[0]) == "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES"
    assert all(line.split()[2] == "Running" for line in wide[1:])
    columns = web(
        "get pods -o custom-columns=NAME:.metadata.name,IP:.status.podIP --no-headers --sort-by=.metadata.name"
    )
    assert [line.split()[0] for line in columns.splitlines()] == names
    assert "kind: Pod\n" in web(f"get pod {names[0]} -o yaml")
    assert web(f"get pods --field-selector=metadata.name={names[1]} -o name") == f"pod/{names[1]}\n"
    assert web("get pods --field-selector=status.phase!=Running -o name") == ""
    assert web("get pods -l 'app in (web),app!=x' -o name").count("pod/") == 3
    assert "field label not supported: nope" in web.fails("get pods --field-selector=nope=1")
    assert names[0] in web("get pods --all-namespaces")
    assert web("get all").count("/web") == 5, "three pods, a ReplicaSet, a Deployment"
    assert web("get deployments.v1.apps,rs --show-labels --show-kind").count("app=web") == 2
    labels = web("get pods -L app --no-headers").splitlines()
    assert [line.split()[-1] for line in labels] == ["web"] * 3


def test_things_are_described_with_their_events(web: Kubectl) -> None:
    described = web("describe deployment web")
    for text in ("3 desired | 3 updated | 3 total | 3 available", "NewReplicaSetAvailable", "ScalingReplicaSet"):
        assert text in described
    events = web("events --for deployment/web")
    assert re.search(r"Normal +ScalingReplicaSet +Deployment/web +Scaled up replica set web-\w+ from 0 to 3", events)
    (first, *_) = web("get pods -o name").split()
    reasons = web(f"get events --field-selector involvedObject.name={first[4:]} -o jsonpath={{..reason}}").split()
    assert {"Scheduled", "Started"} <= set(reasons)
    assert web("get events --sort-by=.lastTimestamp --no-headers").count("SuccessfulCreate") == 3
    assert web("logs deployment/web") == ""
    assert web(f"logs {first} --tail=5 --since=1m") == ""
    assert "Metrics API not available" in web.fails("top pods")


def test_pools_and_claims_are_printed_and_described(web: Kubectl) -> None:
    pool = web("get nodepools default").splitlines()
    assert pool[0].split() == ["NAME", "NODECLASS", "NODES", "READY", "AGE"]
    assert pool[1].split()[:2] == ["default", "default"]
    described = web("describe nodepool default")
    for text in (r"Kind:\s+NodePool\n", r"Node Class Ref:\n", r"Type:\s+ValidationSucceeded\n", r"Status:\s+True\n"):
        assert re.search(text, described), text
    (claim, *_) = web("get nodeclaims -o name").split()
    web(f"wait {claim} --for=condition=Initialized --timeout=50s")
    assert "Provider ID:" in web(f"describe {claim}")
    assert claim in web("get karpenter -o name"), "the category of karpy's kinds"
    assert web("get nodepool default -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'") == "True"


def test_fields_are_explained(kubectl: Kubectl) -> None:
    explained = kubectl("explain pod.spec.containers.resources")
    assert "FIELD: resources <ResourceRequirements>" in explained
    assert re.search(r"^  requests\t<map\[string\]Quantity>$", explained, re.MULTILINE)
    assert re.search(r"^    containers\t<\[\]Container> -required-$", kubectl("explain pod --recursive"), re.MULTILINE)
    explained = kubectl("explain nodepool.spec.disruption")
    assert "GROUP:      karpenter.sh" in explained
    assert "enum: WhenEmpty, WhenEmptyOrUnderutilized" in explained
    assert re.search(r"^      requirements\t<\[\]Object>", kubectl("explain nodepool.spec --recursive"), re.MULTILINE)
    assert 'field "nope" does not exist' in kubectl.fails("explain pod.nope")


def test_the_server_says_what_it_is_and_serves(kubectl: Kubectl) -> None:
    assert re.search(r"Server Version: v1\.\d+", kubectl("version"))
    assert "control plane" in kubectl("cluster-info")
    assert {"v1", "apps/v1", "karpenter.sh/v1", "policy/v1"} <= set(kubectl("api-versions").split())
    resources = kubectl("api-resources -o wide")
    assert re.search(r"^pods +po +v1 +true +Pod +create,delete,deletecollection,get,list,patch,update,watch +all$",
                     resources, re.MULTILINE)  # fmt: skip
    assert "nodepools.karpenter.sh" in kubectl("api-resources --api-group=karpenter.sh --namespaced=false -o name")
    assert "deployments.apps" in kubectl("api-resources --categories=all --verbs=list -o name")
    assert kubectl("get --raw /readyz") == "ok"
    assert json.loads(kubectl("get --raw /version"))["major"] == "1"
    metrics = kubectl("get --raw /metrics")
    assert re.search(r'^apiserver_request_total\{.*code="200".*verb="GET".*\} \d+', metrics, re.MULTILINE)
    assert 'doesn\'t have a resource type "unicorns"' in kubectl.fails("get unicorns")


def test_without_rbac_everything_is_allowed(kubectl: Kubectl) -> None:
    assert kubectl("auth can-i delete nodes") == "yes\n"
    assert kubectl("auth can-i '*' '*' --all-namespaces") == "yes\n"
    assert "system:masters" in kubectl("auth whoami")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """An API server that asks Roles, and nothing else."""
    with running_cluster(tmp_path_factory.mktemp("guarded"), "--rbac", "--no-world") as kubectl:
        yield kubectl


def test_with_rbac_a_service_account_may_do_what_its_roles_say(guarded: Kubectl) -> None:
    guarded("create serviceaccount robot")
    robot = "--as=system:serviceaccount:default:robot"
    assert guarded.run(f"auth can-i list pods {robot}").stdout == "no\n"
    guarded("create role reader --verb=get,list --resource=pods")
    guarded("create rolebinding readers --role=reader --serviceaccount=default:robot")
    assert guarded(f"auth can-i list pods {robot}") == "yes\n"
    assert guarded.run(f"auth can-i list pods --namespace=kube-system {robot}").stdout == "no\n"
    assert re.search(r"^pods +\[\] +\[\] +\[get list\]$", guarded(f"auth can-i --list {robot}"), re.MULTILINE)

    token = guarded("create token robot").strip()
    config = guarded.kubeconfig.with_name("robot")
    config.write_text(re.sub(r"token: .*", f"token: {token}", guarded.kubeconfig.read_text()))
    assert Kubectl(config)("get pods") == ""
    assert Kubectl(config).fails("get nodes") == (
        'Error from server (Forbidden): nodes is forbidden: User "system:serviceaccount:default:robot" cannot list '
        'resource "nodes" in API group "" at the cluster scope\n'
    )
    config.write_text(re.sub(r"token: .*", "token: nonsense", guarded.kubeconfig.read_text()))
    assert Kubectl(config).fails("get pods").endswith("error: You must be logged in to the server (Unauthorized)\n")

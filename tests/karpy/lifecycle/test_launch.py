from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.labels import CORE_LABELS
from karpy.lifecycle.launch import choices, new_claim
from karpy.lifecycle.registration import registration_patch
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.templatehash import template_hash
from karpy.resources import Resources
from karpy.scheduling.plan import Launch
from karpy.testing import make_instance_type, make_instance_types, make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

DEDICATED = {"key": "dedicated", "effect": "NoSchedule"}
BOOT = {"key": "boot", "effect": "NoExecute"}
BEARS = {"tolerations": [{"operator": "Exists"}]}


def launch(*, pod: dict[str, Any] | None = None, **pool: Any) -> Launch:
    (found,) = plan_of(make_nodepool(**pool), pod or make_pod(requests={"cpu": "3"}, spec=BEARS)).launches
    return found


def claim(**arguments: Any) -> dict[str, Any]:
    return new_claim(launch(**arguments), CORE_LABELS)


@pytest.mark.core("CORE-369", "CORE-370")
def test_a_claim_belongs_to_its_pool_and_is_named_after_it() -> None:
    made = claim(name="blue")
    assert made["metadata"]["generateName"] == "blue-"
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "name": "blue",
            "uid": "blue-uid",
            "blockOwnerDeletion": True,
        }
    ]
    assert made["spec"]["nodeClassRef"] == {"group": "test.karpy.dev", "kind": "TestNodeClass", "name": "default"}
    assert made["metadata"]["labels"] == {"karpenter.sh/nodepool": "blue", "test.karpy.dev/testnodeclass": "default"}


def test_what_the_pool_gives_to_its_nodes_is_on_the_claim() -> None:
    made = claim(
        labels={"team": "a"},
        taints=[DEDICATED],
        startup_taints=[{"key": "boot", "effect": "NoExecute"}],
        template={"expireAfter": "24h", "terminationGracePeriod": "90s"},
    )
    assert made["metadata"]["labels"]["team"] == "a"
    assert made["spec"]["taints"] == [DEDICATED]
    assert made["spec"]["startupTaints"] == [{"key": "boot", "effect": "NoExecute"}]
    assert (made["spec"]["expireAfter"], made["spec"]["terminationGracePeriod"]) == ("24h", "1m30s")


def test_a_kubelet_block_of_the_pool_goes_with_the_claim() -> None:
    made = claim(template={"kubelet": {"maxPods": 30, "clusterDNS": ["10.0.0.10"]}})
    assert made["metadata"]["annotations"][labels.KUBELET_CONVERSION] == '{"clusterDNS":["10.0.0.10"],"maxPods":30}'
    assert labels.KUBELET_CONVERSION not in claim()["metadata"]["annotations"]


@pytest.mark.core("CORE-314")
def test_a_grace_period_that_nobody_set_is_not_set() -> None:
    assert "terminationGracePeriod" not in claim()["spec"]


@pytest.mark.core("CORE-237", "CORE-240", "CORE-358", "CORE-359", "CORE-360", "CORE-361")
@pytest.mark.parametrize(
    "key",
    [
        "team",
        "example.com/team",
        "sub.example.com/team",
        "kubernetes.io/team",
        "node.kubernetes.io/team",
        "kops.k8s.io/team",
    ],
)
def test_what_the_template_says_is_on_the_node_once_it_joined(key: str) -> None:
    template = {"metadata": {"annotations": {key: "note"}, "labels": {key: "a"}}}
    pool = make_nodepool(taints=[DEDICATED], startup_taints=[BOOT])
    pool["spec"]["template"] |= template
    (found,) = plan_of(pool, make_pod(spec={**BEARS, "nodeSelector": {key: "a"}})).launches
    made = new_claim(found, CORE_LABELS)
    made["metadata"]["name"] = "m"
    joined = Node.from_dict(make_node("m"))
    patch = registration_patch(NodeClaim.from_dict(made), joined)
    assert patch["metadata"]["labels"][key] == "a"
    assert patch["metadata"]["annotations"][key] == "note"
    assert patch["spec"]["taints"] == [DEDICATED, BOOT]  # and nothing of what pods bear


@pytest.mark.core("CORE-365")
def test_what_pool_and_pods_ask_for_are_its_requirements() -> None:
    terms = [
        selector(labels.ZONE, "NotIn", "zone-c"),
        selector("team", "In", "a", "b"),
        selector("tier", "DoesNotExist"),
    ]
    affinity = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}}
    made = claim(
        requirements=[
            selector("team", "NotIn", "b"),
            selector(labels.CAPACITY_TYPE, "In", "spot"),
            selector("rank", "Gt", "3"),
        ],
        pod=make_pod(spec={**spec, "nodeSelector": {labels.ARCH: "amd64"}}),
    )
    wanted = {entry.pop("key"): entry for entry in made["spec"]["requirements"]}
    assert wanted.pop(labels.INSTANCE_TYPE)["values"] == ["c1", "c16", "c2", "c4", "c8"]
    assert wanted == {
        labels.NODEPOOL: {"operator": "In", "values": ["default"]},
        "test.karpy.dev/testnodeclass": {"operator": "In", "values": ["default"]},
        labels.ZONE: {"operator": "NotIn", "values": ["zone-c"]},
        labels.ARCH: {"operator": "In", "values": ["amd64"]},
        labels.CAPACITY_TYPE: {"operator": "In", "values": ["spot"]},
        "team": {"operator": "In", "values": ["a"]},
        "tier": {"operator": "DoesNotExist"},
        "rank": {"operator": "Gte", "values": ["4"]},
    }


@pytest.mark.core("CORE-364", "CORE-366", "CORE-368", "CORE-371")
def test_the_types_that_are_on_offer_are_its_requirement() -> None:
    made = claim(requirements=[selector(labels.ARCH, "In", "arm64")])
    wanted = {entry["key"]: entry for entry in made["spec"]["requirements"]}
    assert wanted[labels.INSTANCE_TYPE]["values"] == ["a16", "a4", "a8"]
    assert wanted[labels.ARCH]["values"] == ["arm64"]
    assert made["spec"]["resources"]["requests"] == {"cpu": "3", "pods": "1"}


@pytest.mark.core("CORE-362")
@pytest.mark.parametrize(
    ("requirement", "value"),
    [
        (selector("team", "In", "b", "a"), "a"),
        (selector("team", "Exists"), "0"),
        (selector("team", "NotIn", "0", "1"), "2"),
        (selector("team", "Gt", "7"), "8"),
        (selector("team", "DoesNotExist"), None),
        (selector("team", "Lt", "0"), "-1"),
        (selector(labels.ZONE, "In", "zone-a"), None),
    ],
)
def test_labels_that_nobody_else_decides_get_a_value(requirement: dict[str, Any], value: str | None) -> None:
    assert claim(requirements=[requirement])["metadata"]["labels"].get("team") == value


@pytest.mark.parametrize("operator", ["NotIn", "DoesNotExist"])
def test_labels_that_pods_only_do_not_want_are_not_put_there(operator: str) -> None:
    term = {"matchExpressions": [selector("team", operator, *(["a"] if operator == "NotIn" else []))]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    made = claim(pod=make_pod(spec={"affinity": {"nodeAffinity": required}}))
    assert "team" not in made["metadata"]["labels"]


def test_bounds_that_exclusions_leave_nothing_of_give_no_label() -> None:
    nothing = [selector("team", "Gte", "1"), selector("team", "Lte", "2"), selector("team", "NotIn", "1", "2")]
    assert "team" not in claim(requirements=nothing)["metadata"]["labels"]


def test_a_claim_can_be_read_back() -> None:
    planned = launch()
    read = NodeClaim.from_dict(new_claim(planned, CORE_LABELS))
    assert read.requests == planned.requests
    assert read.pool == "default"


def test_choices_are_what_the_claim_allows_by_price() -> None:
    read = NodeClaim.from_dict(claim())
    found = choices(read, make_instance_types())
    assert [t.name for t in found] == ["a4", "c4", "a8", "c8", "a16", "c16"]


def test_types_that_sold_out_since_are_no_choice() -> None:
    read = NodeClaim.from_dict(claim(requirements=[selector(labels.ZONE, "In", "zone-x", "zone-a")]))
    assert choices(read, ()) == ()


# Offerings that give another machine than the type says, and overlays

DEVICE = "acme.com/device"
WITH_DEVICE = Offering("zone-b", "on-demand", 2.0, capacity_override=Resources({DEVICE: 1}))
MIXED = make_instance_type("mixed", offerings=[Offering("zone-a", "on-demand", 1.0), WITH_DEVICE])


def test_of_a_type_that_holds_the_pods_in_some_offerings_only_these_are_offered() -> None:
    asking = make_pod(requests={DEVICE: "1"})
    (planned,) = plan_of(make_nodepool(), asking, types=[MIXED]).launches
    (chosen,) = choices(NodeClaim.from_dict(new_claim(planned, CORE_LABELS)), [MIXED])
    assert chosen.offerings == (WITH_DEVICE,)
    (planned,) = plan_of(make_nodepool(), make_pod(), types=[MIXED]).launches
    assert choices(NodeClaim.from_dict(new_claim(planned, CORE_LABELS)), [MIXED]) == (MIXED,)


def marks(*types: InstanceType) -> dict[str, str]:
    pool = make_nodepool()
    pool["spec"]["template"]["metadata"]["annotations"] = {"team": "a"}
    (planned,) = plan_of(pool, make_pod(), types=types).launches
    found: dict[str, str] = new_claim(planned, CORE_LABELS)["metadata"]["annotations"]
    always = (labels.MIN_VALUES_RELAXED, labels.NODEPOOL_HASH, labels.NODEPOOL_HASH_VERSION)
    return {key: value for key, value in found.items() if key not in always}


def test_a_claim_carries_the_hash_of_the_template_that_it_was_made_from() -> None:
    pool = make_nodepool(labels={"team": "a"})
    (planned,) = plan_of(pool, make_pod(), types=[make_instance_type("plain")]).launches
    found = new_claim(planned, CORE_LABELS)["metadata"]["annotations"]
    assert found[labels.NODEPOOL_HASH] == template_hash(NodePool.from_dict(pool))
    assert found[labels.NODEPOOL_HASH_VERSION] == "v3"


def test_a_claim_says_that_overlays_had_a_say_in_what_is_on_offer() -> None:
    plain = make_instance_type("plain")
    overlaid = attrs.evolve(plain.offerings[0], price_overlaid=True)
    assert marks(plain) == {"team": "a"}
    assert marks(plain, attrs.evolve(plain, name="dearer", offerings=(overlaid,))) == {
        "team": "a",
        "karpenter.sh/price-overlay-applied": "true",
    }
    assert marks(attrs.evolve(plain, capacity_overlaid=True)) == {
        "team": "a",
        "karpenter.sh/capacity-overlay-applied": "true",
    }


ONE_SPOT_ZONE = [Offering("zone-a", labels.ON_DEMAND, 1.0), Offering("zone-b", labels.SPOT, 0.5)]
SOLD_OUT = [Offering("zone-a", labels.ON_DEMAND, 1.0), Offering("zone-b", labels.SPOT, 0.5, available=False)]


@pytest.mark.parametrize(
    ("offerings", "wanted", "bought_as"),
    [
        (ONE_SPOT_ZONE, {}, ["on-demand", "spot"]),
        (ONE_SPOT_ZONE, {labels.ZONE: "zone-b"}, ["spot"]),
        (ONE_SPOT_ZONE, {labels.CAPACITY_TYPE: "on-demand"}, ["on-demand"]),
        (SOLD_OUT, {}, ["on-demand"]),
    ],
)
def test_a_claim_says_as_what_its_types_could_be_had(
    offerings: list[Offering], wanted: dict[str, str], bought_as: list[str]
) -> None:
    types = [make_instance_type("small", cpu="4", offerings=offerings)]
    pod = make_pod(requests={"cpu": "1"}, spec={"nodeSelector": wanted})
    (found,) = plan_of(make_nodepool(), pod, types=types).launches
    requirements = new_claim(found, CORE_LABELS)["spec"]["requirements"]
    (told,) = (each for each in requirements if each["key"] == labels.CAPACITY_TYPE)
    assert (told["operator"], told["values"]) == ("In", bought_as)

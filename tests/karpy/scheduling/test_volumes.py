from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.volumes import UnsupportedVolumes
from karpy.objects.volumes import BIND_COMPLETED
from karpy.scheduling.plan import Launch, Plan, RefusalKind
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

Json = dict[str, Any]
CSI = "ebs.csi.aws.com"


def storage_class(
    name: str = "fast", *topologies: Json, mode: str = "WaitForFirstConsumer", default: bool = False, created: str = ""
) -> Json:
    marks = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    terms = [{"matchLabelExpressions": [{"key": k, "values": v} for k, v in term.items()]} for term in topologies]
    metadata = {"name": name, "annotations": marks, **({"creationTimestamp": created} if created else {})}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
    return {**head, "provisioner": CSI, "volumeBindingMode": mode, "allowedTopologies": terms}


def claim(name: str = "data", *, of: str | None = "fast", volume: str = "", bound: bool = True, **more: Any) -> Json:
    marks = {BIND_COMPLETED: "yes"} if volume and bound else {}
    metadata = {"name": name, "namespace": "default", "annotations": marks}
    spec = {"volumeName": volume, **({"storageClassName": of} if of else {})}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, **more}


def volume(name: str, *terms: Sequence[Json], **source: Any) -> Json:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    spec = {"nodeAffinity": {"required": required}, **(source or {"csi": {"driver": CSI}})}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def leaving(given: Json) -> Json:
    return {**given, "metadata": {**given["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def zone(*names: str) -> Json:
    return selector(labels.ZONE, "In", *names)


def using(*claims: str, name: str = "pod", **pod: Any) -> Json:
    disks = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return make_pod(name, spec={"volumes": disks, **pod.pop("spec", {})}, **pod)


def ephemeral(name: str, of: str | None = None) -> Json:
    spec = {"storageClassName": of} if of else {}
    return make_pod(name, spec={"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]})


def disk_node(name: str, most: int) -> tuple[Json, Json]:
    drivers = [{"name": CSI, "nodeID": name, "allocatable": {"count": most}}]
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode"}
    return make_node(name), {**head, "metadata": {"name": name}, "spec": {"drivers": drivers}}


def zones(launch: Launch) -> set[str]:
    held = launch.requirements.get(labels.ZONE)
    return set(held.values) if held is not None else set()


def reason(plan: Plan) -> str:
    (part,) = plan.unschedulable
    return part.reason


# Where disks are, or may be made


@pytest.mark.core("CORE-109")
def test_a_pod_goes_to_where_its_disk_is() -> None:
    objects = [claim(volume="v"), volume("v", [zone("zone-c")]), using("data"), make_pod("other")]
    plan = plan_of(make_nodepool(), *objects)
    assert [zones(launch) for launch in plan.launches if "default/pod" in launch.pods] == [{"zone-c"}]


def test_pods_that_differ_by_their_disk_alone_go_each_to_its_own() -> None:
    objects = [claim(f"d{z}", volume=f"v{z}") for z in "ab"] + [volume(f"v{z}", [zone(f"zone-{z}")]) for z in "ab"]
    plan = plan_of(make_nodepool(), *objects, *(using(f"d{z}", name=f"p{z}") for z in "ab"))
    assert {launch.pods: zones(launch) for launch in plan.launches} == {
        ("default/pa",): {"zone-a"},
        ("default/pb",): {"zone-b"},
    }


@pytest.mark.core("CORE-111")
def test_a_disk_that_is_still_to_be_made_goes_with_the_pod_to_where_its_class_allows() -> None:
    one_of = storage_class("fast", {labels.ZONE: ["zone-b", "zone-c"]})
    (launch,) = plan_of(make_nodepool(), one_of, claim(), using("data")).launches
    assert zones(launch) == {"zone-b", "zone-c"}
    assert len(plan_of(make_nodepool(), storage_class(), claim(), using("data")).launches) == 1


@pytest.mark.core("CORE-111")
def test_of_several_topologies_one_that_can_be_reached_is_enough() -> None:
    either = storage_class("fast", {labels.ZONE: ["elsewhere"]}, {labels.ZONE: ["zone-b"]})
    (launch,) = plan_of(make_nodepool(), either, claim(), using("data")).launches
    assert zones(launch) == {"zone-b"}
    pod = using("data", spec={"nodeSelector": {labels.ZONE: "zone-a"}})
    assert plan_of(make_nodepool(), either, claim(), pod).launches == ()


def test_a_pod_may_have_many_disks_that_can_each_be_made_in_several_places() -> None:
    names = [f"disk-{number}" for number in range(40)]
    anywhere = storage_class("fast", *({labels.ZONE: [name]} for name in ("zone-a", "zone-b", "zone-x")))
    only_b = storage_class("slow", {labels.ZONE: ["zone-b"]})
    claims = [*map(claim, names), claim("last", of="slow")]
    (launch,) = plan_of(make_nodepool(), anywhere, only_b, *claims, using(*names, "last")).launches
    assert launch.requirements[labels.ZONE].values == {"zone-b"}


@pytest.mark.core("CORE-112")
def test_several_disks_must_be_reached_from_one_place() -> None:
    objects = [
        *(claim("a", volume="va"), claim("b", volume="vb"), using("a", "b")),
        *(volume("va", [zone("zone-a")], [zone("zone-b")]), volume("vb", [zone("zone-b")], [zone("zone-c")])),
    ]
    (launch,) = plan_of(make_nodepool(), *objects).launches
    assert zones(launch) == {"zone-b"}
    apart = [claim("b", volume="vb"), volume("vb", [zone("zone-c")])]
    assert plan_of(make_nodepool(), *objects, *apart).launches == ()


@pytest.mark.core("CORE-110")
@pytest.mark.parametrize("source", [{"local": {"path": "/x"}}, {"hostPath": {"path": "/x"}}])
def test_the_host_of_a_local_disk_does_not_pin_its_pod(source: Json) -> None:
    pinned = [selector(labels.HOSTNAME, "In", "gone")]
    objects = [claim(volume="v"), using("data")]
    assert len(plan_of(make_nodepool(), *objects, volume("v", pinned, **source)).launches) == 1
    (launch,) = plan_of(make_nodepool(), *objects, volume("v", [*pinned, zone("zone-b")], **source)).launches
    assert zones(launch) == {"zone-b"}
    assert plan_of(make_nodepool(), *objects, volume("v", pinned)).launches == ()


def test_nodes_that_exist_are_asked_too() -> None:
    nodes = [make_node(f"n-{z}", labels={labels.ZONE: f"zone-{z}"}) for z in "ab"]
    plan = plan_of(make_nodepool(), *nodes, claim(volume="v"), volume("v", [zone("zone-b")]), using("data"))
    assert [nomination.node for nomination in plan.nominations] == ["n-b"]


@pytest.mark.core("CORE-206")
def test_where_a_disk_is_does_not_narrow_what_spread_counts() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": labels.ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 3,
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    running = [make_pod(f"r{z}", node=f"n-{z}", labels={"app": "web"}) for z in "abc"]
    nodes = [make_node(f"n-{z}", labels={labels.ZONE: f"zone-{z}"}, room={"cpu": "0", "pods": "1"}) for z in "abc"]
    pod = using("data", labels={"app": "web"}, spec={"topologySpreadConstraints": [constraint]})
    plan = plan_of(make_nodepool(), *nodes, *running, claim(volume="v"), volume("v", [zone("zone-b")]), pod)
    assert [zones(launch) for launch in plan.launches] == [{"zone-b"}]


# Disks that nothing can be done about


@pytest.mark.core("CORE-119", "CORE-120", "CORE-121", "CORE-122", "CORE-123", "CORE-374", "CORE-376", "CORE-378")
@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([], '"data" not found'),
        ([claim()], "storage class not found"),
        ([claim(of=None)], "must define a storage class"),
        ([claim(), storage_class(mode="Immediate")], "immediate volume binding mode must be bound"),
        ([claim(volume="v")], 'persistentvolumes "v" not found'),
        ([claim(volume="v", bound=False), volume("v")], "considered unbound"),
        ([claim(volume="v"), leaving(volume("v"))], "persistentvolume is being deleted"),
        ([claim(), storage_class()], ""),
        ([claim(status={"phase": "Lost"}), storage_class()], "non-existent persistentvolume"),
        ([leaving(claim()), storage_class()], "persistentvolumeclaim is being deleted"),
    ],
)
def test_a_pod_whose_disk_is_not_in_order_waits_with_the_reason(objects: list[Json], words: str) -> None:
    plan = plan_of(make_nodepool(), *objects, using("data"), make_pod("other"))
    if words:
        assert words in reason(plan)
    assert plan.placed == 1 + (not words)


# Disks that no machine can use


def refused(*objects: Json, unsupported: UnsupportedVolumes) -> Plan:
    """The plan for a cluster whose cloud cannot use such volumes."""
    snapshot = Snapshot.from_objects([make_nodepool(), *objects, make_pod("other")])
    catalog = attrs.evolve(make_catalog(snapshot), unsupported_volumes=unsupported)
    plan = solve(snapshot, catalog)
    assert plan.placed == len(snapshot.pending) - len(plan.unschedulable)
    return plan


OTHER_DRIVER = UnsupportedVolumes(provisioners=frozenset({CSI}))
OTHER_LABEL = UnsupportedVolumes(topology_keys=frozenset({"acme.com/room"}))
IN_ROOM = storage_class("fast", {"acme.com/room": ["1"]})


@pytest.mark.core("CORE-116", "CORE-117", "CORE-118")
@pytest.mark.parametrize(
    ("objects", "unsupported", "text"),
    [
        (
            [claim(), storage_class()],
            OTHER_DRIVER,
            f"provisioner is not supported (PersistentVolumeClaim=default/data, Provisioner={CSI}, StorageClass=fast)",
        ),
        (
            [claim(volume="v"), volume("v"), storage_class()],
            OTHER_DRIVER,
            f"provisioner is not supported (PersistentVolumeClaim=default/data, Provisioner={CSI}, StorageClass=fast)",
        ),
        (
            [claim(of=None, volume="v"), volume("v", awsElasticBlockStore={"volumeID": "v"})],
            OTHER_DRIVER,
            f"provisioner is not supported (PersistentVolumeClaim=default/data, Provisioner={CSI}, StorageClass=)",
        ),
        (
            [claim(), IN_ROOM],
            OTHER_LABEL,
            (
                "storage class uses unsupported topology key "
                "(PersistentVolumeClaim=default/data, StorageClass=fast, TopologyKey=acme.com/room)"
            ),
        ),
    ],
)
def test_a_disk_that_no_machine_can_use_keeps_its_pod_waiting(
    objects: list[Json], unsupported: UnsupportedVolumes, text: str
) -> None:
    (part,) = refused(*objects, using("data"), unsupported=unsupported).unschedulable
    assert part.reason == f"failed to validate pvc, {text}"
    assert part.kind is RefusalKind.VOLUME


def test_an_ephemeral_disk_that_no_machine_can_use_does_too() -> None:
    for given, unsupported in ((storage_class(), OTHER_DRIVER), (IN_ROOM, OTHER_LABEL)):
        assert "default/pod-scratch" in reason(refused(given, ephemeral("pod", "fast"), unsupported=unsupported))


def test_what_is_supported_is_not_refused() -> None:
    objects = [claim(volume="v"), volume("v", csi={"driver": "other"}), using("data")]
    for unsupported in (OTHER_DRIVER, OTHER_LABEL):
        assert refused(IN_ROOM, *objects, unsupported=unsupported).unschedulable == ()


# Ephemeral disks


@pytest.mark.core("CORE-113", "CORE-114", "CORE-115")
def test_an_ephemeral_disk_is_made_by_its_class_or_by_the_newest_default() -> None:
    classes = [
        storage_class("a", {labels.ZONE: ["zone-a"]}, default=True, created="2026-01-01T00:00:00Z"),
        storage_class("b", {labels.ZONE: ["zone-b"]}, default=True, created="2026-01-02T00:00:00Z"),
        storage_class("c", {labels.ZONE: ["zone-c"]}, created="2026-01-03T00:00:00Z"),
    ]
    for asked, where in ((None, "zone-b"), ("a", "zone-a"), ("c", "zone-c")):
        (launch,) = plan_of(make_nodepool(), *classes, ephemeral("pod", asked)).launches
        assert zones(launch) == {where}
    assert "no storage class" in reason(plan_of(make_nodepool(), classes[2], ephemeral("pod")))


# How many disks a node holds


@pytest.mark.core("CORE-106")
def test_a_node_that_holds_no_more_disks_sends_pods_to_a_new_one() -> None:
    claims = [claim(f"d{n}") for n in range(4)]
    running = using("d0", name="running", node="n")
    pods = [using(f"d{n}", name=f"p{n}") for n in (1, 2, 3)]
    plan = plan_of(make_nodepool(), *disk_node("n", 2), storage_class(), *claims, running, *pods, make_pod("none"))
    assert [len(nomination.pods) for nomination in plan.nominations] == [2]
    assert [len(launch.pods) for launch in plan.launches] == [2]


@pytest.mark.core("CORE-107")
def test_one_disk_that_pods_share_counts_once() -> None:
    pods = [using("d", name=f"p{n}") for n in range(5)]
    plan = plan_of(make_nodepool(), *disk_node("n", 1), storage_class(), claim("d"), *pods)
    assert [len(nomination.pods) for nomination in plan.nominations] == [5]


@pytest.mark.core("CORE-124", "CORE-125")
def test_ephemeral_and_older_kinds_of_disks_count_against_the_same_driver() -> None:
    older = volume("v", [zone("zone-a")], awsElasticBlockStore={"volumeID": "x"})
    node, limit = disk_node("n", 1)
    node["metadata"]["labels"][labels.ZONE] = "zone-a"
    running = using("data", name="running", node="n")
    objects = [make_nodepool(), node, limit, claim(volume="v"), older, running]
    in_tree = {**storage_class(default=True), "provisioner": "kubernetes.io/aws-ebs"}
    assert plan_of(*objects, in_tree, ephemeral("pod")).nominations == ()


@pytest.mark.core("CORE-108")
def test_disks_without_a_driver_have_no_limit() -> None:
    nfs = volume("v", nfs={"server": "x"})
    plan = plan_of(make_nodepool(), *disk_node("n", 0), claim(volume="v"), nfs, using("data"))
    assert [nomination.node for nomination in plan.nominations] == ["n"]

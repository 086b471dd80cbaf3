"""The judge of ports and disks is judged: what a node cannot give must not pass."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects.volumes import BIND_COMPLETED
from karpy.testing import make_pod, selector
from tests.test_judge_around import Case

Json = dict[str, Any]


def taking(port: int, protocol: str = "TCP", ip: str = "") -> Json:
    given = {"hostPort": port, "protocol": protocol, "hostIP": ip}
    return {"containers": [{"name": "main", "ports": [given]}]}


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (taking(80), taking(80), True),
        (taking(80), taking(81), False),
        (taking(80), taking(80, "UDP"), False),
        (taking(80), taking(80, ip="10.0.0.1"), True),
        (taking(80, ip="::"), taking(80, ip="10.0.0.1"), True),
        (taking(80, ip="10.0.0.2"), taking(80, ip="10.0.0.1"), False),
    ],
)
@pytest.mark.parametrize("runs", [True, False])
def test_a_port_given_twice_is_found(one: Json, other: Json, clash: bool, runs: bool) -> None:
    case = Case(make_pod("r", node="a" if runs else "", spec=one), make_pod("p", spec=other))
    assert bool(case.put(a=["p"] if runs else ["p", "r"])) is clash
    assert case.put(**({"b": ["p"]} if runs else {"a": ["r"], "b": ["p"]})) == []


# Disks

PV_ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [selector("topology.kubernetes.io/zone", "In", "zone-a")]}]}


def volume(name: str = "v", **source: Any) -> Json:
    spec = {"nodeAffinity": {"required": PV_ZONE_A}, **(source or {"csi": {"driver": "d"}})}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(name: str = "c", *, marks: Json | None = None, status: Json | None = None, **spec: Any) -> Json:
    metadata = {
        "name": name,
        "namespace": "default",
        **({"annotations": {BIND_COMPLETED: "yes"}} if marks is None else marks),
    }
    given = spec or {"volumeName": "v"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": given,
        **({"status": status} if status else {}),
    }


def storage_class(mode: str = "WaitForFirstConsumer", *zones: str, provisioner: str = "d") -> Json:
    topology = {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": list(zones)}]}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        "allowedTopologies": [topology] if zones else [],
    }


def using(name: str = "p", *claims: str, node: str = "") -> Json:
    disks = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims or ("c",)]
    return make_pod(name, node=node, spec={"volumes": disks})


def holding(driver: str, most: int) -> Json:
    drivers = [{"name": driver, "nodeID": "a", "allocatable": {"count": most}}]
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a"}}
    return {**head, "spec": {"drivers": drivers}}


def gone(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-01-05T09:00:00Z"}}


def test_a_disk_out_of_reach_is_found() -> None:
    case = Case(volume(), claim(), using())
    assert case.put(a=["p"]) == []
    assert any("cannot be reached" in text for text in case.put(b=["p"]))


def test_a_disk_that_cannot_be_made_there_is_found() -> None:
    case = Case(storage_class("WaitForFirstConsumer", "zone-a"), claim(storageClassName="fast"), using())
    assert case.put(a=["p"]) == []
    assert any("cannot be reached" in text for text in case.put(b=["p"]))


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [claim()],
        [gone(claim()), volume()],
        [claim(), gone(volume())],
        [claim(marks={}), volume()],
        [claim(status={"phase": "Lost"}), volume()],
        [claim(storageClassName="fast")],
        [claim(storageClassName="fast"), storage_class("Immediate")],
    ],
)
def test_a_disk_that_is_not_in_order_is_found(objects: list[Json]) -> None:
    assert any("as it is" in text for text in Case(*objects, using()).put(a=["p"]))


@pytest.mark.parametrize(
    ("driver", "source", "provisioner"),
    [
        ("d", {"csi": {"driver": "d"}}, "d"),
        ("ebs.csi.aws.com", {"awsElasticBlockStore": {"volumeID": "x"}}, "kubernetes.io/aws-ebs"),
        ("disk.csi.azure.com", {"azureDisk": {"diskName": "x"}}, "kubernetes.io/azure-disk"),
        ("pd.csi.storage.gke.io", {"gcePersistentDisk": {"pdName": "x"}}, "kubernetes.io/gce-pd"),
    ],
)
@pytest.mark.parametrize("runs", [True, False])
def test_one_disk_too_many_is_found_whatever_its_kind(driver: str, source: Json, provisioner: str, runs: bool) -> None:
    """One is there already, or comes at the same time; the other is still to be made."""
    objects = [
        *(volume(**source), claim(), claim("new", storageClassName="fast"), storage_class(provisioner=provisioner)),
        *(using("r", "c", node="a" if runs else ""), using("p", "new")),
    ]
    coming = ["p"] if runs else ["p", "r"]
    assert Case(*objects, holding(driver, 2)).put(a=coming) == []
    assert Case(*objects, holding(driver, 1)).put(a=coming)


def test_a_disk_that_two_pods_share_counts_once() -> None:
    assert Case(volume(), claim(), using("p"), using("q"), holding("d", 1)).put(a=["p", "q"]) == []

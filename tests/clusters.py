"""Small clusters in which much is going on, as API objects, and what their pools can buy: all that a solve has to do with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, InstanceTypes, Offering
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.objects.volumes import BIND_COMPLETED
from karpy.requirements import Requirement, Requirements
from karpy.state.snapshot import Nodes, Snapshot
from karpy.testing import (
    make_buffer,
    make_claim,
    make_daemon_set,
    make_instance_type,
    make_machine,
    make_node,
    make_nodepool,
    make_pod,
    make_pod_template,
    selector,
)

Json = dict[str, Any]
Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several: ``random.Random(seed).choice``, or a draw of hypothesis."""

ZONES = ("zone-a", "zone-b", "zone-c")
APPS = ("web", "db", "cache")
RACK, RESERVATION = "example.com/rack", "test.karpy.dev/reservation"
KEYS = (labels.ZONE, labels.ZONE, labels.HOSTNAME, labels.HOSTNAME, labels.CAPACITY_TYPE, "team", RACK)
GPU = {"key": "gpu", "effect": "NoSchedule"}
CSI = "ebs.csi.aws.com"
HARD, SOFT = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
TIMES = (1_767_600_000.0, 1_767_600_060.0)
LEAVING = {"deletionTimestamp": "2026-01-05T09:00:00Z"}


def any_cluster(choose: Choose) -> tuple[Snapshot, Catalog]:
    """Pools, machines at all stages and pods on them, pods that wait, disks, DaemonSets and CapacityBuffers."""
    pools = [_pool(choose, f"pool-{number}") for number in range(choose((1, 1, 2, 3)))]
    names = [pool["metadata"]["name"] for pool in pools]
    shapes = [_shape(choose) for _ in range(choose((2, 3, 5)))]
    nodes = [_machine(choose, f"n{number}", choose(names)) for number in range(choose((2, 3, 4, 6)))]
    running = [
        _running(choose, f"r{number}-{place}", f"n{number}", choose(shapes))
        for number in range(len(nodes))
        for place in range(choose((0, 1, 1, 2, 4)))
    ]
    pending = [
        make_pod(f"p{number}", created=choose(TIMES), **choose(shapes)) for number in range(choose((0, 0, 1, 3)))
    ]
    daemons = [make_daemon_set(requests={"cpu": "200m"}, spec=choose(({}, {"nodeSelector": {labels.ZONE: "zone-b"}})))]
    buffers = [make_pod_template("chunk", **shapes[0]), make_buffer("spare", template="chunk", replicas=2)]
    objects = [*pools, *(obj for each in nodes for obj in each), *running, *pending, *_disks(), *_disk_limits(choose)]
    objects += [*daemons[: choose((0, 1))], *(choose(([], [], buffers)))]
    snapshot = _assigned(choose, _marked(choose, Snapshot.from_objects(objects)))
    types = choose(CATALOGS)
    return snapshot, Catalog(dict.fromkeys(names, types), CORE_LABELS | LabelSpec(frozenset({RESERVATION})))


def _pool(choose: Choose, name: str) -> Json:
    requirements = choose(
        (
            [],
            [selector(labels.ZONE, "In", *ZONES[:2])],
            [selector("team", "In", "a", "b")],
            [selector(labels.CAPACITY_TYPE, "In", "spot", "reserved")],
            [selector(labels.INSTANCE_TYPE, "Exists", min_values=3)],
            [selector(RACK, "Exists")],
        )
    )
    return make_nodepool(
        name,
        requirements=requirements,
        taints=choose(([], [], [GPU], [{**GPU, "effect": "PreferNoSchedule"}])),
        limits=choose((None, None, {"nodes": "4"}, {"cpu": "9"}, {"cpu": "20", "memory": "60Gi"})),
        weight=choose((None, 1, 50)),
    )


def _machine(choose: Choose, name: str, pool: str) -> list[Json]:
    """A node of a pool, its claim, or a node of somebody else; some are not up yet, some are leaving."""
    kind = choose(("up", "up", "up", "up", "up", "alien", "young", "planned", "leaving", "tainted"))
    given = {labels.ZONE: choose(ZONES), labels.CAPACITY_TYPE: choose(("spot", "on-demand"))}
    given |= choose(({}, {}, {"team": choose(("a", "b"))}, {RACK: choose(("r1", "r2", "r3"))}))
    cpu = choose(("1", "2", "4", "8"))
    room = {"cpu": cpu, "memory": "16Gi", "pods": choose(("3", "20"))}
    if kind == "alien":
        return [make_node(name, labels=given, room=room)]
    more: Json = {
        "pool": pool,
        "instance_type": choose(("c1", "c4")),
        "zone": given[labels.ZONE],
        "capacity_type": given[labels.CAPACITY_TYPE],
        "room": room,
    }
    if kind == "planned":
        asked = {"resources": {"requests": {"cpu": "1", "pods": "2"}}}
        return [make_claim(name, **more, reached=choose(((), ("Launched",))), spec=asked)]
    if kind == "young":
        more["reached"] = ("Launched", "Registered")
    return list(
        make_machine(
            name,
            **more,
            node_labels=given,
            taints=[GPU] if kind == "tainted" else [],
            metadata=LEAVING if kind == "leaving" else {},
        )
    )


def _shape(choose: Choose) -> Json:
    """Arguments of ``make_pod``."""
    spec: Json = {
        "nodeSelector": choose((*([{}] * 7), {labels.ZONE: "zone-b"}, {"team": "a"}, {RACK: "r1"})),
        "tolerations": choose(([], [{"key": "gpu", "operator": "Exists"}])),
    }
    affinity = {
        kind: {strength: [_term(choose, strength)]}
        for kind, strength in (("podAffinity", choose(STRENGTHS)), ("podAntiAffinity", choose(STRENGTHS)))
        if strength
    }
    zones = choose(([], [], [], [ZONES[:1], ZONES[1:]], [ZONES[:2]]))
    if zones:
        terms = [{"matchExpressions": [selector(labels.ZONE, "In", *some)]} for some in zones]
        affinity["nodeAffinity"] = {HARD: {"nodeSelectorTerms": terms}}
    if choose((False, False, True)):
        wish = {"matchExpressions": [selector(labels.CAPACITY_TYPE, "In", "spot")]}
        affinity.setdefault("nodeAffinity", {})[SOFT] = [{"weight": 1, "preference": wish}]
    spec["affinity"] = affinity
    spec["topologySpreadConstraints"] = [_spread(choose) for _ in range(choose((0, 0, 1, 2)))]
    spec["volumes"] = choose((*([[]] * 9), [_uses("here")], [_uses("anywhere")], [_uses("lost")]))
    return {
        "labels": {"app": choose(APPS)},
        "requests": {"cpu": choose(("100m", "300m", "700m", "1500m")), "memory": choose(("0", "1Gi", "3Gi"))},
        "spec": spec,
    }


STRENGTHS = ("", "", "", "", "", HARD, SOFT)


def _term(choose: Choose, strength: str) -> Json:
    term = {"topologyKey": choose(KEYS), "labelSelector": {"matchLabels": {"app": choose(APPS)}}}
    return term if strength == HARD else {"weight": 1, "podAffinityTerm": term}


def _spread(choose: Choose) -> Json:
    return {
        "topologyKey": choose(KEYS),
        "maxSkew": choose((1, 1, 2)),
        "whenUnsatisfiable": choose(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": choose(({}, *({"matchLabels": {"app": app}} for app in APPS))),
        "nodeAffinityPolicy": choose(("Honor", "Ignore")),
        "nodeTaintsPolicy": choose(("Ignore", "Honor")),
        **choose(({}, {}, {"minDomains": 2})),
    }


def _running(choose: Choose, name: str, node: str, shape: Json) -> Json:
    """A pod on a node: of a workload, of a DaemonSet, of the node itself, or on its way out."""
    owner = choose(("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Node"))
    pod = make_pod(name, node=node, owner=owner, created=choose(TIMES), **shape)
    if choose((False, False, True)):
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": choose((80, 443))}]
    pod["metadata"] |= choose(({}, {}, {}, {}, {}, LEAVING))
    pod["metadata"]["annotations"] = choose(({}, {}, {}, {labels.DO_NOT_DISRUPT: "true"}))
    return pod


def _uses(claim: str) -> Json:
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


def _disks() -> list[Json]:
    """A disk that is in one zone, one that is still to be made, and none for the claim ``lost``."""
    core, storage = {"apiVersion": "v1"}, {"apiVersion": "storage.k8s.io/v1"}
    there = {"nodeSelectorTerms": [{"matchExpressions": [selector(labels.ZONE, "In", "zone-a")]}]}
    bound = {"name": "here", "namespace": "default", "annotations": {BIND_COMPLETED: "yes"}}
    unbound = {"name": "anywhere", "namespace": "default"}
    waits = {"provisioner": CSI, "volumeBindingMode": "WaitForFirstConsumer"}
    spec = {"nodeAffinity": {"required": there}, "csi": {"driver": CSI}}
    return [
        {**core, "kind": "PersistentVolumeClaim", "metadata": bound, "spec": {"volumeName": "v"}},
        {**core, "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec},
        {**core, "kind": "PersistentVolumeClaim", "metadata": unbound, "spec": {"storageClassName": "fast"}},
        {**storage, "kind": "StorageClass", "metadata": {"name": "fast"}, **waits},
    ]


def _disk_limits(choose: Choose) -> list[Json]:
    """Some nodes hold one disk, or none."""
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode"}
    return [
        {**head, "metadata": {"name": name}, "spec": {"drivers": [{"name": CSI, "allocatable": {"count": most}}]}}
        for name in ("n0", "n1", "n2")
        if (most := choose((None, None, 0, 1))) is not None
    ]


def _marked(choose: Choose, snapshot: Snapshot) -> Snapshot:
    """Some machines are about to be deleted, though nobody has told the API server."""
    views = (attrs.evolve(view, marked_for_deletion=choose((False,) * 7 + (True,))) for view in snapshot.nodes)
    return attrs.evolve(snapshot, nodes=Nodes(views))


def _assigned(choose: Choose, snapshot: Snapshot) -> Snapshot:
    """Some pods that wait were planned onto a machine that is there or on its way."""
    claims = [view.claim.name for view in snapshot.nodes if view.claim is not None]
    planned = {pod.metadata.uid: choose(claims) for pod in snapshot.pending if claims and choose((True, False))}
    return attrs.evolve(snapshot, assignments=planned)


# What can be bought


def _types(*, reserved: bool) -> InstanceTypes:
    return InstanceTypes(
        _type(f"{family}{cpu}", cpu, round(0.05 * cpu * factor, 4), arch, reserved=reserved and cpu == 4)
        for family, arch, factor in (("c", "amd64", 1.0), ("a", "arm64", 0.8))
        for cpu in (1, 2, 4, 8)
    )


def _type(name: str, cpu: int, price: float, arch: str, *, reserved: bool) -> InstanceType:
    kinds = {"spot": 0.4, "on-demand": 1.0}
    offerings = [Offering(zone, kind, round(price * share, 4)) for zone in ZONES for kind, share in kinds.items()]
    offerings += [_reserved(zone, price / 10, f"cr-{arch}") for zone in ZONES[:2] if reserved]
    return make_instance_type(name, cpu=str(cpu), memory=f"{4 * cpu}Gi", arch=arch, offerings=offerings)


def _reserved(zone: str, price: float, reservation: str) -> Offering:
    named = (labels.ZONE, zone), (labels.CAPACITY_TYPE, labels.RESERVED), (RESERVATION, reservation)
    return Offering(
        *(zone, labels.RESERVED, price),
        requirements=Requirements(Requirement.in_(key, value) for key, value in named),
        reservation_id=reservation,
        reservation_capacity=1,
    )


CATALOGS = tuple(_types(reserved=reserved) for reserved in (False, False, True))

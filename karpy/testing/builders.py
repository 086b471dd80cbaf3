"""Builders of objects for tests of custom controllers and providers.

`make_pod` and its like return the API's JSON, as ``kubectl get -o json`` prints it, so that one object serves everywhere:
``Snapshot.from_objects``, ``ClusterState.apply``, ``Pod.from_dict``, the cluster in memory. Whatever a parameter does not
cover goes into ``spec`` as JSON. Nothing is random: names and uids follow from the arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karpy import labels as keys
from karpy.clock import format_time
from karpy.cloud.instancetype import Catalog, InstanceType, InstanceTypes, Offering, Overhead, Price
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.objects.kinds import (
    CAPACITY_BUFFER,
    DAEMON_SET,
    DEPLOYMENT,
    NODE,
    NODE_CLAIM,
    NODE_OVERLAY,
    NODE_POOL,
    POD,
    POD_TEMPLATE,
    Kind,
)
from karpy.objects.nodeclaim import INITIALIZED, LAUNCHED, REGISTERED
from karpy.requirements import Requirement, Requirements
from karpy.resources import CPU, MEMORY, PODS, Resources
from karpy.state.snapshot import Snapshot
from karpy.testing.clock import START

__all__ = [
    "NODE_CLASS",
    "make_buffer",
    "make_catalog",
    "make_claim",
    "make_condition",
    "make_daemon_set",
    "make_instance_type",
    "make_instance_types",
    "make_machine",
    "make_node",
    "make_nodepool",
    "make_overlay",
    "make_pod",
    "make_pod_template",
    "make_workload",
    "selector",
]

Json = dict[str, Any]
Labels = Mapping[str, str]

NODE_CLASS = Kind("test.karpy.dev", "v1", "TestNodeClass", "testnodeclasses", namespaced=False)
"""The kind of node class that built pools and claims refer to."""

ZONES = ("zone-a", "zone-b", "zone-c")
SPOT_DISCOUNT = 0.4
"""A spot offering costs this share of the on-demand price."""

_ROOM: Labels = {CPU: "4", MEMORY: "16Gi", PODS: "110"}


def selector(key: str, operator: str, *values: str, min_values: int | None = None) -> Json:
    """One entry of a requirements list.

    >>> selector("topology.kubernetes.io/zone", "In", "zone-a")
    {'key': 'topology.kubernetes.io/zone', 'operator': 'In', 'values': ['zone-a']}
    """
    entry: Json = {"key": key, "operator": operator}
    if values:
        entry["values"] = list(values)
    return entry if min_values is None else {**entry, "minValues": min_values}


def make_pod(
    name: str = "pod",
    *,
    requests: Labels | None = None,
    labels: Labels | None = None,
    annotations: Labels | None = None,
    node: str = "",
    owner: str = "ReplicaSet",
    namespace: str = "default",
    created: float = START,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Json:
    """A pod that kube-scheduler gave up; or, with ``node``, one that runs there. ``owner`` is the kind of its controller."""
    waits = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}], "phase": "Pending"}
    container = {"name": "main", "image": "pause", "resources": {"requests": dict(requests or {})}}
    metadata = _metadata(name, created, labels, annotations, namespace)
    if owner:
        api_version = "v1" if owner == "Node" else "apps/v1"
        reference = {"apiVersion": api_version, "kind": owner, "name": f"{name}-owner", "uid": f"{name}-owner-uid"}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    return {
        **_head(POD),
        "metadata": metadata,
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **(spec or {})},
        "status": {**({"phase": "Running"} if node else waits), **(status or {})},
    }


def make_daemon_set(
    name: str = "daemon", *, requests: Labels | None = None, spec: Mapping[str, Any] | None = None
) -> Json:
    """A DaemonSet; ``spec`` is of its pods."""
    container = {"name": "main", "image": "pause", "resources": {"requests": dict(requests or {})}}
    return {
        **_head(DAEMON_SET),
        "metadata": _metadata(name, START, None, None, "kube-system"),
        "spec": {"template": {"metadata": {}, "spec": {"containers": [container], **(spec or {})}}},
    }


def make_pod_template(
    name: str = "template",
    *,
    requests: Labels | None = None,
    labels: Labels | None = None,
    namespace: str = "default",
    generation: int = 1,
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A PodTemplate; ``labels`` and ``spec`` are of its pods."""
    metadata = {**_metadata(name, START, None, None, namespace), "generation": generation}
    return {**_head(POD_TEMPLATE), "metadata": metadata, "template": _template(requests, labels, spec)}


def make_workload(
    name: str = "web",
    *,
    kind: Kind = DEPLOYMENT,
    replicas: int | None = None,
    requests: Labels | None = None,
    labels: Labels | None = None,
    namespace: str = "default",
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A Deployment, StatefulSet or ReplicaSet; ``labels`` and ``spec`` are of its pods."""
    scale = {} if replicas is None else {"replicas": replicas}
    return {
        **_head(kind),
        "metadata": _metadata(name, START, None, None, namespace),
        "spec": {**scale, "template": _template(requests, labels, spec)},
    }


def _template(requests: Labels | None, labels: Labels | None, spec: Mapping[str, Any] | None) -> Json:
    container = {"name": "main", "image": "pause", "resources": {"requests": dict(requests or {})}}
    return {"metadata": {"labels": dict(labels or {})}, "spec": {"containers": [container], **(spec or {})}}


def make_buffer(
    name: str = "buffer",
    *,
    template: str = "",
    workload: str = "",
    kind: Kind = DEPLOYMENT,
    namespace: str = "default",
    **spec: Any,
) -> Json:
    """A CapacityBuffer for pods like those of the PodTemplate ``template``, or of the ``workload`` of that kind."""
    refs: Json = {"podTemplateRef": {"name": template}} if template else {}
    if workload:
        refs["scalableRef"] = {"apiGroup": kind.group, "kind": kind.kind, "name": workload}
    metadata = {**_metadata(name, START, None, None, namespace), "uid": f"{namespace}-{name}-uid", "generation": 1}
    return {**_head(CAPACITY_BUFFER), "metadata": metadata, "spec": {**refs, **spec}}


def make_nodepool(
    name: str = "default",
    *,
    requirements: Iterable[Mapping[str, Any]] = (),
    labels: Labels | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    startup_taints: Sequence[Mapping[str, str]] = (),
    limits: Mapping[str, str | int] | None = None,
    weight: int | None = None,
    disruption: Mapping[str, Any] | None = None,
    template: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A NodePool (``karpenter.sh/v1``). ``template`` goes into ``spec.template.spec``, ``spec`` into ``spec``."""
    optional = {"limits": limits, "weight": weight, "disruption": disruption}
    node_spec = {
        "nodeClassRef": _node_class_ref(),
        "requirements": [dict(entry) for entry in requirements],
        "taints": [dict(taint) for taint in taints],
        "startupTaints": [dict(taint) for taint in startup_taints],
        **(template or {}),
    }
    return {
        **_head(NODE_POOL),
        "metadata": _metadata(name, START, None, None),
        "spec": {
            "template": {"metadata": {"labels": dict(labels or {})}, "spec": node_spec},
            **{key: value for key, value in optional.items() if value is not None},
            **(spec or {}),
        },
    }


def make_overlay(name: str = "overlay", **spec: Any) -> Json:
    """A NodeOverlay (``karpenter.sh/v1alpha1``) of these fields; ``requirements`` that are not given select everything."""
    given = {key: value for key, value in {"requirements": [], **spec}.items() if value is not None}
    return {**_head(NODE_OVERLAY), "metadata": _metadata(name, START, None, None), "spec": given}


def make_claim(
    name: str = "claim",
    *,
    pool: str = "default",
    instance_type: str = "",
    zone: str = ZONES[0],
    capacity_type: str = keys.ON_DEMAND,
    labels: Labels | None = None,
    room: Labels = _ROOM,
    reached: Sequence[str] = (LAUNCHED, REGISTERED, INITIALIZED),
    conditions: Sequence[Mapping[str, str]] = (),
    created: float = START,
    spec: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Json:
    """A NodeClaim that has ``reached`` these conditions; ``room`` is its capacity and what is allocatable of it.

    Once launched it has the provider id ``test:///<name>`` and the labels of its offering.
    """
    launched = LAUNCHED in reached
    offering = {keys.INSTANCE_TYPE: instance_type, keys.ZONE: zone, keys.CAPACITY_TYPE: capacity_type}
    own = {keys.NODEPOOL: pool, **({key: value for key, value in offering.items() if value} if launched else {})}
    status: Json = {"conditions": [*(make_condition(kind, created) for kind in reached), *map(dict, conditions)]}
    if launched:
        status |= {"providerID": f"test:///{name}", "capacity": dict(room), "allocatable": dict(room)}
    return {
        **_head(NODE_CLAIM),
        "metadata": {
            **_metadata(name, created, {**own, **(labels or {})}, None),
            "finalizers": [keys.TERMINATION_FINALIZER],
            **(metadata or {}),
        },
        "spec": {
            "nodeClassRef": _node_class_ref(),
            "requirements": [],
            "resources": {"requests": {}},
            **(spec or {}),
        },
        "status": status,
    }


def make_node(
    name: str = "node",
    *,
    labels: Labels | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    room: Labels = _ROOM,
    ready: bool = True,
    provider_id: str = "",
    created: float = START,
    metadata: Mapping[str, Any] | None = None,
) -> Json:
    """A node that karpy does not manage, unless ``provider_id`` is a claim's."""
    return {
        **_head(NODE),
        "metadata": {**_metadata(name, created, {keys.HOSTNAME: name, **(labels or {})}, None), **(metadata or {})},
        "spec": {"taints": [dict(taint) for taint in taints], **({"providerID": provider_id} if provider_id else {})},
        "status": {
            "capacity": dict(room),
            "allocatable": dict(room),
            "conditions": [make_condition("Ready", created, "True" if ready else "False")],
        },
    }


def make_machine(
    name: str = "machine",
    *,
    instance_type: str = "",
    node_labels: Labels | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    **claim: Any,
) -> tuple[Json, Json]:
    """A claim and the node that joined for it, both called ``name``; more arguments are those of `make_claim`."""
    owned = make_claim(name, instance_type=instance_type, **claim)
    marks = {keys.REGISTERED: REGISTERED, keys.INITIALIZED: INITIALIZED}
    reached = {condition["type"] for condition in owned["status"]["conditions"] if condition["status"] == "True"}
    node = make_node(
        name,
        labels={
            **owned["metadata"]["labels"],
            **{label: "true" for label, condition in marks.items() if condition in reached},
            **(node_labels or {}),
        },
        taints=taints,
        room=owned["status"].get("allocatable", _ROOM),
        provider_id=owned["status"].get("providerID", ""),
        metadata={"finalizers": [keys.TERMINATION_FINALIZER]},
    )
    if REGISTERED in reached:
        owned["status"]["nodeName"] = name
    return owned, node


def make_condition(type_: str, since: float = START, status: str = "True", reason: str = "") -> Json:
    """One line of ``status.conditions``, in that state since ``since``."""
    return {"type": type_, "status": status, "reason": reason or type_, "lastTransitionTime": format_time(since)}


def make_instance_type(
    name: str = "small",
    *,
    cpu: str = "2",
    memory: str = "8Gi",
    price: Price = 0.1,
    zones: Sequence[str] = ZONES,
    capacity_types: Sequence[str] = (keys.SPOT, keys.ON_DEMAND),
    arch: str = "amd64",
    resources: Labels | None = None,
    labels: Mapping[str, str | None] | None = None,
    offerings: Iterable[Offering] | None = None,
    overhead: Labels | None = None,
) -> InstanceType:
    """A machine model, with an offering in each zone as each capacity type unless ``offerings`` says otherwise.

    ``price`` is that of on-demand; ``resources`` and ``labels`` come on top of CPU, memory, 110 pods and the core's labels.
    A label that is None is one that this model does not have.
    """
    if offerings is None:
        costs = {keys.SPOT: round(price * SPOT_DISCOUNT, 6)}
        offerings = [Offering(zone, kind, costs.get(kind, price)) for zone in zones for kind in capacity_types]
    offerings = tuple(offerings)
    known: dict[str, str | None] = {keys.INSTANCE_TYPE: name, keys.ARCH: arch, keys.OS: "linux", **(labels or {})}
    bought = {
        keys.ZONE: {offering.zone for offering in offerings},
        keys.CAPACITY_TYPE: {offering.capacity_type for offering in offerings},
    }
    requirements = Requirements(
        (
            *(Requirement.in_(key, *(() if value is None else (value,))) for key, value in known.items()),
            *(Requirement.in_(key, *values) for key, values in bought.items()),
        )
    )
    return InstanceType(
        name,
        requirements,
        offerings,
        Resources.parse({CPU: cpu, MEMORY: memory, PODS: "110", **(resources or {})}),
        Overhead(Resources.parse(overhead or {})),
    )


def make_instance_types() -> InstanceTypes:
    """A catalog of ten types: 1 to 16 CPUs with 4 GiB each, as amd64 (``c1`` …) and, a little cheaper, arm64 (``a1`` …)."""
    sizes = (1, 2, 4, 8, 16)
    return InstanceTypes(
        make_instance_type(
            f"{family}{size}", cpu=str(size), memory=f"{4 * size}Gi", price=round(0.05 * size * factor, 4), arch=arch
        )
        for family, arch, factor in (("c", "amd64", 1.0), ("a", "arm64", 0.8))
        for size in sizes
    )


def make_catalog(
    snapshot: Snapshot, types: Iterable[InstanceType] | None = None, labels: LabelSpec | None = None
) -> Catalog:
    """What all pools of ``snapshot`` can buy: ``types``, or those of `make_instance_types`.

    ``labels`` are the label keys that the types define beside the core's.
    """
    shared = make_instance_types() if types is None else InstanceTypes(types)
    return Catalog(
        {pool.name: shared for pool in snapshot.pools}, CORE_LABELS if labels is None else CORE_LABELS | labels
    )


def _head(kind: Kind) -> Json:
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def _node_class_ref() -> Json:
    return {"group": NODE_CLASS.group, "kind": NODE_CLASS.kind, "name": "default"}


def _metadata(
    name: str, created: float, labels: Labels | None, annotations: Labels | None, namespace: str = ""
) -> Json:
    metadata: Json = {
        "name": name,
        "uid": f"{name}-uid",
        "resourceVersion": "1",
        "creationTimestamp": format_time(created),
    }
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return metadata

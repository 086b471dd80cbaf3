"""What manifests would be in a cluster a moment after they were applied, and before anything is launched for them.

Manifests as written by hand hold Deployments and not their pods, and pods that no scheduler has looked at. What a cluster does
about that by itself is done here, as far as nodes depend on it:

- an object without a namespace is in ``default``; one that leaves its name to the server gets a number; a pod has a uid;
- a Deployment, ReplicaSet, StatefulSet or Job has the pods that it asks for, a Deployment by a ReplicaSet. Pods in the manifests
  that its selector selects count among them, so that what ``kubectl get`` prints is not doubled;
- a container's limit stands in for a request that is missing;
- a pod without a node that no scheduler has looked at was looked at, and found no node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from karpy.errors import InvalidObject, shown, standing
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import decode, describe
from karpy.objects.podspec import PodSpec
from karpy.objects.selectors import LabelSelector
from karpy.sim.api.filling.poddefaults import default_requests
from karpy.state.cluster import ClusterState

__all__ = ["as_applied"]

_NAMESPACED = {
    (kind.group, kind.kind)
    for kind in (
        *(*ClusterState.KINDS, *ClusterState.BUFFER_KINDS),
        *(kinds.DEPLOYMENT, kinds.REPLICA_SET, kinds.STATEFUL_SET, kinds.JOB),
    )
    if kind.namespaced
}
_GIVEN_UP = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def as_applied(objects: Iterable[RawObject]) -> tuple[RawObject, ...]:
    """The objects as a cluster would hold them, with the pods of workloads.

    Raises:
        InvalidObject: a workload cannot be read; every problem is named, one a line.
    """
    known = [_named(_in_namespace(obj), number) for number, obj in enumerate(objects, 1)]
    problems: list[InvalidObject] = []
    made: list[RawObject] = []
    for kind, count in _WORKLOADS:
        for workload in known:
            if _is(workload, kind) and not _is_controlled(workload):
                try:
                    made.extend(_missing(workload, kind, count, known))
                except InvalidObject as error:
                    problems.append(error.at(object_name=describe(workload)))
    if problems:
        raise InvalidObject("\n".join(str(problem) for problem in problems))
    return tuple(_given_up(_asking(obj)) if _is(obj, kinds.POD) else obj for obj in (*known, *made))


def _is(obj: RawObject, kind: Kind) -> bool:
    return (obj["apiVersion"].rpartition("/")[0], obj["kind"]) == (kind.group, kind.kind)


def _in_namespace(obj: RawObject) -> RawObject:
    group = obj["apiVersion"].rpartition("/")[0]
    if obj["metadata"].get("namespace") or (group, obj["kind"]) not in _NAMESPACED:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}


def _named(obj: RawObject, number: int) -> RawObject:
    metadata = obj["metadata"]
    return (
        obj
        if metadata.get("name")
        else {**obj, "metadata": {**metadata, "name": f"{metadata['generateName']}{number}"}}
    )


def _is_controlled(obj: RawObject) -> bool:
    """Whether a controller made it, as a Deployment makes ReplicaSets: who stands above asks for the pods."""
    owners = _as_list(obj["metadata"].get("ownerReferences"))
    return any(_as_mapping(owner).get("controller") for owner in owners)


def _missing(
    workload: RawObject, kind: Kind, count: Callable[[RawObject], int], known: Sequence[RawObject]
) -> Iterator[RawObject]:
    """The pods that the workload asks for beyond those that are known, and the claims of their disks."""
    spec = _mapping(workload, "spec", "an object")
    template = _mapping(spec, "template", "a pod template", "spec.")
    wanted = count(workload)
    selected = _selected(workload, template, known)
    names = {obj["metadata"]["name"] for obj in selected}
    lacking = wanted - sum(1 for pod in selected if _is_active(pod))
    number = 0 if kind == kinds.STATEFUL_SET else 1
    owner = workload
    if kind == kinds.DEPLOYMENT and lacking > 0:
        owner = _replica_set(workload, template)
        yield owner
    while lacking > 0:
        name = f"{workload['metadata']['name']}-{number}"
        number += 1
        if name in names:
            continue
        lacking -= 1
        pod = _pod(owner, template, name)
        yield from _disks(workload, spec, pod, known)
        yield pod


def _replica_set(deployment: RawObject, template: Mapping[str, Any]) -> dict[str, Any]:
    """What stands between a Deployment and its pods: the pods belong together by what it selects."""
    own = _as_mapping(_as_mapping(template.get("metadata")).get("labels"))
    metadata = {field: deployment["metadata"][field] for field in ("name", "namespace")}
    return {
        "apiVersion": kinds.REPLICA_SET.api_version,
        "kind": kinds.REPLICA_SET.kind,
        "metadata": metadata,
        "spec": {"selector": deployment["spec"].get("selector") or {"matchLabels": own}},
    }


def _pod(workload: RawObject, template: Mapping[str, Any], name: str) -> dict[str, Any]:
    metadata = workload["metadata"]
    given = _mapping(template, "metadata", "an object", "spec.template.", default={})
    owner = {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "controller": True,
    }
    kept = {field: given[field] for field in ("labels", "annotations") if given.get(field)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": metadata["namespace"], **kept, "ownerReferences": [owner]},
        "spec": dict(_mapping(template, "spec", "the spec of a pod", "spec.template.")),
    }


def _disks(
    workload: RawObject, spec: Mapping[str, Any], pod: dict[str, Any], known: Sequence[RawObject]
) -> Iterator[RawObject]:
    """A StatefulSet's claims for this pod, as far as they are not known; the pod is made to use them."""
    volumes = [*_as_list(pod["spec"].get("volumes"))]
    for index, claim in enumerate(_as_list(spec.get("volumeClaimTemplates"))):
        name = _as_mapping(_as_mapping(claim).get("metadata")).get("name")
        if not isinstance(name, str) or not name:
            path = f"spec.volumeClaimTemplates[{index}].metadata.name"
            raise InvalidObject("found nothing", path=path, accepted="text that is not empty")
        metadata = {"name": f"{name}-{pod['metadata']['name']}", "namespace": workload["metadata"]["namespace"]}
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": metadata["name"]}})
        if not any(_is(obj, kinds.PERSISTENT_VOLUME_CLAIM) and _same_name(obj, metadata) for obj in known):
            yield {**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    if volumes:
        pod["spec"]["volumes"] = volumes


def _same_name(obj: RawObject, metadata: Mapping[str, str]) -> bool:
    return all(obj["metadata"].get(field) == value for field, value in metadata.items())


def _selected(workload: RawObject, template: Mapping[str, Any], known: Sequence[RawObject]) -> list[RawObject]:
    """The pods among the objects that are the workload's already: those that its selector selects."""
    own = _as_mapping(_as_mapping(template.get("metadata")).get("labels"))
    selector = _mapping(workload["spec"], "selector", "a label selector", "spec.", default={"matchLabels": own})
    try:
        selects = decode(selector, LabelSelector)
    except InvalidObject as error:
        raise error.at(path="spec.selector") from None
    if not (selects.match_labels or selects.match_expressions):
        return []
    space = workload["metadata"]["namespace"]
    return [
        obj
        for obj in known
        if _is(obj, kinds.POD)
        and obj["metadata"]["namespace"] == space
        and selects.matches(_as_mapping(obj["metadata"].get("labels")))
    ]


def _is_active(pod: RawObject) -> bool:
    finished = _as_mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")
    return not finished and not pod["metadata"].get("deletionTimestamp")


def _asking(pod: RawObject) -> RawObject:
    """A pod with the requests that the API server fills in; as it is, where its spec cannot be read."""
    try:
        decode(_as_mapping(pod.get("spec")), PodSpec)
    except InvalidObject:
        return pod
    return {**pod, "spec": default_requests(_as_mapping(pod.get("spec")))}


def _given_up(pod: RawObject) -> RawObject:
    """A pod with a uid, and with the scheduler's verdict if it waits for one."""
    metadata, spec, status = pod["metadata"], _as_mapping(pod.get("spec")), _as_mapping(pod.get("status"))
    if not metadata.get("uid"):
        pod = {**pod, "metadata": {**metadata, "uid": f"{metadata['namespace']}/{metadata['name']}"}}
    conditions = _as_list(status.get("conditions"))
    looked_at = any(_as_mapping(condition).get("type") == "PodScheduled" for condition in conditions)
    held = spec.get("nodeName") or spec.get("schedulingGates") or status.get("phase", "Pending") != "Pending"
    if looked_at or held:
        return pod
    return {**pod, "status": {**status, "phase": "Pending", "conditions": [*conditions, _GIVEN_UP]}}


def _replicas(workload: RawObject) -> int:
    return _number(workload["spec"], "replicas", 1)


def _parallelism(job: RawObject) -> int:
    """How many pods of a Job run at once: no more than completions are left."""
    spec, status = job["spec"], _as_mapping(job.get("status"))
    if spec.get("suspend") or status.get("completionTime"):
        return 0
    at_once = _number(spec, "parallelism", 1)
    if spec.get("completions") is None:
        return at_once
    done = status.get("succeeded")
    return min(at_once, _number(spec, "completions", 1) - (done if isinstance(done, int) else 0))


_WORKLOADS: Sequence[tuple[Kind, Callable[[RawObject], int]]] = (
    (kinds.DEPLOYMENT, _replicas),
    (kinds.REPLICA_SET, _replicas),
    (kinds.STATEFUL_SET, _replicas),
    (kinds.JOB, _parallelism),
)
"""Each kind, and how many pods one asks for."""


def _number(spec: Mapping[str, Any], field: str, default: int) -> int:
    found = spec.get(field)
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise InvalidObject(f"found {shown(found)}", path=f"spec.{field}", accepted="a whole number, 0 or more")
    return found


def _mapping(
    obj: Mapping[str, Any], field: str, accepted: str, path: str = "", default: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    found = obj.get(field)
    if found is None:
        found = default
    if not isinstance(found, Mapping):
        raise InvalidObject(f"found {standing(found)}", path=f"{path}{field}", accepted=accepted)
    return found


def _as_mapping(value: Any) -> Mapping[str, Any]:
    """The value, or nothing where it is no object: who reads the object afterwards says what is wrong."""
    return value if isinstance(value, Mapping) else {}


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()

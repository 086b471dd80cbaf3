"""What the workload controllers share: pods made from templates, what state a pod is in, ownership, status that is written
only when it changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from karpy.clock import format_time
from karpy.controllers.base import Request, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.api.selectors import selector_test
from karpy.sim.cache import ClusterCache, Key, controller_of, key_of
from karpy.sim.podfacts import is_active, is_deleting

__all__ = [
    "Wishes",
    "claim",
    "delete_pod",
    "is_settled",
    "make_volume_claim",
    "owner_reference",
    "owners",
    "pod_from",
    "template_hash",
    "with_condition",
    "write_status",
]

_WISHED = ("uid", "generation", "deletionTimestamp", "labels", "annotations", "ownerReferences", "finalizers")
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
_encode = msgspec.json.Encoder(order="deterministic").encode


def owner_reference(kind: Kind, owner: RawObject) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from(template: RawObject, kind: Kind, owner: RawObject, **metadata: Any) -> dict[str, Any]:
    """A pod as ``template`` describes it, owned by ``owner``; ``metadata`` must hold a name or a generateName."""
    given = template.get("metadata") or {}
    pod_metadata: dict[str, Any] = {"namespace": owner["metadata"]["namespace"], **metadata}
    for field in ("labels", "annotations", "finalizers"):
        merged = given.get(field)
        if field == "labels":
            merged = {**(merged or {}), **metadata.get("labels", {})}
        if merged:
            pod_metadata[field] = merged
    pod_metadata["ownerReferences"] = [owner_reference(kind, owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": template["spec"]}


def make_volume_claim(
    kube: KubeClient,
    template: RawObject,
    name: str,
    namespace: str,
    owners: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str] | None = None,
) -> None:
    """Create a claim as ``template`` describes it, with more ``labels``, unless there is one of that name."""
    given = template.get("metadata") or {}
    more = {
        "labels": {**(given.get("labels") or {}), **(labels or {})},
        "annotations": given.get("annotations"),
        "ownerReferences": list(owners),
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, **{field: value for field, value in more.items() if value}},
        "spec": template.get("spec") or {},
    }
    try:
        kube.create(kinds.PERSISTENT_VOLUME_CLAIM, claim, namespace)
    except KubeError as error:
        if not error.already_exists:
            raise


def template_hash(value: Any) -> str:
    """Ten letters that stand for a template; equal templates give equal letters, in every process."""
    number = 0xCBF29CE484222325
    for byte in _encode(value):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    letters = []
    for _ in range(10):
        number, index = divmod(number, len(_SAFE))
        letters.append(_SAFE[index])
    return "".join(letters)


def owners(event: WatchEvent, kind: str) -> Sequence[Request]:
    """The request for the object's controller, if that is of this kind."""
    owner = controller_of(event.object)
    if owner is None or owner["kind"] != kind:
        return ()
    return (Request(owner["name"], event.object["metadata"].get("namespace", "")),)


class Wishes:
    """Wakes for an object whenever anything but its status changed: what its controller wrote there is no news to it."""

    def __init__(self) -> None:
        self._seen: dict[Key, tuple[Any, ...]] = {}

    def requests(self, event: WatchEvent) -> Sequence[Request]:
        key, metadata = key_of(event.object), event.object["metadata"]
        if event.type is EventType.DELETED:
            self._seen.pop(key, None)
            return by_name(event)
        wish = tuple(metadata.get(name) for name in _WISHED)
        if self._seen.get(key) == wish:
            return ()
        self._seen[key] = wish
        return by_name(event)


def claim(kube: KubeClient, cache: ClusterCache, dependents: Kind, kind: Kind, owner: RawObject) -> list[RawObject]:
    """The dependents of ``owner``: those it controls and whose labels still fit; others that fit and are free it adopts."""
    metadata, fits = owner["metadata"], selector_test(owner["spec"].get("selector"))
    kept = []
    for dependent in tuple(cache.owned(dependents, metadata["uid"])):
        if fits(dependent["metadata"].get("labels") or {}):
            kept.append(dependent)
        else:
            _set_owners(kube, dependents, dependent, _without(dependent, metadata["uid"]))
    orphans = cache.orphans(dependents, metadata.get("namespace", ""))
    if is_deleting(owner) or not orphans.any_labels(fits):
        return kept
    for orphan in tuple(orphans.members.values()):
        if fits(orphan["metadata"].get("labels") or {}) and is_active(orphan):
            references = [*(orphan["metadata"].get("ownerReferences") or ()), owner_reference(kind, owner)]
            if _set_owners(kube, dependents, orphan, references):
                kept.append(orphan)
    return kept


def is_settled(cache: ClusterCache, dependents: Kind, owner: RawObject) -> bool:
    """Whether `claim` has nothing to do: all that ``owner`` controls fits, and nothing that is free does."""
    metadata, fits = owner["metadata"], selector_test(owner["spec"].get("selector"))
    if cache.crowd(dependents, metadata["uid"]).any_labels(lambda labels: not fits(labels)):
        return False
    return is_deleting(owner) or not cache.orphans(dependents, metadata.get("namespace", "")).any_labels(fits)


def _without(obj: RawObject, uid: str) -> list[Any]:
    return [each for each in obj["metadata"]["ownerReferences"] if each.get("uid") != uid]


def _set_owners(kube: KubeClient, kind: Kind, obj: RawObject, references: list[Any]) -> bool:
    metadata = obj["metadata"]
    patch = {
        "metadata": {"resourceVersion": metadata["resourceVersion"], "ownerReferences": references or None},
    }
    try:
        kube.patch(kind, metadata["name"], patch, metadata.get("namespace", ""))
    except KubeError as error:
        if error.not_found or error.conflict:
            return False
        raise
    return True


def delete_pod(kube: KubeClient, pod: RawObject) -> bool:
    """Ask for the pod's graceful end; False when it is gone already."""
    metadata = pod["metadata"]
    try:
        kube.delete(kinds.POD, metadata["name"], metadata["namespace"], uid=metadata["uid"])
    except KubeError as error:
        if error.not_found or error.conflict:
            return False
        raise
    return True


def write_status(
    kube: KubeClient,
    kind: Kind,
    obj: RawObject,
    wanted: Mapping[str, Any],
    optional: Iterable[str] = (),
    *,
    is_tied: bool = False,
) -> RawObject | None:
    """Patch the status fields that differ. ``optional`` fields are left out of the object while they are zero.

    Returns the object as it is now, if anything was written.

    Raises:
        KubeError: of those that are no answer to the object being gone; 409 if it ``is_tied`` to the version that was read, and is
            another by now.
    """
    present, left_out = obj.get("status") or {}, frozenset(optional)
    changed = {}
    for key, value in wanted.items():
        given = value or None if key in left_out else value
        if present.get(key) != given:
            changed[key] = _replacing(present.get(key), given)
    if not changed:
        return None
    metadata = obj["metadata"]
    patch: dict[str, Any] = {"status": changed}
    if is_tied:
        patch["metadata"] = {"resourceVersion": metadata["resourceVersion"]}
    try:
        return kube.patch(kind, metadata["name"], patch, metadata["namespace"], subresource="status")
    except KubeError as error:
        if not error.not_found:
            raise
        return None


def _replacing(old: Any, new: Any) -> Any:
    """A merge patch that leaves nothing of ``old`` behind."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**dict.fromkeys(old), **new}
    return new


def with_condition(
    conditions: Collection[Mapping[str, Any]],
    type_: str,
    status: str,
    reason: str,
    message: str,
    now: float,
    **more: Any,
) -> list[Mapping[str, Any]]:
    """``conditions`` with one set; its transition time moves only when its status does.

    ``more`` are fields that go with a change but do not make one.
    """
    old = next((each for each in conditions if each["type"] == type_), None)
    at = format_time(now)
    if old is not None and (old["status"], old.get("reason"), old.get("message")) == (status, reason, message):
        return list(conditions)
    new: dict[str, Any] = {
        "type": type_,
        "status": status,
        **more,
        "lastTransitionTime": old["lastTransitionTime"] if old is not None and old["status"] == status else at,
        "reason": reason,
        "message": message,
    }
    return [*(each for each in conditions if each["type"] != type_), new]

"""One object in an update, as pure functions: what the server keeps, what a subresource may touch, what counts as a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.sim.api import status
from karpy.sim.api.filling.defaults import INITIAL_STATUS, default_status
from karpy.sim.api.resources import Resource
from karpy.sim.api.status import Cause

__all__ = [
    "check_finalizers",
    "check_identity",
    "keep_member",
    "kept_metadata",
    "only_status",
    "ordered",
    "raises_generation",
    "same_content",
    "same_wish",
    "status_defaults",
    "unchanged",
]

Object = dict[str, Any]
Body = Mapping[str, Any]

_CLIENTS_OWN = ("labels", "annotations", "ownerReferences", "finalizers")
_SERVER_OWNED = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
_METADATA_THROUGH_STATUS = frozenset({("", "nodes"), ("", "pods")})
_NO_WISH = ("metadata", "status")
_ANNOTATIONS_COUNT = frozenset({("apps", "deployments")})


def ordered(resource: Resource, obj: Body) -> Object:
    """A fresh top level with ``kind`` and ``apiVersion`` first: built-in objects are encoded in that order."""
    head: Object = {"kind": resource.kind, "apiVersion": resource.api_version(resource.storage)}
    if resource.custom:
        head = {"apiVersion": head["apiVersion"], "kind": resource.kind}
    head["metadata"] = None
    for key, value in obj.items():
        if key not in ("kind", "apiVersion"):
            head[key] = value
    return head


def check_identity(resource: Resource, before: Body, sent: Body, *, patching: bool) -> None:
    """Raises:
    KubeError: the name or uid that was sent is not that of the object.
    """
    name, uid = before["name"], before["uid"]
    if sent.get("name", name) != name:
        if patching:
            cause = Cause.bad("metadata.name", f'"{sent["name"]}"', "field is immutable")
            raise status.invalid(resource, name, [cause])
        raise status.bad_request(f"the name of the object ({sent['name']}) does not match the name on the URL ({name})")
    namespace = before.get("namespace", "")
    if namespace and (sent.get("namespace") or namespace) != namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if sent.get("uid", uid) != uid:
        raise status.conflict(
            resource,
            name,
            f"StorageError: invalid object, Code: 4, Key: /registry/{_storage_key(resource, before)}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {sent['uid']}, UID in object meta: {uid}",
        )


def _storage_key(resource: Resource, meta: Body) -> str:
    head = "minions" if resource.key == ("", "nodes") else resource.plural
    return "/".join(part for part in (head, meta.get("namespace", ""), meta["name"]) if part)


def kept_metadata(before: Body, sent: Body) -> Object:
    """The metadata of an update: what the server owns from before, the rest as sent."""
    meta: Object = {"name": before["name"]}
    for key in ("generateName", "namespace"):
        if key in before:
            meta[key] = before[key]
    meta["uid"] = before["uid"]
    meta["resourceVersion"] = before["resourceVersion"]
    for key in _SERVER_OWNED:
        if key in before:
            meta[key] = before[key]
    for key in _CLIENTS_OWN:
        if sent.get(key):
            meta[key] = sent[key]
    fields = sent.get("managedFields", before.get("managedFields"))
    if fields:
        meta["managedFields"] = fields
    return meta


def only_status(resource: Resource, before: Body, new: Object, meta: Object) -> Object:
    """A status write: everything but the status (and, for nodes and pods, labels and annotations) stays."""
    kept: Object = {**before, "metadata": meta}
    if resource.key not in _METADATA_THROUGH_STATUS:
        kept["metadata"] = dict(before["metadata"])
        if "managedFields" in meta:
            kept["metadata"]["managedFields"] = meta["managedFields"]
    keep_member(kept, new, "status")
    return kept


def keep_member(new: Object, before: Body, key: str) -> None:
    """Make ``new`` have the member that ``before`` has, or none."""
    if key in before:
        new[key] = before[key]
    else:
        new.pop(key, None)


def same_content(new: Body, before: Body) -> bool:
    """Whether two objects differ in metadata only; identity first, so that what a patch left alone costs nothing."""
    if len(new) != len(before):
        return False
    for key, value in new.items():
        if key != "metadata":
            other = before.get(key)
            if other is not value and (other is None or other != value):
                return False
    return True


def same_wish(new: Body, before: Body) -> bool:
    """Whether two objects differ in metadata and status only."""
    for key, value in new.items():
        if key not in _NO_WISH and (key not in before or (value is not before[key] and value != before[key])):
            return False
    return all(key in new or key in _NO_WISH for key in before)


def same_metadata(new: Body, before: Body) -> bool:
    """Whether two objects have the same metadata, as far as clients write it."""
    for key in _CLIENTS_OWN:
        value, other = new.get(key), before.get(key)
        if value is not other and value != other:
            return False
    return True


def raises_generation(resource: Resource, before: Body, new: Body) -> bool:
    """Whether more than metadata and status changed."""
    for key in new.keys() | before.keys():
        if (
            key not in ("metadata", "status")
            and new.get(key) is not before.get(key)
            and new.get(key) != before.get(key)
        ):
            return True
    if resource.key in _ANNOTATIONS_COUNT:
        return bool(new["metadata"].get("annotations") != before["metadata"].get("annotations"))
    return False


def status_defaults(resource: Resource, new: Object) -> Object:
    """What the server completes in a status that was written."""
    found = new.get("status")
    if found and not resource.custom:
        new["status"] = default_status(resource.key, found)
    elif found is None and resource.key in INITIAL_STATUS:
        new["status"] = INITIAL_STATUS[resource.key]
    return new


def check_finalizers(resource: Resource, before: Body, after: Body) -> None:
    """Raises:
    KubeError: 422, finalizers were added to an object that is being deleted.
    """
    added = [each for each in after.get("finalizers") or () if each not in (before.get("finalizers") or ())]
    if added:
        listed = ", ".join(f'"{each}"' for each in added)
        cause = Cause.forbidden(
            "metadata.finalizers",
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}",
        )
        raise status.invalid(resource, before["name"], [cause, cause])


def unchanged(name: str, new: Body, old: Body) -> bool:
    """Whether both objects have the member ``name``, with the same value."""
    return name in old and (new[name] is old[name] or new[name] == old[name])

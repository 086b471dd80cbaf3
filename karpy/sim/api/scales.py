"""The scale of objects: their replicas, as something that they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.errors import KubeError
from karpy.kube.client import PatchType
from karpy.sim.api import status
from karpy.sim.api.gotext import go_kind
from karpy.sim.api.merging.patches import merge_patch, patched
from karpy.sim.api.options import IN_PROCESS, WriteOptions
from karpy.sim.api.records import Record
from karpy.sim.api.resources import Resource, ResourceVersion, ScalePaths
from karpy.sim.api.selectors import selector_text
from karpy.sim.api.status import Cause
from karpy.sim.api.store import Collection, Store
from karpy.sim.api.wire.decoding import bad_patch
from karpy.sim.api.writes import Writes

__all__ = ["Scales"]

Object = dict[str, Any]
Body = Mapping[str, Any]


class Scales:
    """The scales of one store's objects."""

    def __init__(self, store: Store, writes: Writes) -> None:
        self._store = store
        self._writes = writes

    def scale(self, resource: Resource, version: ResourceVersion, name: str, namespace: str) -> Object:
        """The ``Scale`` of an object.

        Raises:
            KubeError: 404 it does not exist or has no scale, 500 a custom resource has not set its replicas.
        """
        if version.scale is None:
            raise status.no_resource()
        return _scale_of(resource, version.scale, _existing(self._store, resource, name, namespace)[1].object)

    def write_scale(
        self,
        resource: Resource,
        version: ResourceVersion,
        name: str,
        namespace: str,
        body: Any,
        patch_type: PatchType | None = None,
        options: WriteOptions = IN_PROCESS,
    ) -> Object:
        """Set the replicas through the ``Scale`` (``patch_type`` None: a PUT), and answer the new one."""
        paths = version.scale
        if paths is None:
            raise status.no_resource()
        collection, record = _existing(self._store, resource, name, namespace)
        wanted = body
        if patch_type is not None:
            current = _scale_of(resource, paths, record.object, missing=0)
            wanted = patched(
                resource, current, body, PatchType.MERGE if patch_type is PatchType.STRATEGIC else patch_type
            )
        replicas = _replicas(name, wanted, patching=patch_type is not None)
        sent = (wanted.get("metadata") or {}).get("resourceVersion")
        if sent and sent != record.object["metadata"]["resourceVersion"]:
            raise status.modified(resource, name)
        change: Any = replicas
        for step in reversed(_steps(paths.spec_replicas)):
            change = {step: change}
        after = merge_patch(record.object, change)
        if resource.custom:
            # nobody owns the replicas that are set through the scale of a custom resource
            options = attrs.evolve(options, manager="")
        record = self._writes.commit(collection, version, record, after, options, "scale")
        return _scale_of(resource, paths, record.object)


def _existing(store: Store, resource: Resource, name: str, namespace: str) -> tuple[Collection, Record]:
    collection = store.collection(resource)
    record = collection.get((namespace or "default") if resource.namespaced else "", name)
    if record is None:
        raise status.not_found(resource, name)
    return collection, record


def _replicas(name: str, scale: Body, *, patching: bool) -> int:
    """The replicas that a ``Scale`` asks for.

    Raises:
        KubeError: 400 (422 for a patch) it asks for no number; 422 for less than none.
    """
    spec = scale.get("spec") or {}
    found = spec.get("replicas", 0) if isinstance(spec, Mapping) else spec
    if not isinstance(found, int) or isinstance(found, bool):
        field = (
            "ScaleSpec.spec.replicas of type int32" if isinstance(spec, Mapping) else "Scale.spec of type v1.ScaleSpec"
        )
        why = f"json: cannot unmarshal {go_kind(found)} into Go struct field {field}"
        if patching:
            raise bad_patch(scale, why)
        raise status.bad_request(f'Scale in version "v1" cannot be handled as a Scale: {why}')
    if found < 0:
        raise _negative(name, found)
    return found


def _negative(name: str, replicas: int) -> KubeError:
    cause = Cause.bad("spec.replicas", str(replicas), "must be greater than or equal to 0")
    details = {"name": name, "group": "autoscaling", "kind": "Scale", "causes": [cause.as_object()]}
    return KubeError(
        f'Scale.autoscaling "{name}" is invalid: {cause.text}', code=422, reason="Invalid", details=details
    )


def _steps(path: str) -> list[str]:
    return path.strip(".").split(".")


def _at(obj: Any, path: str) -> Any:
    for step in _steps(path):
        obj = obj.get(step) if isinstance(obj, Mapping) else None
    return obj


def _scale_of(resource: Resource, paths: ScalePaths, obj: Body, missing: int | None = None) -> Object:
    meta = {
        key: obj["metadata"][key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in obj["metadata"]
    }
    wanted = _at(obj, paths.spec_replicas)
    if wanted is None and missing is None and resource.custom:
        raise status.internal(f'the spec replicas field "{paths.spec_replicas}" does not exist')
    found: Object = {"replicas": _at(obj, paths.status_replicas) or 0}
    if not resource.custom:
        selector = (obj.get("spec") or {}).get("selector")
        if selector is not None:
            found["selector"] = selector_text(selector)
    elif paths.selector and _at(obj, paths.selector):
        found["selector"] = _at(obj, paths.selector)
    scale: Object = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta}
    return {**scale, "spec": {"replicas": wanted if wanted is not None else missing or 0}, "status": found}

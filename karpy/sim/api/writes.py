"""Create, update and patch: what happens to an object between the client's wish and the store.

The order is the real server's: conversion to the stored version, pruning, defaults, metadata that the server owns, what the
subresource may not touch, the rules, field ownership, and then one write, or none when nothing changed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from karpy.clock import Clock, format_time
from karpy.kube.client import PatchType
from karpy.sim.api import status
from karpy.sim.api.admission import Admission
from karpy.sim.api.conversion import as_stored, as_version
from karpy.sim.api.definitions import DEFINITIONS, Definitions
from karpy.sim.api.deletion import Deletion
from karpy.sim.api.filling.defaults import default_object, initial_status
from karpy.sim.api.merging import apply
from karpy.sim.api.merging.patches import patched
from karpy.sim.api.naming import generated_name
from karpy.sim.api.objects import (
    check_finalizers,
    check_identity,
    keep_member,
    kept_metadata,
    only_status,
    ordered,
    raises_generation,
    same_content,
    same_metadata,
    same_wish,
    status_defaults,
    unchanged,
)
from karpy.sim.api.options import IN_PROCESS, WriteOptions
from karpy.sim.api.quotas import Quotas
from karpy.sim.api.records import Record
from karpy.sim.api.registry import Registry
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.rules.changerules import validate_change
from karpy.sim.api.rules.rules import validate_object
from karpy.sim.api.rules.validation import validate_metadata
from karpy.sim.api.schemas import crds, schema
from karpy.sim.api.schemas.customrules import schema_causes
from karpy.sim.api.status import Cause
from karpy.sim.api.store import Collection, Store
from karpy.sim.api.wire.decoding import complain, decoded, metadata_of

__all__ = ["Writes"]

Object = dict[str, Any]
Body = Mapping[str, Any]

_NAMESPACES, _ACCOUNTS, _SERVICES = ("", "namespaces"), ("", "serviceaccounts"), ("", "services")


class Writes:
    """Writes to one store."""

    def __init__(self, store: Store, registry: Registry, clock: Clock, rng: random.Random, deletion: Deletion) -> None:
        self._store = store
        self._registry = registry
        self._clock = clock
        self._rng = rng
        self._deletion = deletion
        self._quotas = Quotas(store, clock)
        self._definitions = Definitions(store, registry, clock)
        self.admission = Admission(store, rng)

    def create(
        self,
        resource: Resource,
        version: ResourceVersion,
        obj: Body,
        namespace: str = "",
        options: WriteOptions = IN_PROCESS,
    ) -> Record:
        """Store a new object.

        Raises:
            KubeError: 409 it exists, 404 its namespace does not, 422 it breaks a rule, 400 it cannot be read.
        """
        if resource.custom:
            self._definitions.check_open(resource)
        sent = obj.get("metadata") or {}
        if options.from_client:
            sent = metadata_of(resource, version, obj)
        if sent.get("resourceVersion"):
            raise status.bad_request("resourceVersion should not be set on objects to be created")
        meta = self._new_metadata(resource, sent, namespace)
        self.admission.admit_namespace(resource, meta)
        new = self._filled(resource, version, {**ordered(resource, obj), "metadata": meta}, options, None)
        declared = new
        new = dict(self.admission.admit(resource, new, from_client=options.from_client))
        meta = new["metadata"] = dict(new["metadata"])
        self._set_first_status(resource, version, new)
        self._check(resource, version, new, None)
        self._quotas.admit(resource, new)
        collection = self._store.collection(resource)
        existing = collection.get(meta.get("namespace", ""), meta["name"])
        if existing is not None:
            raise status.already_exists(resource, meta["name"])
        if options.manager:
            time = meta["creationTimestamp"]
            tracked = apply.track_update(resource, version, None, declared, options.manager, time, "")
            if "managedFields" in tracked["metadata"]:
                meta["managedFields"] = tracked["metadata"]["managedFields"]
        if options.dry_run:
            meta.pop("resourceVersion", None)
            return Record(new, 0)
        record = self._store.put(collection, new, None)
        self._definitions.serve(collection, record)
        if resource.key == _NAMESPACES:
            self._furnish(meta["name"], meta["uid"])
        if "ownerReferences" in meta:
            self._deletion.adopt(collection, record)
        return record

    def _furnish(self, namespace: str, uid: str) -> None:
        """What a controller of a real cluster puts into a new namespace: the service account that pods run as by default."""
        accounts = self._registry.get(*_ACCOUNTS)
        if accounts is not None:
            # With dice of its own: what clients create gets the uids that it would get without.
            rng, self._rng = self._rng, random.Random(uid)
            try:
                self.create(accounts, accounts.stored, {"metadata": {"name": "default"}}, namespace)
            finally:
                self._rng = rng

    def _new_metadata(self, resource: Resource, sent: Body, namespace: str) -> Object:
        meta: Object = {}
        name = sent.get("name") or ""
        prefix = sent.get("generateName") or ""
        if not name and prefix:
            name = generated_name(prefix, self._rng)
        meta["name"] = name
        if prefix:
            meta["generateName"] = prefix
        if resource.namespaced:
            given = sent.get("namespace") or ""
            if given and namespace and given != namespace:
                raise status.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            meta["namespace"] = given or namespace or "default"
        meta["uid"] = self.new_uid()
        meta["resourceVersion"] = ""
        if resource.counts_generations:
            meta["generation"] = 1
        meta["creationTimestamp"] = format_time(self._clock.now())
        for key in ("labels", "annotations", "ownerReferences", "finalizers", "managedFields"):
            if sent.get(key):
                meta[key] = sent[key]
        return meta

    def new_uid(self) -> str:
        """A version 4 UUID from the server's own source of randomness."""
        bits = f"{self._rng.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-{'89ab'[int(bits[16], 16) & 3]}{bits[17:20]}-{bits[20:]}"

    def _filled(
        self, resource: Resource, version: ResourceVersion, obj: Object, options: WriteOptions, before: Body | None
    ) -> Object:
        """``obj`` without unknown fields (of a custom resource) and with defaults.

        What did not change since ``before`` is left alone: a write to the status through one version must not put that
        version's defaults into a spec that was written in another.
        """
        if version.schema is None:
            if options.field_validation:
                obj = decoded(resource, version, obj, options, patching=before is not None)
            if before is not None and resource.key != DEFINITIONS and same_wish(obj, before):
                return dict(obj)  # what is stored has its defaults
            filled = default_object(resource.key, obj)
            return dict(crds.default_crd(filled)) if resource.key == DEFINITIONS else dict(filled)
        kept: Object = {}
        if before is not None:
            kept = {key: before[key] for key in obj if key != "metadata" and unchanged(key, obj, before)}
        changed = {key: value for key, value in obj.items() if key not in kept}
        unknown: list[str] = []
        pruned = schema.prune(changed, version.schema, unknown)
        if unknown and options.field_validation in ("Strict", "Warn"):
            complain(resource, version, version.schema, obj, unknown, options, patching=before is not None)
        filled = schema.apply_defaults(pruned, version.schema)
        head = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
        return {**head, **filled, **kept}

    def _set_first_status(self, resource: Resource, version: ResourceVersion, new: Object) -> None:
        if resource.custom:
            if version.status:
                new.pop("status", None)
            return
        first = initial_status(resource.key, new)
        if first is not None:
            new["status"] = first
        if resource.key == ("", "persistentvolumes"):
            new["status"] = {**new["status"], "lastPhaseTransitionTime": new["metadata"]["creationTimestamp"]}

    def _check(self, resource: Resource, version: ResourceVersion, new: Body, old: Body | None) -> None:
        same = old is not None and same_metadata(new["metadata"], old["metadata"])
        causes = [] if same else list(validate_metadata(resource, new["metadata"]))
        if version.schema is not None:
            causes += schema_causes(new, old, version.schema)
        elif resource.key == DEFINITIONS:
            causes += crds.validate_crd(new, old)
        elif old is None or not same_wish(new, old):
            causes += validate_object(resource.key, new)
            if old is not None:
                causes += validate_change(resource.key, old, new)
        if causes:
            raise status.invalid(resource, new["metadata"].get("name", ""), causes)

    def update(
        self,
        resource: Resource,
        version: ResourceVersion,
        obj: Body,
        namespace: str = "",
        options: WriteOptions = IN_PROCESS,
        subresource: str = "",
    ) -> Record:
        """Replace an object, or with ``subresource="status"`` its status.

        Raises:
            KubeError: 404 it does not exist, 409 it changed since ``metadata.resourceVersion``, 422 it breaks a rule.
        """
        sent = obj.get("metadata") or {}
        space = (sent.get("namespace") or namespace or "default") if resource.namespaced else ""
        collection = self._store.collection(resource)
        old = collection.get(space, sent.get("name", ""))
        if old is None:
            raise status.not_found(resource, sent.get("name", ""))
        if not sent.get("resourceVersion") and resource.key == ("coordination.k8s.io", "leases"):
            cause = Cause.bad("metadata.resourceVersion", "0x0", "must be specified for an update")
            raise status.invalid(resource, sent["name"], [cause], called=resource.qualified)
        return self.commit(collection, version, old, obj, options, subresource)

    def patch(
        self,
        resource: Resource,
        version: ResourceVersion,
        name: str,
        patch: Any,
        patch_type: PatchType,
        namespace: str = "",
        options: WriteOptions = IN_PROCESS,
        subresource: str = "",
    ) -> Record:
        """Change an object by ``patch``; server-side apply also creates it.

        Raises:
            KubeError: 404, 409, 422 as `update`; 415 the resource does not take this kind of patch.
        """
        space = (namespace or "default") if resource.namespaced else ""
        collection = self._store.collection(resource)
        old = collection.get(space, name)
        if patch_type is PatchType.APPLY:
            return self._apply(collection, version, old, name, space, patch, options, subresource)
        if old is None:
            raise status.not_found(resource, name)
        new = patched(resource, as_version(old, resource, version), patch, patch_type)
        return self.commit(collection, version, old, new, options, subresource, patching=True)

    def _apply(
        self,
        collection: Collection,
        version: ResourceVersion,
        old: Record | None,
        name: str,
        namespace: str,
        patch: Body,
        options: WriteOptions,
        subresource: str,
    ) -> Record:
        resource = collection.resource
        applied = {**ordered(resource, patch), "metadata": {**(patch.get("metadata") or {}), "name": name}}
        time = format_time(self._clock.now())
        merged = apply.merge_applied(
            resource, version, as_stored(old, resource) if old else None, applied, options, time, subresource
        )
        untracked = WriteOptions(
            dry_run=options.dry_run, field_validation=options.field_validation, warn=options.warn, force=options.force
        )
        if old is None:
            if subresource:
                raise status.not_found(resource, name)
            return self.create(resource, version, merged, namespace, untracked)
        return self.commit(collection, version, old, merged, untracked, subresource, patching=True)

    def commit(
        self,
        collection: Collection,
        version: ResourceVersion,
        old: Record,
        obj: Body,
        options: WriteOptions = IN_PROCESS,
        subresource: str = "",
        *,
        patching: bool = False,
    ) -> Record:
        """Put ``obj`` in the place of ``old``, as far as the rules and the subresource allow."""
        resource, before = collection.resource, as_stored(old, collection.resource)
        sent = obj.get("metadata") or {}
        if options.from_client and sent is not before["metadata"]:
            sent = metadata_of(resource, version, obj, patching=patching)
        check_identity(resource, before["metadata"], sent, patching=patching)
        if sent.get("resourceVersion") and sent["resourceVersion"] != before["metadata"]["resourceVersion"]:
            raise status.modified(resource, before["metadata"]["name"])
        new = ordered(resource, obj)
        new["metadata"] = meta = kept_metadata(before["metadata"], sent)
        if subresource == "status":
            new = only_status(resource, before, new, meta)
        elif version.status:
            keep_member(new, before, "status")
        if subresource != "scale" and not same_content(new, before):
            new = self._filled(resource, version, new, options, before)
            if subresource == "status":
                new = status_defaults(resource, new)
            elif version.status:
                keep_member(new, before, "status")
            if resource.key == _SERVICES and not subresource:
                new = self.admission.addresses.given(resource, new, before)
        meta = new["metadata"] = dict(new["metadata"])
        if resource.key == _NAMESPACES:
            new = dict(default_object(resource.key, new))
            meta = new["metadata"]
        self._check_change(resource, version, new, before)
        if resource.counts_generations and raises_generation(resource, before, new):
            meta["generation"] = before["metadata"].get("generation", 0) + 1
        if options.manager:
            time = format_time(self._clock.now())
            new = apply.track_update(resource, version, before, new, options.manager, time, subresource)
        return self._put(collection, new, old, options)

    def _check_change(self, resource: Resource, version: ResourceVersion, new: Object, before: Body) -> None:
        if "deletionTimestamp" in before["metadata"]:
            check_finalizers(resource, before["metadata"], new["metadata"])
        if new["metadata"] == before["metadata"] and same_content(new, before):
            return
        self._check(resource, version, new, before)

    def _put(self, collection: Collection, new: Object, old: Record, options: WriteOptions) -> Record:
        if new == old.object and old.revision > collection.resource.defined_at:
            return old
        if options.dry_run:
            return Record(new, old.revision)
        record = self._store.put(collection, new, old)
        self._definitions.serve(collection, record)
        if "deletionTimestamp" in new["metadata"]:
            return self._deletion.settle(collection, record)
        if new["metadata"].get("ownerReferences") != old.object["metadata"].get("ownerReferences"):
            self._deletion.adopt(collection, record)
        return record

"""How objects go: grace, finalizers, owners and namespaces.

What controllers of a real cluster do a moment later (collect the garbage of an owner, empty a namespace, remove the objects of
a definition) happens here at once, within the call that caused it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from karpy.clock import Clock, format_time, parse_time
from karpy.sim.api import status
from karpy.sim.api.deleting import FOREGROUND, ORPHAN, PODS, check_propagation, grace_of, is_finished
from karpy.sim.api.options import DeleteOptions
from karpy.sim.api.records import Record
from karpy.sim.api.resources import Resource
from karpy.sim.api.schemas.crds import CLEANUP_FINALIZER
from karpy.sim.api.store import Collection, Store

__all__ = ["Deletion"]

Object = dict[str, Any]

_NAMESPACES = ("", "namespaces")
_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_BACKGROUND = DeleteOptions()
_REMEMBERED = 16_384


class Deletion:
    """Deletes records of a store and whatever must follow."""

    def __init__(self, store: Store, clock: Clock, undefine: Callable[[Mapping[str, Any]], None]) -> None:
        self._store = store
        self._clock = clock
        self._undefine = undefine
        self._removed: deque[tuple[Collection, Mapping[str, Any]]] = deque()
        self._collecting = False
        self._late: dict[str, None] = {}
        """The uids of what was removed last, for dependents that come after their owner has gone."""

    def adopt(self, collection: Collection, record: Record) -> None:
        """See to an object that has been written with owners: without any that can be its owner, it goes as they went.

        An owner that was never there is taken for one of another cluster, and left alone.
        """
        references = record.object["metadata"].get("ownerReferences") or ()
        if not references or "deletionTimestamp" in record.object["metadata"]:
            return
        if all(self._is_lost(reference, record) for reference in references):
            self.delete(collection, record, _BACKGROUND)

    def _is_lost(self, reference: Mapping[str, Any], dependent: Record) -> bool:
        uid = reference.get("uid", "")
        found = self._store.find_uid(uid)
        if found is None:
            return uid in self._late
        space = found[1].object["metadata"].get("namespace", "")
        return bool(space) and space != dependent.object["metadata"].get("namespace", "")

    def delete(self, collection: Collection, record: Record, options: DeleteOptions) -> Record:
        """Delete, or mark as being deleted, and answer the last or the marked state.

        Raises:
            KubeError: 409 a precondition does not hold, 422 the propagation policy is unknown.
        """
        self._check(collection.resource, record, options)
        marked = self._marked(collection.resource, record, options)
        finished = is_finished(marked)
        # what goes at once is never seen as being deleted, except pods, whose end is always a graceful one
        last = record.object if finished and collection.resource.key != PODS else marked
        if options.dry_run:
            return Record(last, record.revision)
        if finished:
            return self.remove(collection, record, last)
        if marked["metadata"] != record.object["metadata"] or marked.get("status") != record.object.get("status"):
            record = self._store.put(collection, marked, record)
        self._follow(collection, record)
        return record

    def _check(self, resource: Resource, record: Record, options: DeleteOptions) -> None:
        meta = record.object["metadata"]
        name = meta["name"]
        for label, wanted, found, guess in (
            ("UID", options.uid, meta["uid"], "might have been deleted and then recreated"),
            ("ResourceVersion", options.resource_version, meta["resourceVersion"], "might have been modified"),
        ):
            if wanted and wanted != found:
                raise status.conflict(
                    resource,
                    name,
                    f"the {label} in the precondition ({wanted}) does not match the {label} in record ({found}). "
                    f"The object {guess}",
                    called=resource.kind,
                    kind=resource.kind,
                )
        check_propagation(options)
        if resource.key == _NAMESPACES and name in _IMMORTAL:
            raise status.forbidden(resource, name, "this namespace may not be deleted")

    def _marked(self, resource: Resource, record: Record, options: DeleteOptions) -> Object:
        obj = record.object
        meta = dict(obj["metadata"])
        finalizers = self._finalizers(resource, meta, options)
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
        grace = grace_of(resource, obj, options)
        now = self._clock.now()
        if "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = format_time(now + grace)
            if resource.key not in (_NAMESPACES, _DEFINITIONS):
                meta["deletionGracePeriodSeconds"] = grace
                if meta.get("generation"):
                    meta["generation"] += 1
        elif grace < meta.get("deletionGracePeriodSeconds", 0):
            # a second delete can only shorten the grace, counted from the first
            started = parse_time(meta["deletionTimestamp"]) - meta["deletionGracePeriodSeconds"]
            meta["deletionTimestamp"] = format_time(started + grace)
            meta["deletionGracePeriodSeconds"] = grace
        marked = {**obj, "metadata": meta}
        if resource.key == _NAMESPACES:
            marked["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return marked

    def _finalizers(self, resource: Resource, meta: Object, options: DeleteOptions) -> list[str]:
        finalizers = list(meta.get("finalizers") or ())
        for policy, name in (("Foreground", FOREGROUND), ("Orphan", ORPHAN)):
            if options.propagation == policy and name not in finalizers:
                finalizers.append(name)
            elif options.propagation and options.propagation != policy and name in finalizers:
                finalizers.remove(name)
        if resource.key == _DEFINITIONS and CLEANUP_FINALIZER not in finalizers:
            finalizers.append(CLEANUP_FINALIZER)
        return finalizers

    def remove(self, collection: Collection, record: Record, last: Object) -> Record:
        """Take ``record`` out of the store, ``last`` being its last state, and see to what depended on it."""
        gone = self._store.remove(collection, {**last, "metadata": dict(last["metadata"])}, record)
        self._removed.append((collection, gone.object))
        if collection.resource.key == _DEFINITIONS:
            self._undefine(gone.object)
        self._collect()
        return gone

    def settle(self, collection: Collection, record: Record) -> Record:
        """After a write to an object that is being deleted: remove it when nothing holds it any more."""
        if is_finished(record.object):
            return self.remove(collection, record, record.object)
        return record

    def _follow(self, collection: Collection, record: Record) -> None:
        """Do what a mark of deletion asks for: release or delete dependents, empty a namespace or a definition."""
        key, finalizers = collection.resource.key, record.object["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            self._release_dependents(record)
        elif FOREGROUND in finalizers:
            self._delete_dependents(record)
        if key == _NAMESPACES:
            self._empty_namespace(record)
        elif key == _DEFINITIONS:
            self._empty_definition(record)

    def _collect(self) -> None:
        """Work off what removals left behind, one at a time, so that long chains of owners do not nest."""
        if self._collecting:
            return
        self._collecting = True
        try:
            while self._removed:
                collection, obj = self._removed.popleft()
                self._remember(obj["metadata"]["uid"])
                self._owner_gone(obj["metadata"]["uid"])
                self._unblock_owners(obj)
                self._finish_namespace(obj["metadata"].get("namespace", ""))
                if collection.resource.custom:
                    self._finish_definition(collection)
        finally:
            self._collecting = False

    def _remember(self, uid: str) -> None:
        self._late[uid] = None
        if len(self._late) > _REMEMBERED:
            del self._late[next(iter(self._late))]

    def _owner_gone(self, uid: str) -> None:
        for collection, record in self._store.dependents(uid):
            references = record.object["metadata"]["ownerReferences"]
            living = [each for each in references if self._store.find_uid(each.get("uid", "")) is not None]
            if living:
                self._put_meta(collection, record, ownerReferences=living)
            elif "deletionTimestamp" not in record.object["metadata"]:
                self.delete(collection, record, _BACKGROUND)

    def _unblock_owners(self, obj: Mapping[str, Any]) -> None:
        for reference in obj["metadata"].get("ownerReferences") or ():
            found = self._store.find_uid(reference.get("uid", ""))
            if found is not None and FOREGROUND in (found[1].object["metadata"].get("finalizers") or ()):
                self._finish_foreground(*found)

    def _delete_dependents(self, owner: Record) -> None:
        uid = owner.object["metadata"]["uid"]
        for collection, record in self._store.dependents(uid):
            meta = record.object["metadata"]
            others = [each for each in meta["ownerReferences"] if each.get("uid") != uid]
            if any(self._store.find_uid(each.get("uid", "")) is not None for each in others):
                self._put_meta(collection, record, ownerReferences=others)
            elif "deletionTimestamp" not in meta:
                deep = bool(self._store.dependents(meta["uid"]))
                self.delete(collection, record, DeleteOptions(propagation="Foreground") if deep else _BACKGROUND)
        found = self._store.find_uid(uid)
        if found is not None:
            self._finish_foreground(*found)

    def _finish_foreground(self, collection: Collection, owner: Record) -> None:
        meta = owner.object["metadata"]
        blocking = any(
            reference.get("uid") == meta["uid"] and reference.get("blockOwnerDeletion")
            for _, record in self._store.dependents(meta["uid"])
            for reference in record.object["metadata"]["ownerReferences"]
        )
        if "deletionTimestamp" in meta and not blocking:
            self._drop_finalizer(collection, owner, FOREGROUND)

    def _release_dependents(self, owner: Record) -> None:
        uid = owner.object["metadata"]["uid"]
        for collection, record in self._store.dependents(uid):
            kept = [each for each in record.object["metadata"]["ownerReferences"] if each.get("uid") != uid]
            self._put_meta(collection, record, ownerReferences=kept)
        found = self._store.find_uid(uid)
        if found is not None:
            self._drop_finalizer(*found, ORPHAN)

    def _drop_finalizer(self, collection: Collection, record: Record, finalizer: str) -> None:
        kept = [each for each in record.object["metadata"].get("finalizers") or () if each != finalizer]
        self.settle(collection, self._put_meta(collection, record, finalizers=kept))

    def _put_meta(self, collection: Collection, record: Record, **changes: Any) -> Record:
        meta = {**record.object["metadata"], **changes}
        meta = {key: value for key, value in meta.items() if value or key not in changes}
        return self._store.put(collection, {**record.object, "metadata": meta}, record)

    def _empty_namespace(self, record: Record) -> None:
        name = record.object["metadata"]["name"]
        for collection in self._store.collections():
            if collection.resource.namespaced:
                for content in collection.records(name):
                    if "deletionTimestamp" not in content.object["metadata"]:
                        current = collection.get(name, content.object["metadata"]["name"])
                        if current is not None:
                            self.delete(collection, current, _BACKGROUND)
        self._finish_namespace(name)

    def _finish_namespace(self, name: str) -> None:
        namespaces = self._store.existing(_NAMESPACES)
        record = namespaces.get("", name) if namespaces is not None and name else None
        if namespaces is None or record is None or "deletionTimestamp" not in record.object["metadata"]:
            return
        if any(c.records(name) for c in self._store.collections() if c.resource.namespaced):
            return
        spec = {**(record.object.get("spec") or {}), "finalizers": []}
        emptied = {**record.object, "spec": spec, "metadata": dict(record.object["metadata"])}
        if is_finished(emptied):
            self.remove(namespaces, record, emptied)

    def _empty_definition(self, definition: Record) -> None:
        spec = definition.object["spec"]
        defined = self._store.existing((spec["group"], spec["names"]["plural"]))
        for content in defined.records() if defined is not None else ():
            meta = content.object["metadata"]
            current = defined.get(meta.get("namespace", ""), meta["name"]) if defined is not None else None
            if defined is not None and current is not None:
                self.delete(defined, current, _BACKGROUND)
        if defined is None or not len(defined):
            self._release_definition(definition.object["metadata"]["name"])

    def _finish_definition(self, emptied: Collection) -> None:
        if not len(emptied):
            self._release_definition(emptied.resource.qualified)

    def _release_definition(self, name: str) -> None:
        definitions = self._store.existing(_DEFINITIONS)
        record = definitions.get("", name) if definitions is not None else None
        if definitions is not None and record is not None and "deletionTimestamp" in record.object["metadata"]:
            self._drop_finalizer(definitions, record, CLEANUP_FINALIZER)

"""Definitions of custom resources in a store: whether their names are free, and what is served because of them."""

from __future__ import annotations

from typing import Any

from karpy.clock import Clock, format_time
from karpy.sim.api import status
from karpy.sim.api.merging import apply
from karpy.sim.api.records import Record
from karpy.sim.api.registry import Registry
from karpy.sim.api.resources import Resource
from karpy.sim.api.schemas import crds
from karpy.sim.api.store import Collection, Store

__all__ = ["DEFINITIONS", "Definitions"]

Object = dict[str, Any]

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")


class Definitions:
    """Serves what the definitions of one store define."""

    def __init__(self, store: Store, registry: Registry, clock: Clock) -> None:
        self._store = store
        self._registry = registry
        self._clock = clock

    def check_open(self, resource: Resource) -> None:
        """Raises:
        KubeError: 405, the definition of this resource is going.
        """
        definitions = self._store.existing(DEFINITIONS)
        record = definitions.get("", resource.qualified) if definitions is not None else None
        if record is not None and "deletionTimestamp" in record.object["metadata"]:
            raise status.method_not_allowed("create not allowed while custom resource definition is terminating")

    def serve(self, collection: Collection, record: Record) -> Record:
        """After a write to a definition: say in its status whether its names are free, and serve what it defines if they are."""
        if collection.resource.key != DEFINITIONS:
            return record
        crd, time = record.object, format_time(self._clock.now())
        if "deletionTimestamp" not in crd["metadata"]:
            group = crd["spec"]["group"]
            others = [each.object for each in collection.records() if each.object["spec"]["group"] == group]
            status_now = crds.established_status(crd, others, time)
            if status_now != crd.get("status"):
                new: Object = {**crd, "metadata": dict(crd["metadata"]), "status": status_now}
                if crd["metadata"].get("managedFields"):
                    new = apply.track_update(
                        collection.resource, collection.resource.stored, crd, new, apply.SERVER, time, "status"
                    )
                record = self._store.put(collection, new, record)
        if crds.is_established(record.object):
            defined = crds.resource_of(record.object)
            self._registry.define(defined)
            self._store.redefine(defined)
        return record

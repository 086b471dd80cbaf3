"""Small clusters for the tests of the scheduler's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy import labels
from karpy.sim.scheduler.nodes import Nodes, PlacedPod
from karpy.sim.scheduler.nominations import Nominations
from karpy.sim.scheduler.placement import Outcome, Placer
from karpy.sim.scheduler.preemption import Budget, Preemption, search
from karpy.sim.scheduler.shape import Shapes
from karpy.sim.scheduler.storage import Storage

Json = dict[str, Any]


def node(name: str, zone: str = "", cpu: str = "4", memory: str = "16Gi", pods: str = "110", **spec: Any) -> Json:
    own: Json = {labels.HOSTNAME: name, **({labels.ZONE: zone} if zone else {}), **spec.pop("labels", {})}
    room = {"cpu": cpu, "memory": memory, "pods": pods, **spec.pop("room", {})}
    return {"metadata": {"name": name, "labels": own}, "spec": spec, "status": {"allocatable": room}}


def pod(name: str = "p", app: str = "x", cpu: str = "100m", memory: str = "128Mi", **spec: Any) -> Json:
    requests = {"cpu": cpu, "memory": memory, **spec.pop("requests", {})}
    container: Json = {"name": "c", "image": "i", "resources": {"requests": requests}}
    if "hostPort" in spec:
        container["ports"] = [{"containerPort": 80, "hostPort": spec.pop("hostPort")}]
    metadata = {"name": name, "namespace": spec.pop("namespace", "default"), "labels": {"app": app}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


class Scene:
    """Nodes, pods that are placed on them, and pods to place."""

    def __init__(self, *nodes: Json, namespaces: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.shapes = Shapes()
        self.nodes = Nodes()
        spaces = namespaces or {}
        self.storage = Storage()
        self.nominations = Nominations()
        self.placer = Placer(self.nodes, lambda name: spaces.get(name, {}), self.storage, self.nominations)
        for each in nodes:
            self.nodes.describe(each)
        self._count = 0

    def holds(self, node_name: str, *pods: Json, is_deleting: bool = False) -> Scene:
        for each in pods:
            self._count += 1
            key = (each["metadata"]["namespace"], f"{each['metadata']['name']}-{self._count}")
            self.nodes.place(PlacedPod(key, self.shapes.of(each), node_name, is_deleting))
        return self

    def place(self, wanted: Json) -> Outcome:
        key = (wanted["metadata"]["namespace"], wanted["metadata"]["name"])
        return self.placer.place(key, self.shapes.of(wanted))

    def room_for(self, wanted: Json, *budgets: Budget, nominated: str = "") -> Preemption:
        """What preemption finds for a pod that fits nowhere."""
        outcome = self.place(wanted)
        assert outcome.rules is not None
        assert not outcome.best
        return search(outcome.rules, self.nodes, outcome.refusals, budgets, nominated)

    def best(self, wanted: Json) -> tuple[str, ...]:
        return tuple(sorted(self.place(wanted).best))

    def message(self, wanted: Json) -> str:
        return self.place(wanted).message


def affinity(app: str, key: str, *, anti: bool = False, weight: int = 0, **more: Any) -> Json:
    """Affinity to pods of an app, required or with a weight."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    field = "podAntiAffinity" if anti else "podAffinity"
    if weight:
        wish = {"weight": weight, "podAffinityTerm": term}
        return {field: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    return {field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key: str, skew: int = 1, app: str = "x", action: str = "DoNotSchedule", **more: Any) -> Json:
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector, **more}

"""Small clusters drawn from a seed: pools, workloads, and what users do to them over some minutes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.clock import VirtualClock
from karpy.testing.generations import as_written, draw_generation
from karpy.testing.venues import Venue, venue

__all__ = ["Deed", "Story", "Storyteller", "Workload"]

Json = dict[str, Any]

_SIZES = ("250m", "500m", "1", "2", "3")
_DEEDS_MOST = 6
_LAST_DEED_S = 270.0
"""After that everything is left alone, to settle."""


@attrs.frozen(kw_only=True)
class Workload:
    """One Deployment, and what is asked for its pods."""

    name: str
    replicas: int
    cpu: str
    memory: str
    spec: Json = attrs.field(factory=dict)
    """More fields of the pods' spec."""
    annotations: Json = attrs.field(factory=dict)
    budget: Json | None = None
    """The spec of its PodDisruptionBudget, but for the selector."""

    def objects(self, most: int) -> list[Json]:
        """Its manifests, with at most ``most`` replicas."""
        selector = {"matchLabels": {"app": self.name}}
        spec = {"replicas": min(self.replicas, most), "selector": selector, "template": self.template()}
        made = [_object(kinds.DEPLOYMENT, self.name, spec)]
        if self.budget is not None:
            made.append(_object(kinds.POD_DISRUPTION_BUDGET, self.name, {"selector": selector, **self.budget}))
        return made

    def template(self, version: int = 0) -> Json:
        requests = {"cpu": self.cpu, "memory": self.memory}
        container = {"name": "main", "image": f"app:{version}", "resources": {"requests": requests}}
        return {
            "metadata": {"labels": {"app": self.name}, "annotations": self.annotations},
            "spec": {"containers": [container], **self.spec},
        }


@attrs.frozen
class Deed:
    """What a user does at a time: ``scale`` or ``roll`` a workload, ``remove`` it, ``delete`` a claim or a node."""

    at_s: float
    what: str
    target: int = 0
    """The workload's index; of claims and nodes, which of those that there are."""
    amount: int = 0


@attrs.frozen
class Story:
    """A cluster and its users."""

    node_class: RawObject
    pools: tuple[Json, ...]
    workloads: tuple[Workload, ...]
    deeds: tuple[Deed, ...]

    @classmethod
    def draw(cls, seed: int, where: Venue | None = None) -> Story:
        """The story of a seed, as it is told ``where`` (default: on the simulated cloud)."""
        where = where or venue()
        dice = random.Random(f"story/{seed}")
        workloads = tuple(_workload(dice, number, where.zones) for number in range(dice.randint(1, 4)))
        deeds = sorted(
            (_deed(dice, len(workloads)) for _ in range(dice.randint(0, _DEEDS_MOST))),
            key=lambda deed: deed.at_s,
        )
        generation = draw_generation(seed)
        pools = tuple(
            as_written(_pool(dice, number, where.node_class), generation) for number in range(dice.choice((1, 1, 2)))
        )
        return cls(where.node_class, pools, workloads, tuple(deeds))

    @property
    def pods(self) -> tuple[int, ...]:
        """The most replicas that each workload ever has."""
        return tuple(
            max([workload.replicas, *(d.amount for d in self.deeds if d.what == "scale" and d.target == number)])
            for number, workload in enumerate(self.workloads)
        )


class Storyteller:
    """A controller that does the deeds. ``most``: caps on the replicas of each workload; one of 0 never comes to be."""

    name = "story"
    sources: Sequence[Source] = ()

    def __init__(self, story: Story, most: Sequence[int], kube: KubeClient, clock: VirtualClock) -> None:
        self._story = story
        self._most = most
        self._kube = kube
        self._clock = clock
        self._start = clock.now()
        self._done = 0

    def objects(self) -> list[Json]:
        """What is there from the beginning."""
        told = [obj for index, each in self._present() for obj in each.objects(self._most[index])]
        return [dict(self._story.node_class), *self._story.pools, *told]

    def _present(self) -> list[tuple[int, Workload]]:
        return [(index, each) for index, each in enumerate(self._story.workloads) if self._most[index]]

    def reconcile(self, request: Request) -> Result:
        del request
        for deed in self._story.deeds[self._done :]:
            left = self._start + deed.at_s - self._clock.now()
            if left > 0:
                return Result(left)
            self._done += 1
            try:
                self._do(deed)
            except KubeError as error:
                if not (error.not_found or error.conflict):
                    raise
        return DONE

    def _do(self, deed: Deed) -> None:
        acts: dict[str, Callable[[Deed], None]] = {
            "scale": self._scale,
            "roll": self._roll,
            "remove": self._remove,
            "delete-claim": lambda deed: self._delete_one(kinds.NODE_CLAIM, deed),
            "delete-node": lambda deed: self._delete_one(kinds.NODE, deed),
        }
        acts[deed.what](deed)

    def _scale(self, deed: Deed) -> None:
        replicas = min(deed.amount, self._most[deed.target])
        self._patch(deed, {"spec": {"replicas": replicas}})

    def _roll(self, deed: Deed) -> None:
        self._patch(deed, {"spec": {"template": self._story.workloads[deed.target].template(self._done)}})

    def _patch(self, deed: Deed, patch: Json) -> None:
        self._kube.patch(kinds.DEPLOYMENT, self._story.workloads[deed.target].name, patch, "default")

    def _remove(self, deed: Deed) -> None:
        self._kube.delete(kinds.DEPLOYMENT, self._story.workloads[deed.target].name, "default")

    def _delete_one(self, kind: Kind, deed: Deed) -> None:
        names = sorted(obj["metadata"]["name"] for obj in self._kube.list(kind).items)
        if names:
            self._kube.delete(kind, names[deed.target % len(names)])


def _object(kind: Kind, name: str, spec: Json) -> Json:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


def _workload(dice: random.Random, number: int, zones: Sequence[str]) -> Workload:
    name, spec, annotations, budget = f"app-{number}", {}, {}, None
    trait = dice.random()
    if trait < 0.15:
        budget = {"minAvailable": dice.choice((1, 2, "50%"))}
    elif trait < 0.25:
        annotations = {labels.DO_NOT_DISRUPT: "true"}
    elif trait < 0.4:
        spec = _spread(name, dice.choice((labels.ZONE, labels.HOSTNAME)))
    elif trait < 0.5:
        spec = {"nodeSelector": {labels.ZONE: dice.choice(zones)}}
    elif trait < 0.6:
        spec = {"affinity": _apart(name)}
    return Workload(
        name=name,
        replicas=dice.randint(1, 6),
        cpu=dice.choice(_SIZES),
        memory=dice.choice(("256Mi", "1Gi", "3Gi")),
        spec=spec,
        annotations=annotations,
        budget=budget,
    )


def _spread(name: str, key: str) -> Json:
    selector = {"matchLabels": {"app": name}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def _apart(name: str) -> Json:
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": name}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _deed(dice: random.Random, workloads: int) -> Deed:
    at_s = round(dice.uniform(5, _LAST_DEED_S), 1)
    what = dice.choice(("scale", "scale", "scale", "roll", "remove", "delete-claim", "delete-node"))
    return Deed(at_s, what, dice.randrange(workloads), dice.randint(0, 8))


def _pool(dice: random.Random, number: int, node_class: RawObject) -> Json:
    group = str(node_class["apiVersion"]).rpartition("/")[0]
    ref = {"group": group, "kind": node_class["kind"], "name": "default"}
    capacity_types = dice.choice(((), (labels.SPOT, labels.ON_DEMAND), (labels.SPOT,)))
    requirements = [{"key": labels.CAPACITY_TYPE, "operator": "In", "values": list(capacity_types)}]
    spec: Json = {
        "template": {"spec": {"nodeClassRef": ref, "requirements": requirements if capacity_types else []}},
        "disruption": {
            "consolidationPolicy": dice.choice(("WhenEmptyOrUnderutilized", "WhenEmpty")),
            "consolidateAfter": dice.choice(("0s", "15s", "30s", "2m")),
            "budgets": [{"nodes": dice.choice(("10%", "1", "50%", "100%"))}],
        },
        "weight": 10 - number,
    }
    if dice.random() < 0.3:
        spec["limits"] = {"cpu": dice.choice(("4", "8", "16"))}
    return _object(kinds.NODE_POOL, f"pool-{number}", spec)

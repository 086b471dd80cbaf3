"""Small random clusters, in which the scheduler must find the very nodes that a naive reading of the documentation finds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from karpy import labels
from tests.karpy.sim.scheduler import naive
from tests.karpy.sim.scheduler.scenes import Scene

CLUSTERS = 150
SEEDS = range(12)

Json = dict[str, Any]
T = TypeVar("T")
NAMESPACES = {"default": {"team": "a"}, "other": {"team": "b"}, "third": {}}
KEYS = (labels.HOSTNAME, labels.ZONE, "rack")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


class Maker:
    """Draws clusters in which rules meet often: few keys, few values, little room."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)

    def some(self, make: Callable[[], T], most: int, chance: float = 0.5) -> list[T]:
        return [make() for _ in range(self.rng.randint(1, most))] if self.rng.random() < chance else []

    def maybe(self, chance: float, **fields: Any) -> Json:
        return fields if self.rng.random() < chance else {}

    def one(self, *values: T) -> T:
        return self.rng.choice(values)

    def node(self, name: str) -> Json:
        own = {labels.HOSTNAME: name, "size": self.one("1", "5", "9", "big")}
        own |= self.maybe(0.85, **{labels.ZONE: self.one("a", "b", "c")}) | self.maybe(0.7, rack=self.one("r1", "r2"))
        spec: Json = {**self.maybe(0.1, unschedulable=True)}
        taints = self.some(lambda: self.taint(), 2, 0.3)
        if taints:
            spec["taints"] = list({(each["key"], each["effect"]): each for each in taints}.values())
        room = {"cpu": self.one("2", "4", "1500m"), "memory": self.one("1Gi", "4Gi"), "pods": self.one("3", "10")}
        room |= self.maybe(0.3, **{"example.com/gpu": self.one("1", "2")})
        return {"metadata": {"name": name, "labels": own}, "spec": spec, "status": {"allocatable": room}}

    def taint(self) -> Json:
        return {"key": self.one("k", "l"), "value": self.one("", "v", "w"), "effect": self.one(*EFFECTS)}

    def toleration(self) -> Json:
        if self.rng.random() < 0.4:
            return {"operator": "Exists", **self.maybe(0.6, key=self.one("k", "l", "node.kubernetes.io/unschedulable"))}
        found = {"key": self.one("k", "l"), "operator": "Equal", "value": self.one("", "v", "w")}
        return found | self.maybe(0.5, effect=self.one(*EFFECTS))

    def container(self) -> Json:
        wants = self.maybe(0.8, cpu=self.one("100m", "500m", "1")) | self.maybe(0.6, memory=self.one("128Mi", "1Gi"))
        wants |= self.maybe(0.1, **{"example.com/gpu": "1"})
        return {"name": "c", "image": "i", "resources": {"requests": wants}}

    def port(self) -> Json:
        found = {"containerPort": 80, "hostPort": self.one(80, 81), "protocol": self.one("TCP", "UDP")}
        return found | self.maybe(0.5, hostIP=self.one("10.0.0.1", "0.0.0.0", "10.0.0.2"))

    def selector(self) -> Json:
        found = self.maybe(0.6, matchLabels={"app": self.one("x", "y")})
        return found | self.maybe(0.4, matchExpressions=[self.expression("app", "version")])

    def expression(self, *keys: str) -> Json:
        operator = self.one("In", "NotIn", "Exists", "DoesNotExist")
        values = {"values": [self.one("x", "y", "1", "2")]} if operator in ("In", "NotIn") else {}
        return {"key": self.one(*keys), "operator": operator, **values}

    def node_expression(self) -> Json:
        if self.rng.random() < 0.4:
            return {"key": "size", "operator": self.one("Gt", "Lt"), "values": [self.one("1", "4", "8")]}
        operator = self.one("In", "NotIn", "Exists", "DoesNotExist")
        values = {"values": [self.one("a", "b", "r1")]} if operator in ("In", "NotIn") else {}
        return {"key": self.one(labels.ZONE, "rack", "none"), "operator": operator, **values}

    def node_term(self) -> Json:
        fields = [{"key": "metadata.name", "operator": self.one("In", "NotIn"), "values": [self.one("n0", "n1")]}]
        found = self.maybe(0.7, matchExpressions=[self.node_expression() for _ in range(self.rng.randint(1, 2))])
        return found | self.maybe(0.25, matchFields=fields)

    def pod_term(self) -> Json:
        found: Json = {"topologyKey": self.one(*KEYS), **self.maybe(0.95, labelSelector=self.selector())}
        found |= self.maybe(0.2, namespaces=[self.one("other", "default")])
        found |= self.maybe(0.2, namespaceSelector=self.one({}, {"matchLabels": {"team": self.one("a", "b")}}))
        if "labelSelector" in found:
            found |= self.maybe(0.15, matchLabelKeys=["version"]) | self.maybe(0.15, mismatchLabelKeys=["app"])
        return found

    def constraint(self, key: str) -> Json:
        found: Json = {
            "topologyKey": key,
            "maxSkew": self.rng.randint(1, 2),
            "whenUnsatisfiable": self.one("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"),
            "labelSelector": {"matchLabels": {"app": self.one("x", "y")}},
        }
        if found["whenUnsatisfiable"] == "DoNotSchedule":
            found |= self.maybe(0.3, minDomains=self.rng.randint(1, 4))
        found |= self.maybe(0.3, nodeAffinityPolicy=self.one("Honor", "Ignore"))
        found |= self.maybe(0.3, nodeTaintsPolicy=self.one("Honor", "Ignore"))
        return found | self.maybe(0.2, matchLabelKeys=["version"])

    def pod(self, name: str) -> Json:
        own = {"app": self.one("x", "y", "z"), **self.maybe(0.7, version=self.one("1", "2"))}
        metadata = {"name": name, "namespace": self.one("default", "default", "other", "third"), "labels": own}
        container = self.container()
        container["ports"] = self.some(self.port, 2, 0.2)
        spec: Json = {"containers": [container, *self.some(self.container, 1, 0.2)]}
        steps = self.some(lambda: {**self.container(), **self.maybe(0.4, restartPolicy="Always")}, 3, 0.2)
        spec |= {"initContainers": steps} if steps else {}
        spec |= self.maybe(0.1, overhead={"cpu": "250m"})
        spec |= {"tolerations": found} if (found := self.some(self.toleration, 2, 0.5)) else {}
        spec |= self.maybe(0.15, nodeSelector={labels.ZONE: self.one("a", "b")})
        affinity: Json = {}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        if self.rng.random() < 0.25:
            terms = [self.node_term() for _ in range(self.rng.randint(1, 2))]
            affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": terms}}
        for kind in ("podAffinity", "podAntiAffinity"):
            if found := self.some(self.pod_term, 2, 0.3):
                affinity[kind] = {required: found}
        keys = self.rng.sample(KEYS, self.rng.randint(1, 2)) if self.rng.random() < 0.4 else []
        spec |= {"affinity": affinity} if affinity else {}
        spec |= {"topologySpreadConstraints": [self.constraint(key) for key in keys]} if keys else {}
        return {"metadata": metadata, "spec": spec}

    def cluster(self) -> tuple[list[Json], list[Json], Json]:
        nodes = [self.node(f"n{i}") for i in range(self.rng.randint(1, 6))]
        pods = []
        for i in range(self.rng.randint(0, 10)):
            made = self.pod(f"p{i}")
            made["spec"]["nodeName"] = self.one(*(each["metadata"]["name"] for each in nodes))
            made["metadata"] |= self.maybe(0.1, deletionTimestamp="2026-01-05T09:00:00Z")
            pods.append(made)
        return nodes, pods, self.pod("new")


def found_by_scheduler(nodes: list[Json], pods: list[Json], wanted: Json) -> set[str]:
    scene = Scene(*nodes, namespaces=NAMESPACES)
    for each in pods:
        scene.holds(each["spec"]["nodeName"], each, is_deleting="deletionTimestamp" in each["metadata"])
    outcome = scene.place(wanted)
    refused = set(outcome.refusals)
    if not outcome.best:
        return set()
    return {each["metadata"]["name"] for each in nodes} - refused


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_nodes_are_found(seed: int) -> None:
    sizes = set()
    for serial in range(CLUSTERS):
        nodes, pods, wanted = Maker(f"{seed}/{serial}").cluster()
        expected = naive.feasible(nodes, pods, wanted, NAMESPACES)
        assert found_by_scheduler(nodes, pods, wanted) == expected, (seed, serial)
        sizes.add(len(expected))
    assert len(sizes) > 3, "the clusters say too little: they admit all pods alike"

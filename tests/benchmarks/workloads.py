"""Pods that ask for much of what the scheduling simulation offers, in numbers: what the solve benchmarks put to it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from karpy import labels
from karpy.testing.builders import make_pod

Json = dict[str, Any]


def of_shapes(count: int, shapes: int = 50) -> list[Json]:
    """Pods that ask for CPU and memory alone, of so many sizes."""
    dice = random.Random(0)
    sizes = [_size(dice, (100, 250, 500, 750, 1000, 2000, 4000), range(128, 8192, 64)) for _ in range(shapes)]
    return [make_pod(f"pod-{index:05d}", requests=sizes[index % shapes]) for index in range(count)]


def deployments(count: int, apps: int = 100) -> list[Json]:
    """Pods of so many Deployments, each spread over zones and over hosts."""
    dice = random.Random(0)
    sizes = [_size(dice, (100, 250, 500, 1000, 1500, 2000), (128, 256, 512, 1024, 2048, 4096)) for _ in range(apps)]
    return [_spread(index, f"app-{index % apps}", sizes[index % apps]) for index in range(count)]


def _spread(index: int, app: str, size: Json) -> Json:
    def over(key: str, skew: int) -> Json:
        about = {"labelSelector": {"matchLabels": {"app": app}}}
        return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", **about}

    spec = {"topologySpreadConstraints": [over(labels.ZONE, 1), over(labels.HOSTNAME, 5)]}
    return make_pod(f"pod-{index:05d}", labels={"app": app}, requests=size, spec=spec)


def with_preferences(count: int, zone: str) -> list[Json]:
    """Like pods that prefer a zone, and to be apart from each other by zone (which cannot hold) and by host."""
    own = {"app": "nginx"}

    def apart(key: str, weight: int) -> Json:
        return {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": {"matchLabels": own}}}

    wish = {"matchExpressions": [{"key": labels.ZONE, "operator": "In", "values": [zone]}]}
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    affinity = {
        "nodeAffinity": {preferred: [{"weight": 1, "preference": wish}]},
        "podAntiAffinity": {preferred: [apart(labels.ZONE, 10), apart(labels.HOSTNAME, 1)]},
    }
    size = {"cpu": "1", "memory": "1Gi"}
    return [
        make_pod(f"pod-{index:05d}", labels=own, requests=size, spec={"affinity": affinity}) for index in range(count)
    ]


def doubling(most: int, least: int = 1_000) -> Iterator[int]:
    while least <= most:
        yield least
        least *= 2


def _size(dice: random.Random, cpus: Any, memories: Any) -> Json:
    return {"cpu": f"{dice.choice(cpus)}m", "memory": f"{dice.choice(memories)}Mi"}

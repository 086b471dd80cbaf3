"""R21: what is remembered under a key is never somebody else's: things that share one can stand for each other."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karpy.labels import CORE_LABELS
from karpy.objects.pod import Pod
from karpy.scheduling.classes import classify, read_pods
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot, Storage
from karpy.testing import make_catalog, make_nodepool, make_pod
from tests.properties.test_plans import CPUS, MEMORY, SPECS

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]

PODS = st.lists(
    st.builds(
        lambda cpu, memory, spec: {"requests": {"cpu": cpu, "memory": memory}, "spec": spec}, CPUS, MEMORY, SPECS
    ),
    min_size=2,
    max_size=8,
)
POOLS = [
    make_nodepool("plain"),
    make_nodepool("a", labels={"team": "a"}, taints=[{"key": "gpu", "effect": "NoSchedule"}]),
]


def alone(pod: Json) -> Any:
    """What is launched for this pod if it is the only one."""
    snapshot = Snapshot.from_objects([*POOLS, pod])
    plan = solve(snapshot, make_catalog(snapshot))
    launches = [(launch.pool.name, launch.instance_types, str(launch.requirements)) for launch in plan.launches]
    return launches, [part.reason for part in plan.unschedulable]


@settings(max_examples=60, deadline=None)
@given(PODS)
def test_pods_of_one_class_would_get_the_same_machine(drawn: list[Json]) -> None:
    pods = {f"p{number}": make_pod(f"p{number}", **each) for number, each in enumerate(drawn)}
    read, _refused = read_pods([Pod.from_dict(pod) for pod in pods.values()], CORE_LABELS, {}, Storage())
    for found in classify(read, lambda _pod: ()):
        first, *others = (alone(pods[pod.metadata.name]) for pod in found.pods)
        assert all(other == first for other in others)


def test_nothing_is_known_by_a_hash_alone() -> None:
    """`hash()` is taken where an object answers for itself only: dicts compare what they find under it."""
    allowed = {"karpy/resources.py", "karpy/requirements.py"}
    found = {
        path.relative_to(ROOT).as_posix()
        for package in ("karpy", "karpy_aws", "karpy_azure")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hash"
    }
    assert found <= allowed

"""Whatever the cluster: a plan breaks no promise, leaves no pod out, and does not depend on the order of things told."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering, Overhead
from karpy.resources import Resources
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    make_catalog,
    make_claim,
    make_daemon_set,
    make_instance_type,
    make_node,
    make_nodepool,
    make_pod,
    selector,
)
from tests.judge import violations

Json = dict[str, Any]

GPU = {"key": "gpu", "effect": "NoSchedule"}
SHY = {"key": "shy", "effect": "PreferNoSchedule"}
CPUS = st.sampled_from(("0", "500m", "1", "3", "9", "17"))
MEMORY = st.sampled_from(("0", "1Gi", "7Gi", "30Gi"))
SELECTORS = st.sampled_from(
    (
        {},
        {labels.ARCH: "amd64"},
        {labels.ZONE: "zone-b"},
        {labels.CAPACITY_TYPE: "on-demand", labels.ARCH: "arm64"},
        {"team": "a"},
        {"team": "b"},
        {"karpenter.sh/x": "y"},
    )
)
TERMS = st.lists(
    st.sampled_from(
        (
            selector(labels.ARCH, "NotIn", "arm64"),
            selector(labels.ARCH, "In", "mips"),
            selector("team", "Exists"),
            selector("team", "DoesNotExist"),
            selector("team", "NotIn", "a"),
            selector(labels.ZONE, "In", "zone-a", "zone-c"),
            selector(labels.INSTANCE_TYPE, "NotIn", "a1", "c1"),
        )
    ),
    max_size=3,
)


def _spec(node_selector: Json, terms: list[Json], tolerates: bool) -> Json:
    spec: Json = {"nodeSelector": node_selector}
    if terms:
        required = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if tolerates:
        spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    return spec


SPECS = st.builds(_spec, SELECTORS, TERMS, st.booleans())
LIMITS = st.sampled_from((None, {"cpu": "8"}, {"memory": "40Gi", "cpu": "33"}, {"nodes": "2"}))
POOLS = st.builds(
    dict,
    labels=st.sampled_from(({}, {"team": "a"})),
    taints=st.sampled_from(([], [], [GPU], [SHY])),
    limits=LIMITS,
    weight=st.sampled_from((None, 7)),
    requirements=st.sampled_from(
        ([], [selector(labels.ARCH, "In", "amd64")], [selector(labels.ZONE, "NotIn", "zone-b")])
    ),
)
ROOMS = st.sampled_from(({"cpu": "2", "memory": "4Gi", "pods": "3"}, {"cpu": "16", "memory": "64Gi", "pods": "9"}))
NODES = st.builds(dict, room=ROOMS, taints=st.sampled_from(([], [GPU])), labels=st.sampled_from(({}, {"team": "b"})))
CLAIMS = st.builds(dict, room=ROOMS, reached=st.sampled_from(((), ("Launched",))), instance_type=st.just("c16"))


@st.composite
def clusters(draw: st.DrawFn, *, limited: bool = True) -> list[Json]:
    pools = draw(st.lists(POOLS, max_size=3))
    unlimited = {} if limited else {"limits": None}
    objects = [make_nodepool(f"pool-{n}", **{**drawn, **unlimited}) for n, drawn in enumerate(pools)]
    objects += [make_node(f"node-{n}", **drawn) for n, drawn in enumerate(draw(st.lists(NODES, max_size=2)))]
    objects += [
        make_claim(f"claim-{n}", pool="pool-0", **drawn) for n, drawn in enumerate(draw(st.lists(CLAIMS, max_size=2)))
    ]
    daemons = st.lists(st.tuples(CPUS, SPECS), max_size=2)
    objects += [
        make_daemon_set(f"d{n}", requests={"cpu": cpu}, spec=spec) for n, (cpu, spec) in enumerate(draw(daemons))
    ]
    shapes = draw(st.lists(st.tuples(CPUS, MEMORY, SPECS, st.integers(1, 4)), max_size=5))
    objects += [
        make_pod(f"p{shape}-{n}", requests={"cpu": cpu, "memory": memory}, spec=spec)
        for shape, (cpu, memory, spec, count) in enumerate(shapes)
        for n in range(count)
    ]
    return objects


def _solve(objects: list[Json], types: list[InstanceType] | None = None) -> Plan:
    snapshot = Snapshot.from_objects(objects)
    catalog = make_catalog(snapshot, types)
    plan = solve(snapshot, catalog)
    assert violations(plan, snapshot, catalog, snapshot.to_place) == []
    return plan


def _told(plan: Plan) -> Any:
    launches = [
        (launch.pool.name, launch.pods, launch.instance_types, str(launch.requirements)) for launch in plan.launches
    ]
    nominations = [(nomination.node, nomination.pods) for nomination in plan.nominations]
    return launches, nominations, [(part.pods, part.reason) for part in plan.unschedulable]


@settings(max_examples=60, deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_a_plan_is_sound_and_the_same_in_whatever_order_the_cluster_is_told(objects: list[Json], random: Any) -> None:
    plan = _solve(objects)
    shuffled = list(objects)
    random.shuffle(shuffled)
    assert _told(_solve(shuffled)) == _told(plan)


@settings(max_examples=40, deadline=None)
@given(clusters(limited=False))
def test_a_pod_waits_only_when_a_node_of_its_own_would_not_do(objects: list[Json]) -> None:
    waiting = {pod for part in _solve(objects).unschedulable for pod in part.pods}
    surroundings = [obj for obj in objects if obj["kind"] in ("NodePool", "DaemonSet")]
    for obj in objects:
        if obj["kind"] == "Pod" and f"default/{obj['metadata']['name']}" in waiting:
            assert _solve([*surroundings, obj]).placed == 0


OVERRIDES = st.sampled_from((None, None, Resources({"cpu": 2000}), Resources({"cpu": 12000, "memory": 2**34})))
OFFERINGS = st.builds(
    Offering,
    st.sampled_from(("zone-a", "zone-b", "zone-c")),
    st.sampled_from(("spot", "on-demand")),
    st.sampled_from((0.5, 1.0, 2.0)),
    st.booleans(),
    capacity_override=OVERRIDES,
    overhead_override=st.sampled_from((None, None, Overhead(Resources({"cpu": 1500})))),
)
MACHINES = st.lists(
    st.tuples(st.sampled_from(("2", "4", "10")), st.lists(OFFERINGS, max_size=4)), min_size=1, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(clusters(), MACHINES)
def test_a_plan_is_sound_where_offerings_give_other_machines_than_their_type(
    objects: list[Json], machines: list[tuple[str, list[Offering]]]
) -> None:
    types = [make_instance_type(f"t{n}", cpu=cpu, offerings=bought) for n, (cpu, bought) in enumerate(machines)]
    _solve(objects, types)

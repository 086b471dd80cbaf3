"""Which types are on offer for a pod, and which of them is the cheapest: held against a plain search through the catalog."""

from __future__ import annotations

import itertools
import zlib
from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import Offering
from karpy.scheduling.plan import Plan
from karpy.testing import make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of

Json = dict[str, Any]
Wanted = dict[str, str]

ARCHES, SYSTEMS, ZONES, KINDS = (
    ("amd64", "arm64"),
    ("linux", "windows"),
    ("zone-a", "zone-b", "zone-c"),
    ("spot", "on-demand"),
)


def _price(*parts: object) -> float:
    """Any, but always the same: neither size, nor zone, nor capacity type says which is cheaper."""
    return 1 + zlib.crc32(str(parts).encode()) % 1000 / 100


def _offered(*type_of: object) -> list[Offering]:
    """Sold in most zones, as most kinds."""
    ways = list(itertools.product(ZONES, KINDS))
    del ways[sum(map(ord, str(type_of))) % len(ways)]
    return [Offering(zone, kind, _price(*type_of, zone, kind)) for zone, kind in ways]


TYPES = [
    make_instance_type(
        f"{arch}-{system}-{cpu}",
        cpu=str(cpu),
        memory=f"{4 * cpu}Gi",
        arch=arch,
        labels={labels.OS: system},
        offerings=_offered(arch, system, cpu),
    )
    for arch, system, cpu in itertools.product(ARCHES, SYSTEMS, (1, 2, 4, 8, 16))
]


def search(wanted: Wanted, cpu: int = 1) -> list[tuple[float, str]]:
    """What can be had, found the slow way: (price, name), each type at its cheapest."""
    best: dict[str, float] = {}
    for each in TYPES:
        arch, system, size = each.name.split("-")
        for offering in each.offerings:
            has = {
                labels.ARCH: arch,
                labels.OS: system,
                labels.ZONE: offering.zone,
                labels.CAPACITY_TYPE: offering.capacity_type,
            }
            if int(size) >= cpu and all(has[key] == value for key, value in wanted.items()):
                best[each.name] = min(offering.price, best.get(each.name, offering.price))
    return sorted((price, name) for name, price in best.items())


def plan(on_pool: Wanted, on_pod: Wanted, cpu: int = 1) -> Plan:
    pool = make_nodepool(requirements=[selector(key, "In", value) for key, value in on_pool.items()])
    return plan_of(pool, make_pod(requests={"cpu": str(cpu)}, spec={"nodeSelector": on_pod}), types=TYPES)


def offered(found: Plan) -> list[tuple[float, str]]:
    (launch,) = found.launches
    return [(priced.price, priced.name) for priced in launch.instance_types]


def splits(wanted: Wanted) -> list[tuple[Wanted, Wanted]]:
    """Every way to have the pool ask for some of it and the pod for the rest."""
    return [
        ({k: wanted[k] for k in chosen}, {k: v for k, v in wanted.items() if k not in chosen})
        for count in range(len(wanted) + 1)
        for chosen in itertools.combinations(wanted, count)
    ]


def asking(*keys: str) -> list[Wanted]:
    """Every combination of values of these keys."""
    known = {labels.ARCH: ARCHES, labels.OS: SYSTEMS, labels.ZONE: ZONES, labels.CAPACITY_TYPE: KINDS}
    return [dict(zip(keys, chosen, strict=True)) for chosen in itertools.product(*(known[key] for key in keys))]


@pytest.mark.core("CORE-271", "CORE-066", "CORE-077")
def test_of_everything_the_cheapest_comes_first() -> None:
    assert offered(plan({}, {})) == search({})


@pytest.mark.core("CORE-272", "CORE-273", "CORE-274", "CORE-275", "CORE-276")
@pytest.mark.core("CORE-053", "CORE-054", "CORE-055", "CORE-366", "CORE-367")
@pytest.mark.parametrize(
    "wanted", [*asking(labels.ARCH), *asking(labels.OS), *asking(labels.ZONE), *asking(labels.CAPACITY_TYPE)]
)
def test_under_one_constraint_of_pool_or_pod(wanted: Wanted) -> None:
    for on_pool, on_pod in splits(wanted):
        assert offered(plan(on_pool, on_pod)) == search(wanted)


@pytest.mark.core("CORE-277")
@pytest.mark.parametrize("wanted", asking(labels.CAPACITY_TYPE, labels.ZONE))
def test_under_capacity_type_and_zone_of_pool_and_pod(wanted: Wanted) -> None:
    for on_pool, on_pod in splits(wanted):
        assert offered(plan(on_pool, on_pod)) == search(wanted)


@pytest.mark.core("CORE-278")
@pytest.mark.parametrize("wanted", asking(labels.CAPACITY_TYPE, labels.ZONE, labels.ARCH, labels.OS)[::5])
def test_under_four_constraints_of_pool_and_pod(wanted: Wanted) -> None:
    for on_pool, on_pod in splits(wanted):
        assert offered(plan(on_pool, on_pod)) == search(wanted)


@pytest.mark.core("CORE-279")
@pytest.mark.parametrize(
    ("on_pool", "on_pod"),
    [
        ({}, {labels.ARCH: "arm"}),
        ({labels.ARCH: "arm"}, {}),
        ({}, {labels.ARCH: "arm", labels.ZONE: "zone-b"}),
        ({labels.ARCH: "arm"}, {labels.ZONE: "zone-b"}),
        ({labels.ARCH: "amd64"}, {labels.ARCH: "arm64"}),
        ({labels.ARCH: "arm64"}, {labels.ZONE: "zone-x"}),
    ],
)
def test_when_nothing_matches_the_pod_waits(on_pool: Wanted, on_pod: Wanted) -> None:
    assert plan(on_pool, on_pod).placed == 0


@pytest.mark.core("CORE-280", "CORE-368")
@pytest.mark.parametrize("cpu", [1, 2, 3, 4, 7, 16])
def test_only_types_with_enough_of_everything_are_on_offer(cpu: int) -> None:
    assert offered(plan({}, {}, cpu)) == search({}, cpu)
    for wanted in asking(labels.ARCH, labels.ZONE):
        assert offered(plan({}, wanted, cpu)) == search(wanted, cpu)


@pytest.mark.core("CORE-053")
@pytest.mark.parametrize(
    ("operator", "values", "kept"),
    [
        ("In", ("amd64-linux-2", "unheard-of"), {"amd64-linux-2"}),
        ("NotIn", tuple(t.name for t in TYPES if t.name != "arm64-linux-8"), {"arm64-linux-8"}),
    ],
)
def test_types_can_be_asked_for_by_name(operator: str, values: tuple[str, ...], kept: set[str]) -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [selector(labels.INSTANCE_TYPE, operator, *values)]}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    (launch,) = plan_of(make_nodepool(), make_pod(spec=spec), types=TYPES).launches
    assert {priced.name for priced in launch.instance_types} == kept


@pytest.mark.core("CORE-052", "CORE-056", "CORE-057", "CORE-058")
@pytest.mark.parametrize(
    ("key", "values"),
    [
        (labels.ARCH, ARCHES),
        (labels.OS, SYSTEMS),
        (labels.ZONE, ZONES),
        (labels.INSTANCE_TYPE, ("amd64-linux-2", "arm64-windows-4")),
    ],
)
def test_pods_for_different_machines_get_different_machines(key: str, values: tuple[str, ...]) -> None:
    pods = [make_pod(value, spec={"nodeSelector": {key: value}}) for value in values]
    plan = plan_of(make_nodepool(), *pods, types=TYPES)
    assert len(plan.launches) == len(values)
    for launch in plan.launches:
        (pod,) = launch.pods
        if key == labels.INSTANCE_TYPE:
            assert f"default/{launch.instance_types[0].name}" == pod
        elif key == labels.ZONE:
            assert f"default/{launch.requirements.labels()[key]}" == pod
        else:
            assert {part for priced in launch.instance_types for part in priced.name.split("-")} & set(values) == {
                pod.removeprefix("default/")
            }

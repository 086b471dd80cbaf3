"""Labels that the instance type or the cloud decides: whoever asks for one, and however, the node has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from karpy import labels
from karpy.labels import LabelSpec
from karpy.scheduling.plan import Launch, Plan
from karpy.testing import make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of

Json = dict[str, Any]

FAMILY, SIZE = "cloud.test/family", "cloud.test/size"
SPEC = LabelSpec(frozenset({FAMILY, SIZE}))
TYPES = [
    make_instance_type(
        f"{family}-{arch}-{system}-{size}",
        cpu=str(size),
        price=size * factor,
        zones=zones,
        arch=arch,
        labels={
            labels.OS: system,
            labels.REGION: region,
            labels.WINDOWS_BUILD: build if system == "windows" else None,
            FAMILY: family,
            SIZE: str(size),
        },
    )
    for family, factor, zones, region in (("x", 1.0, ("zone-a", "zone-b"), "north"), ("y", 2.0, ("zone-c",), "south"))
    for arch in ("amd64", "arm64")
    for system, build in (("linux", None), ("windows", "10.0.1"))
    for size in (2, 4)
]
NAMES = [each.name for each in TYPES]

#: A key, a value that some machines have, and all others that there are.
CASES = [
    (labels.ZONE, "zone-b", ("zone-a", "zone-c")),
    (labels.REGION, "south", ("north",)),
    (labels.ARCH, "arm64", ("amd64",)),
    (labels.OS, "windows", ("linux",)),
    (labels.CAPACITY_TYPE, "on-demand", ("spot",)),
    (labels.INSTANCE_TYPE, "y-arm64-linux-4", tuple(name for name in NAMES if name != "y-arm64-linux-4")),
    (FAMILY, "y", ("x",)),
    (SIZE, "4", ("2",)),
]
every_key = pytest.mark.parametrize(("key", "value", "others"), CASES, ids=lambda given: str(given)[:40])


def required(*expressions: Json) -> Json:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def preferred(*expressions: Json) -> Json:
    term = {"weight": 1, "preference": {"matchExpressions": list(expressions)}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [term]}


def affinity(*parts: Json) -> Json:
    return {"affinity": {"nodeAffinity": {key: value for part in parts for key, value in part.items()}}}


def plan(spec: Json, *on_pool: Json) -> Plan:
    return plan_of(make_nodepool(requirements=on_pool), make_pod(spec=spec), types=TYPES, spec=SPEC)


def values(key: str, launch: Launch) -> set[str]:
    """Every value of ``key`` that the node may turn out to have."""
    kept = {priced.name for priced in launch.instance_types}
    machines = (
        launch.requirements & each.requirements & offering.requirements
        for each in TYPES
        if each.name in kept
        for offering in each.offerings
        if offering.requirements.intersects(launch.requirements) is None
    )
    return set().union(*(machine[key].values for machine in machines))


def found(key: str, spec: Json, *on_pool: Json) -> set[str]:
    """Every value of ``key`` that the node for one such pod may turn out to have; none when the pod waits."""
    return set().union(*(values(key, launch) for launch in plan(spec, *on_pool).launches))


@pytest.mark.core("CORE-006")
@every_key
def test_the_pool_alone_settles_it(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, {}, selector(key, "In", value)) == {value}
    assert found(key, {}) == {value, *others}


@pytest.mark.core("CORE-007", "CORE-029", "CORE-061", "CORE-320")
@every_key
def test_a_node_selector_settles_it(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, {"nodeSelector": {key: value}}) == {value}


@pytest.mark.core("CORE-009", "CORE-016", "CORE-062")
@every_key
def test_a_value_that_nothing_has_is_not_found(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, {"nodeSelector": {key: "unheard-of"}}) == set()
    assert found(key, affinity(required(selector(key, "In", "unheard-of", "nor-of-this")))) == set()
    assert found(key, {}, selector(key, "In", "unheard-of")) == set()


@pytest.mark.core("CORE-010", "CORE-062")
@every_key
def test_a_value_that_the_pool_rules_out_is_not_found(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, {"nodeSelector": {key: value}}, selector(key, "In", *others)) == set()
    assert found(key, {"nodeSelector": {key: value}}, selector(key, "NotIn", value)) == set()


@pytest.mark.core("CORE-011", "CORE-061", "CORE-321")
@every_key
def test_a_required_affinity_settles_it(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, affinity(required(selector(key, "In", value, "unheard-of")))) == {value}
    assert found(key, affinity(required(selector(key, "In", value))), selector(key, "In", value, *others)) == {value}


@pytest.mark.core("CORE-017", "CORE-018", "CORE-321")
@every_key
def test_what_is_excluded_leaves_the_rest_or_nothing(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, affinity(required(selector(key, "NotIn", *others)))) == {value}
    assert found(key, affinity(required(selector(key, "NotIn", *others, value)))) == set()
    assert found(key, affinity(required(selector(key, "NotIn", value))), selector(key, "In", value)) == set()


@pytest.mark.core("CORE-321")
@every_key
def test_that_it_exists_is_always_met_and_that_it_does_not_never(key: str, value: str, others: Iterable[str]) -> None:
    assert found(key, affinity(required(selector(key, "Exists")))) == {value, *others}
    assert found(key, affinity(required(selector(key, "DoesNotExist")))) == set()


@pytest.mark.core("CORE-019", "CORE-021")
@every_key
def test_a_preference_that_can_be_met_narrows(key: str, value: str, others: Iterable[str]) -> None:
    every = required(selector(key, "In", value, *others))
    assert found(key, affinity(preferred(selector(key, "In", value)), every)) == {value}
    assert found(key, affinity(preferred(selector(key, "NotIn", *others)), every)) == {value}


@pytest.mark.core("CORE-020", "CORE-022")
@every_key
def test_a_preference_that_conflicts_with_what_is_required_is_given_up(
    key: str, value: str, others: Iterable[str]
) -> None:
    only = required(selector(key, "In", value))
    assert found(key, affinity(preferred(selector(key, "In", *others)), only)) == {value}
    assert found(key, affinity(preferred(selector(key, "NotIn", value)), only)) == {value}
    assert found(key, affinity(preferred(selector(key, "NotIn", value))), selector(key, "In", value)) == {value}


@pytest.mark.core("CORE-023")
@every_key
def test_selector_preference_and_requirement_hold_together(key: str, value: str, others: Iterable[str]) -> None:
    chosen = {"nodeSelector": {key: value}}
    every = selector(key, "In", value, *others)
    assert found(key, {**chosen, **affinity(preferred(every), required(every))}, every) == {value}
    rather = affinity(preferred(selector(key, "NotIn", *others)), required(selector(key, "NotIn", "unheard-of")))
    assert found(key, {**chosen, **rather}) == {value}


@pytest.mark.core("CORE-024", "CORE-320", "CORE-321")
def test_several_keys_hold_together() -> None:
    wanted = {labels.ARCH: "arm64", labels.OS: "windows", labels.CAPACITY_TYPE: "spot", SIZE: "4"}
    by_selector = plan({"nodeSelector": wanted}, selector(labels.ZONE, "In", "zone-b", "zone-c"))
    terms = [selector(key, "In", value, "unheard-of") for key, value in wanted.items()]
    by_affinity = plan(
        affinity(preferred(selector(labels.ZONE, "NotIn", "zone-c")), required(*terms, selector(FAMILY, "Exists")))
    )
    for launch in (*by_selector.launches, *by_affinity.launches):
        assert {key: values(key, launch) for key in wanted} == {key: {value} for key, value in wanted.items()}
    assert values(labels.ZONE, by_selector.launches[0]) == {"zone-b", "zone-c"}
    assert values(labels.ZONE, by_affinity.launches[0]) == {"zone-a", "zone-b"}


@pytest.mark.core("CORE-018", "CORE-024")
def test_keys_that_can_be_had_one_by_one_but_not_together_are_not_found() -> None:
    assert plan({"nodeSelector": {labels.REGION: "north", labels.ZONE: "zone-c"}}).launches == ()
    apart = affinity(required(selector(FAMILY, "NotIn", "x"), selector(labels.ZONE, "NotIn", "zone-c")))
    assert plan(apart).launches == ()


@pytest.mark.core("CORE-006", "CORE-007")
def test_a_label_that_only_machines_of_one_system_have() -> None:
    build = {labels.WINDOWS_BUILD: "10.0.1"}
    assert found(labels.OS, {"nodeSelector": build}) == {"windows"}
    assert found(labels.OS, {}, selector(labels.WINDOWS_BUILD, "In", "10.0.1")) == {"windows"}
    assert found(labels.OS, {"nodeSelector": {labels.OS: "linux", **build}}) == set()

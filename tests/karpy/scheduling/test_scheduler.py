from __future__ import annotations

import math
from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import Offering
from karpy.labels import LabelSpec
from karpy.resources import Resources
from karpy.scheduling.plan import Plan
from karpy.testing import make_instance_type, make_machine, make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

ARM, AMD = {labels.ARCH: "arm64"}, {labels.ARCH: "amd64"}
GPU = {"key": "gpu", "effect": "NoSchedule"}
BEARS_GPU = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}


def names(plan: Plan) -> list[str]:
    """The cheapest type of each launch."""
    return [launch.instance_types[0].name for launch in plan.launches]


def pools(plan: Plan) -> list[str]:
    return [launch.pool.name for launch in plan.launches]


def waiting(plan: Plan) -> list[str]:
    return sorted(pod for part in plan.unschedulable for pod in part.pods)


def affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


# Price


@pytest.mark.core("CORE-065", "CORE-066", "CORE-271")
def test_the_cheapest_type_that_fits_wins() -> None:
    plan = plan_of(make_nodepool(), make_pod(requests={"cpu": "1500m"}))
    assert names(plan) == ["a2"]
    assert [(t.name, t.price) for t in plan.launches[0].instance_types[:3]] == [
        ("a2", 0.032),
        ("c2", 0.04),
        ("a4", 0.064),
    ]
    assert plan.price == pytest.approx(0.032)


@pytest.mark.core("CORE-077", "CORE-281")
def test_price_decides_not_size_nor_capacity_type() -> None:
    big = make_instance_type("big", cpu="64", memory="256Gi", offerings=[Offering("zone-a", "on-demand", 0.01)])
    small = make_instance_type("small", cpu="2", offerings=[Offering("zone-a", "spot", 0.02)])
    assert names(plan_of(make_nodepool(), make_pod(requests={"cpu": "1"}), types=[small, big])) == ["big"]


@pytest.mark.parametrize("price", [math.nan, math.inf, -1.0, 0.0, None])
def test_a_type_without_a_real_price_never_wins(price: float) -> None:
    odd = make_instance_type("odd", offerings=[Offering("zone-a", "spot", price)])
    plain = make_instance_type("plain", offerings=[Offering("zone-a", "spot", 50.0)])
    plan = plan_of(make_nodepool(), make_pod(), types=[odd, plain])
    assert [t.name for t in plan.launches[0].instance_types] == ["plain", "odd"]


def test_equal_prices_are_settled_by_name() -> None:
    types = [make_instance_type(name, price=1.0) for name in ("b", "c", "a")]
    plan = plan_of(make_nodepool(), make_pod(), types=types)
    assert [t.name for t in plan.launches[0].instance_types] == ["a", "b", "c"]


def test_what_is_sold_out_is_not_on_offer() -> None:
    gone = make_instance_type("gone", offerings=[Offering("zone-a", "spot", 0.01, available=False)])
    assert names(plan_of(make_nodepool(), make_pod(), types=[gone, make_instance_type("here")])) == ["here"]


@pytest.mark.core("CORE-272", "CORE-273", "CORE-275", "CORE-276")
@pytest.mark.parametrize(
    ("on_pool", "on_pod", "cheapest", "price"),
    [
        ([], AMD, "c1", 0.02),
        ([selector(labels.ARCH, "In", "amd64")], {}, "c1", 0.02),
        ([], {labels.CAPACITY_TYPE: "on-demand"}, "a1", 0.04),
        ([selector(labels.CAPACITY_TYPE, "In", "on-demand")], {}, "a1", 0.04),
        ([selector(labels.CAPACITY_TYPE, "In", "on-demand")], AMD, "c1", 0.05),
        ([selector(labels.ZONE, "In", "zone-b")], {labels.INSTANCE_TYPE: "c8"}, "c8", 0.16),
    ],
)
def test_the_cheapest_is_sought_among_what_pool_and_pod_allow_together(
    on_pool: list[dict[str, Any]], on_pod: dict[str, str], cheapest: str, price: float
) -> None:
    plan = plan_of(
        make_nodepool(requirements=on_pool), make_pod(requests={"cpu": "500m"}, spec={"nodeSelector": on_pod})
    )
    assert names(plan) == [cheapest]
    assert plan.price == pytest.approx(price)


def test_no_more_types_are_kept_than_asked_for() -> None:
    many = [make_instance_type(f"t{n:03}", price=float(n + 1)) for n in range(650)]
    (launch,) = plan_of(make_nodepool(), make_pod(), types=many).launches
    assert (launch.considered, launch.feasible, len(launch.instance_types)) == (650, 650, 600)


# Requirements


@pytest.mark.core("CORE-001", "CORE-035")
def test_a_pod_that_asks_for_nothing_goes_anywhere() -> None:
    assert len(plan_of(make_nodepool(labels={"team": "a"}), make_pod()).launches) == 1


@pytest.mark.core("CORE-002", "CORE-003", "CORE-036", "CORE-040")
@pytest.mark.parametrize(("wanted", "placed"), [({"team": "a"}, True), ({"team": "b"}, False), ({"tier": "x"}, False)])
def test_a_selector_is_met_by_the_labels_of_a_pool(wanted: dict[str, str], placed: bool) -> None:
    plan = plan_of(make_nodepool(labels={"team": "a"}), make_pod(spec={"nodeSelector": wanted}))
    assert bool(plan.launches) is placed


@pytest.mark.core("CORE-004", "CORE-005")
@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        (selector("team", "In", "a"), True),
        (selector("team", "In", "b", "a"), True),
        (selector("team", "Exists"), True),
        (selector("team", "NotIn", "b"), True),
        (selector("team", "In", "b"), False),
        (selector("team", "NotIn", "a"), False),
        (selector("team", "DoesNotExist"), False),
    ],
)
def test_an_affinity_is_met_by_the_labels_of_a_pool(wanted: dict[str, Any], placed: bool) -> None:
    plan = plan_of(make_nodepool(labels={"team": "a"}), make_pod(spec=affinity([wanted])))
    assert bool(plan.launches) is placed


@pytest.mark.core("CORE-009", "CORE-010", "CORE-016")
def test_a_zone_that_nobody_sells_or_the_pool_forbids_is_not_found() -> None:
    pod = make_pod(spec={"nodeSelector": {labels.ZONE: "zone-x"}})
    assert waiting(plan_of(make_nodepool(), pod)) == ["default/pod"]
    picky = make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a")])
    pod = make_pod(spec={"nodeSelector": {labels.ZONE: "zone-b"}})
    assert waiting(plan_of(picky, pod)) == ["default/pod"]


@pytest.mark.core("CORE-012", "CORE-013", "CORE-014", "CORE-015")
@pytest.mark.parametrize(
    ("operator", "bound", "chosen"), [("Gt", "4", "c8"), ("Gte", "4", "c4"), ("Lt", "4", "c1"), ("Lte", "1", "c1")]
)
def test_bounds_on_numbers_choose_among_types(operator: str, bound: str, chosen: str) -> None:
    key = "cloud.test/cpu"
    types = [make_instance_type(f"c{n}", cpu=str(n), price=float(n), labels={key: str(n)}) for n in (1, 2, 4, 8)]
    pod = make_pod(spec=affinity([selector(key, operator, bound)]))
    assert names(plan_of(make_nodepool(), pod, types=types, spec=LabelSpec(frozenset({key})))) == [chosen]


@pytest.mark.core("CORE-063", "CORE-064")
def test_a_label_that_only_some_types_have_can_be_asked_for_or_refused() -> None:
    spec = LabelSpec(frozenset({"cloud.test/disk"}))
    plain = make_instance_type("plain", price=1.0, labels={"cloud.test/disk": None})
    types = [plain, make_instance_type("disk", price=2.0, labels={"cloud.test/disk": "1"})]
    exists = make_pod(spec=affinity([selector("cloud.test/disk", "Exists")]))
    lacks = make_pod(spec=affinity([selector("cloud.test/disk", "DoesNotExist")]))
    assert names(plan_of(make_nodepool(), exists, types=types, spec=spec)) == ["disk"]
    assert names(plan_of(make_nodepool(), lacks, types=types, spec=spec)) == ["plain"]


@pytest.mark.core("CORE-045", "CORE-046", "CORE-387")
def test_the_first_alternative_of_an_affinity_that_can_be_met_is() -> None:
    impossible, possible = [selector(labels.ARCH, "In", "mips")], [selector(labels.ARCH, "In", "amd64")]
    assert names(plan_of(make_nodepool(), make_pod(spec=affinity(impossible, possible)))) == ["c1"]
    assert waiting(plan_of(make_nodepool(), make_pod(spec=affinity(impossible, impossible)))) == ["default/pod"]


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"team": "a"}, **affinity([selector("team", "In", "b")])},
        affinity([selector("team", "In", "b"), selector("team", "In", "a")]),
        affinity([selector("team", "Exists"), selector("team", "DoesNotExist")]),
        affinity([]),
        {"nodeSelector": {"kubernetes.io/arch": "amd64", "beta.kubernetes.io/arch": "arm64"}},
    ],
)
def test_a_pod_that_contradicts_itself_goes_nowhere(spec: dict[str, Any]) -> None:
    """Neither to a node that lacks the label, nor to a new one that nobody would ever bind it to."""
    plan = plan_of(make_nodepool(), make_node("n"), make_pod(spec=spec))
    assert waiting(plan) == ["default/pod"]
    assert "no node can meet" in plan.unschedulable[0].reason or "no term" in plan.unschedulable[0].reason


def test_an_alternative_that_contradicts_itself_is_passed_over() -> None:
    impossible = [selector("team", "Exists"), selector("team", "DoesNotExist")]
    assert plan_of(make_nodepool(), make_pod(spec=affinity(impossible, [selector("team", "NotIn", "x")]))).placed == 1


@pytest.mark.core("CORE-042")
def test_pods_that_agree_share_a_node() -> None:
    one, other = make_pod("p", spec={"nodeSelector": AMD}), make_pod("q", spec={"nodeSelector": {labels.OS: "linux"}})
    assert [launch.pods for launch in plan_of(make_nodepool(), one, other).launches] == [("default/p", "default/q")]


@pytest.mark.core("CORE-043", "CORE-052", "CORE-057", "CORE-058")
@pytest.mark.parametrize(
    ("key", "values"),
    [
        (labels.ARCH, ("amd64", "arm64")),
        (labels.ZONE, ("zone-a", "zone-b")),
        (labels.INSTANCE_TYPE, ("c1", "c2")),
        (labels.CAPACITY_TYPE, ("spot", "on-demand")),
    ],
)
def test_pods_that_contradict_each_other_get_a_node_each(key: str, values: tuple[str, str]) -> None:
    pods = [make_pod(value, spec={"nodeSelector": {key: value}}) for value in values]
    assert len(plan_of(make_nodepool(), *pods).launches) == 2


@pytest.mark.core("CORE-044")
def test_a_value_that_one_pod_fixed_stays_when_another_only_wants_some() -> None:
    pool = make_nodepool(requirements=[selector("team", "In", "a", "b")])
    fixed = make_pod("p", spec={"nodeSelector": {"team": "a"}}, requests={"cpu": "1"})
    some = make_pod("q", spec=affinity([selector("team", "Exists")]))
    (launch,) = plan_of(pool, fixed, some).launches
    assert launch.requirements.labels()["team"] == "a"


@pytest.mark.core("CORE-008", "CORE-025", "CORE-026")
@pytest.mark.parametrize("key", ["kubernetes.io/hostname", "karpenter.sh/custom"])
def test_a_pod_that_asks_for_a_restricted_label_is_refused_and_others_proceed(key: str) -> None:
    bad = make_pod("bad", spec={"nodeSelector": {key: "x"}})
    also_bad = make_pod("worse", spec=affinity([selector(key, "In", "x")]))
    plan = plan_of(make_nodepool(), bad, also_bad, make_pod("good"))
    assert waiting(plan) == ["default/bad", "default/worse"]
    assert "is restricted" in plan.unschedulable[0].reason
    assert plan.placed == 1


# Resources


@pytest.mark.core("CORE-051", "CORE-073")
def test_a_pod_larger_than_any_type_waits() -> None:
    assert waiting(plan_of(make_nodepool(), make_pod(requests={"cpu": "17"}))) == ["default/pod"]


@pytest.mark.core("CORE-075", "CORE-076")
@pytest.mark.parametrize(("cpu", "found"), [("7", ["a8"]), ("16", ["a16"]), ("17", [])])
def test_what_an_init_container_needs_for_a_while_counts(cpu: str, found: list[str]) -> None:
    first = {"name": "first", "resources": {"requests": {"cpu": cpu}}}
    assert names(plan_of(make_nodepool(), make_pod(requests={"cpu": "1"}, spec={"initContainers": [first]}))) == found


@pytest.mark.core("CORE-322")
def test_accelerators_are_bought_for_pods_that_ask_for_them_and_for_no_others() -> None:
    gpu = make_instance_type("gpu", price=9.0, resources={"acme.com/gpu": "2"})
    types = [gpu, make_instance_type("plain")]
    pods = [
        make_pod("asks", requests={"acme.com/gpu": "1"}),
        make_pod("plain", spec={"nodeSelector": {labels.ZONE: "zone-b"}}),
    ]
    assert names(plan_of(make_nodepool(), pods[0], types=types)) == ["gpu"]
    assert names(plan_of(make_nodepool(), pods[1], types=types)) == ["plain"]
    two = {"acme.com/gpu": "2"}
    limits = {"containers": [{"name": "main", "resources": {"limits": two, "requests": two}}]}
    assert names(plan_of(make_nodepool(), make_pod(spec=limits), types=types)) == ["gpu"]


@pytest.mark.core("CORE-068", "CORE-071")
def test_many_small_pods_share_one_node_that_just_holds_them() -> None:
    plan = plan_of(make_nodepool(), *(make_pod(f"p{n}", requests={"cpu": "500m"}) for n in range(8)))
    assert names(plan) == ["a4"]


@pytest.mark.core("CORE-069")
def test_what_does_not_fit_the_largest_node_gets_another() -> None:
    plan = plan_of(make_nodepool(), *(make_pod(f"p{n:02}", requests={"cpu": "1"}) for n in range(40)))
    assert sorted(len(launch.pods) for launch in plan.launches) == [8, 16, 16]


@pytest.mark.core("CORE-074", "CORE-323")
def test_a_node_holds_no_more_pods_than_its_type_allows() -> None:
    few = make_instance_type("few", cpu="64", resources={"pods": "3"})
    plan = plan_of(make_nodepool(), *(make_pod(f"p{n}") for n in range(7)), types=[few])
    assert sorted(len(launch.pods) for launch in plan.launches) == [1, 3, 3]


@pytest.mark.core("CORE-059", "CORE-060")
def test_devices_are_found_where_they_are() -> None:
    types = [make_instance_type(name, resources={f"{name}.com/gpu": "2"}) for name in ("red", "blue")]
    red, blue = make_pod("p", requests={"red.com/gpu": "1"}), make_pod("q", requests={"blue.com/gpu": "1"})
    assert sorted(names(plan_of(make_nodepool(), red, blue, types=types))) == ["blue", "red"]
    both = make_pod("r", requests={"red.com/gpu": "1", "blue.com/gpu": "1"})
    assert waiting(plan_of(make_nodepool(), both, types=types)) == ["default/r"]


@pytest.mark.core("CORE-072")
def test_asking_for_none_of_a_device_is_asking_for_nothing() -> None:
    assert names(plan_of(make_nodepool(), make_pod(requests={"red.com/gpu": "0", "cpu": "0"}))) == ["a1"]


@pytest.mark.core("CORE-070")
def test_large_pods_go_first_and_small_ones_fill_the_gaps() -> None:
    large, small = make_pod("z-large", requests={"cpu": "15"}), make_pod("a-small", requests={"cpu": "1"})
    (launch,) = plan_of(make_nodepool(), small, large).launches
    assert launch.pods == ("default/z-large", "default/a-small")


# Taints and pools


@pytest.mark.core("CORE-238", "CORE-363")
def test_a_tainted_pool_takes_only_pods_that_bear_the_taint() -> None:
    plan = plan_of(make_nodepool(taints=[GPU]), make_pod("plain"), make_pod("bears", spec=BEARS_GPU))
    assert waiting(plan) == ["default/plain"]
    assert [launch.pods for launch in plan.launches] == [("default/bears",)]


@pytest.mark.core("CORE-239")
def test_startup_taints_do_not_matter() -> None:
    assert plan_of(make_nodepool(startup_taints=[GPU]), make_pod()).placed == 1


@pytest.mark.core("CORE-389", "CORE-396")
def test_a_pool_that_would_rather_not_is_used_when_no_other_can_be() -> None:
    rather_not = {"key": "batch", "effect": "PreferNoSchedule"}
    shy, other = make_nodepool("shy", taints=[rather_not], weight=50), make_nodepool("other")
    assert pools(plan_of(shy, other, make_pod())) == ["other"]
    assert pools(plan_of(shy, make_pod())) == ["shy"]


def test_every_alternative_is_tried_on_a_pool_that_would_rather_not() -> None:
    shy = make_nodepool("shy", taints=[{"key": "batch", "effect": "PreferNoSchedule"}], labels={"team": "a"})
    only_there, nowhere = [selector("team", "In", "a")], [selector("team", "In", "b")]
    assert pools(plan_of(shy, make_nodepool("other"), make_pod(spec=affinity(only_there, nowhere)))) == ["shy"]


@pytest.mark.core("CORE-397")
def test_the_heaviest_pool_that_can_take_a_pod_gets_it_whatever_it_costs() -> None:
    dear = make_nodepool("dear", weight=10, requirements=[selector(labels.INSTANCE_TYPE, "In", "c4")])
    cheap = make_nodepool("cheap", weight=1)
    assert pools(plan_of(cheap, dear, make_pod(requests={"cpu": "100m"}))) == ["dear"]
    assert pools(plan_of(cheap, dear, make_pod(requests={"cpu": "5"}))) == ["cheap"]


@pytest.mark.core("CORE-394", "CORE-395", "CORE-398")
def test_a_selector_beats_weight() -> None:
    heavy, light = make_nodepool("heavy", weight=99), make_nodepool("light", labels={"team": "a"})
    by_name = make_pod("p", spec={"nodeSelector": {labels.NODEPOOL: "light"}})
    by_label = make_pod("q", spec={"nodeSelector": {"team": "a"}})
    assert pools(plan_of(heavy, light, by_name, by_label)) == ["light"]


def test_pools_of_equal_weight_are_tried_from_the_end_of_the_alphabet() -> None:
    assert pools(plan_of(make_nodepool("a"), make_nodepool("b"), make_pod())) == ["b"]


@pytest.mark.core("CORE-399", "CORE-400")
def test_a_static_pool_launches_nothing_for_pods_and_its_nodes_take_them_like_any() -> None:
    static = make_nodepool("static", spec={"replicas": 1}, labels={"team": "a"})
    machine = make_machine("m", pool="static", room={"cpu": "1", "pods": "9"}, labels={"team": "a"})
    fits, other = make_pod("fits", requests={"cpu": "1"}), make_pod("other", requests={"cpu": "2"})
    only_there = make_pod("only-there", requests={"cpu": "3"}, spec={"nodeSelector": {"team": "a"}})
    plan = plan_of(static, make_nodepool("dynamic"), *machine, fits, other, only_there)
    assert [(nomination.node, nomination.pods) for nomination in plan.nominations] == [("m", ("default/fits",))]
    assert [(launch.pool.name, launch.pods) for launch in plan.launches] == [("dynamic", ("default/other",))]
    assert waiting(plan) == ["default/only-there"]


@pytest.mark.core("CORE-317")
def test_without_a_pool_pods_wait_and_are_told_why() -> None:
    plan = plan_of(make_pod())
    assert plan.unschedulable[0].reason == "no nodepool is ready to launch nodes"


# Independence


def test_one_pod_that_cannot_be_read_does_not_stop_the_others() -> None:
    odd = make_pod("odd", spec=affinity([selector("a", "Near", "b")]))
    plan = plan_of(make_nodepool(), odd, make_pod("good"))
    assert waiting(plan) == ["default/odd"]
    assert "unknown operator 'Near'" in plan.unschedulable[0].reason
    assert plan.placed == 1


def test_the_order_in_which_objects_are_told_does_not_matter() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": str(n % 3 + 1)}) for n in range(9)]
    pool = make_nodepool()
    forth, back = plan_of(pool, *pods), plan_of(*reversed(pods), pool)
    assert [launch.pods for launch in forth.launches] == [launch.pods for launch in back.launches]


def test_priority_plays_no_part() -> None:
    low = make_pod("a", requests={"cpu": "9"}, spec={"priority": -1})
    high = make_pod("b", requests={"cpu": "9"}, spec={"priority": 1000})
    plan = plan_of(make_nodepool(limits={"cpu": "16"}), low, high)
    assert waiting(plan) == ["default/b"]


# Offerings that give another machine than the type says

DEVICE = "acme.com/device"


def bought(price: float, zone: str = "zone-a", *, available: bool = True, **override: int) -> Offering:
    """An offering that has so many devices."""
    capacity = {DEVICE: override["devices"]} if override else None
    return Offering(
        zone, "on-demand", price, available, capacity_override=None if capacity is None else Resources(capacity)
    )


@pytest.mark.core("CORE-151")
def test_only_types_whose_overriding_offering_has_the_resource_are_on_offer() -> None:
    with_one = make_instance_type("with-one", offerings=[bought(1.0), bought(3.0, "zone-b", devices=1)])
    with_two = make_instance_type("with-two", offerings=[bought(2.0, devices=2)])
    plain = make_instance_type("plain", offerings=[bought(0.5)])
    types = [with_one, with_two, plain]

    def told(devices: str) -> list[tuple[str, float]]:
        (launch,) = plan_of(make_nodepool(), make_pod(requests={DEVICE: devices}), types=types).launches
        return [(priced.name, priced.price) for priced in launch.instance_types]

    assert told("1") == [("with-two", 2.0), ("with-one", 3.0)]
    assert told("2") == [("with-two", 2.0)]


@pytest.mark.core("CORE-152")
def test_an_override_that_would_hold_the_pod_but_is_sold_out_does_not_help() -> None:
    gone = make_instance_type("t", offerings=[bought(1.0), bought(1.0, "zone-b", available=False, devices=1)])
    assert waiting(plan_of(make_nodepool(), make_pod(requests={DEVICE: "1"}), types=[gone])) == ["default/pod"]


def test_a_pod_that_needs_the_override_in_a_zone_without_it_waits() -> None:
    found = make_instance_type("t", offerings=[bought(1.0), bought(1.0, "zone-b", devices=1)])
    pod = make_pod(requests={DEVICE: "1"}, spec={"nodeSelector": {labels.ZONE: "zone-a"}})
    assert waiting(plan_of(make_nodepool(), pod, types=[found])) == ["default/pod"]


def test_an_override_may_be_smaller_than_the_type() -> None:
    small = Offering("zone-a", "on-demand", 0.1, capacity_override=Resources({"cpu": 1000}))
    found = make_instance_type("t", cpu="4", offerings=[small, Offering("zone-b", "on-demand", 1.0)])
    pods = [make_pod(str(number), requests={"cpu": "800m"}) for number in range(3)]
    (launch,) = plan_of(make_nodepool(), *pods, types=[found]).launches
    assert (launch.price, launch.considered, launch.feasible) == (1.0, 1, 1)


def test_a_limit_holds_whichever_machine_is_bought_of_a_type() -> None:
    mixed = make_instance_type("mixed", offerings=[bought(1.0), bought(0.5, "zone-b", devices=4)])
    plain = make_instance_type("plain", offerings=[bought(2.0)])
    pool = make_nodepool(limits={DEVICE: "3"})
    assert names(plan_of(pool, make_pod(), types=[mixed, plain])) == ["plain"]

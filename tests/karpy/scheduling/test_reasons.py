from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import Offering
from karpy.resources import Resources
from karpy.scheduling.plan import PoolRefusal, RefusalKind, Unschedulable
from karpy.scheduling.reasons import Refusals
from karpy.testing import make_daemon_set, make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of

ARM_ONLY = [selector(labels.ARCH, "In", "arm64")]


def refusal(*objects: dict[str, Any], **arguments: Any) -> Unschedulable:
    (found,) = plan_of(*objects, **arguments).unschedulable
    return found


def main(*objects: dict[str, Any], **arguments: Any) -> PoolRefusal:
    (found,) = refusal(*objects, **arguments).refusals
    return found


@pytest.mark.core("CORE-145")
def test_the_constraint_that_excluded_the_most_types_is_named_first() -> None:
    pod = make_pod(requests={"cpu": "5"}, spec={"nodeSelector": {labels.INSTANCE_TYPE: "c4"}})
    found = main(make_nodepool(), pod)
    assert (found.main.kind, found.main.types, found.considered) == (RefusalKind.REQUIREMENT, 9, 10)
    assert str(found) == (
        'incompatible with nodepool "default": pod requirement node.kubernetes.io/instance-type In [c4]: excludes 9 of 10 '
        "instance types (also: request of 5 cpu (the most that any type has left beside daemons is 16): 6); "
        "no instance type has both the requirements and the resources "
        "(requirements: node.kubernetes.io/instance-type In [c4]; resources with daemons: cpu: 5, pods: 1)"
    )


def test_what_the_pool_itself_forbids_is_no_news() -> None:
    found = main(make_nodepool(requirements=ARM_ONLY), make_pod(requests={"cpu": "17"}))
    assert (found.main.kind, found.main.types, found.considered) == (RefusalKind.RESOURCE, 5, 5)


@pytest.mark.core("CORE-147")
def test_a_pool_that_is_left_with_no_type_is_told_why() -> None:
    found = main(make_nodepool(requirements=[selector(labels.ARCH, "In", "mips")]), make_pod())
    assert found.main.constraint == "nodepool requirement kubernetes.io/arch In [mips]"
    assert found.main.types == 10


def test_a_pool_that_rests_is_told_after_the_others() -> None:
    resting = make_nodepool("resting")
    resting["status"] = {"conditions": [{"type": "Resting", "status": "True", "message": "3 in a row failed"}]}
    found = refusal(resting, make_nodepool("arm", requirements=ARM_ONLY), make_pod(requests={"cpu": "17"}))
    assert [each.pool for each in found.refusals] == ["arm", "resting"]
    assert str(found.refusals[1]) == 'incompatible with nodepool "resting": it rests: 3 in a row failed'
    assert not plan_of(resting, make_nodepool("arm", requirements=ARM_ONLY), make_pod()).unschedulable


@pytest.mark.core("CORE-148")
def test_a_zone_without_offerings_is_told() -> None:
    found = main(make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-x")]), make_pod())
    assert "topology.kubernetes.io/zone In [zone-x]" in str(found)
    gone = make_instance_type(offerings=[Offering("zone-a", "spot", 1.0, available=False)])
    found = main(make_nodepool(), make_pod(), types=[gone])
    assert (found.main.kind, found.main.constraint) == (RefusalKind.OFFERING, "no offering that can be had now")


def test_a_zone_that_the_pod_wants_and_nobody_sells_is_told() -> None:
    found = main(make_nodepool(), make_pod(spec={"nodeSelector": {labels.ZONE: "zone-x"}}))
    assert found.main.constraint == "pod requirement topology.kubernetes.io/zone In [zone-x]"


@pytest.mark.parametrize(
    ("pool", "pod", "text"),
    [
        ({"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, {}, "did not tolerate taint gpu:NoSchedule"),
        ({"limits": {"nodes": 0}}, {}, "limit of nodes (0 left)"),
        (
            {"labels": {"team": "a"}},
            {"spec": {"nodeSelector": {"team": "b"}}},
            "key team, team In [b] not in team In [a]",
        ),
        ({}, {"spec": {"nodeSelector": {"zone": "a"}}}, 'label "zone" does not have known values (typo of '),
        ({}, {"requests": {"acme.com/gpu": "1"}}, "request of 1 acme.com/gpu (the most that any type has left"),
        ({}, {"requests": {"cpu": "2000000"}}, 'was "m" for milli-cores meant?'),
    ],
)
def test_each_kind_of_constraint_is_told_in_words(pool: dict[str, Any], pod: dict[str, Any], text: str) -> None:
    assert text in str(main(make_nodepool(**pool), make_pod(**pod)))


def test_daemons_are_blamed_for_what_they_take() -> None:
    found = main(make_nodepool(), make_daemon_set(requests={"cpu": "10"}), make_pod(requests={"cpu": "8"}))
    assert found.main.constraint == "request of 8 cpu (the most that any type has left beside daemons is 6)"


def test_constraints_that_only_fail_together_are_told_so() -> None:
    tall = make_instance_type("tall", cpu="1", memory="64Gi")
    wide = make_instance_type("wide", cpu="64", memory="1Gi")
    found = main(make_nodepool(), make_pod(requests={"cpu": "32", "memory": "32Gi"}), types=[tall, wide])
    assert {part.kind for part in found.excluded} == {RefusalKind.RESOURCE}
    apart = [make_instance_type("a", resources={"x/a": "1"}, cpu="1"), make_instance_type("b", cpu="9")]
    pods = [make_pod("p", requests={"x/a": "1", "cpu": "5"})]
    assert "no instance type has the resources (requirements: none" in str(main(make_nodepool(), *pods, types=apart))


@pytest.mark.core("CORE-145", "CORE-148")
def test_the_two_kinds_of_constraints_that_no_type_meets_together_are_named() -> None:
    offerings = [Offering("zone-a", "spot", 1.0), Offering("zone-b", "spot", 1.0, available=False)]
    types = [make_instance_type("here", offerings=offerings), make_instance_type("there", zones=["zone-b"], cpu="1")]
    pod = make_pod(requests={"cpu": "2"}, spec={"nodeSelector": {labels.ZONE: "zone-b"}})
    assert main(make_nodepool(), pod, types=types).together.startswith(
        "no instance type has both the resources and an offering that can be had"
    )


def test_types_that_fit_but_are_too_few_for_min_values_are_told_so() -> None:
    pool = make_nodepool(requirements=[selector(labels.INSTANCE_TYPE, "Exists", min_values=9)])
    found = main(pool, make_pod(requests={"cpu": "5"}))
    assert (found.main.kind, found.main.types) == (RefusalKind.RESOURCE, 6)
    assert found.together == "minValues asks for 9 values of node.kubernetes.io/instance-type (4 left)"


def test_where_no_constraint_does_it_alone_that_is_said_too() -> None:
    """Spread lets such pods be in zone-a alone, where there is nothing but the type that is too small."""
    types = [
        make_instance_type("small", cpu="2", zones=["zone-a"]),
        make_instance_type("large", cpu="8", zones=["zone-b"]),
    ]
    spread = {"maxSkew": 1, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spec = {"topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}]}
    pods = [make_pod(f"web-{n}", labels={"app": "web"}, requests={"cpu": "3"}, spec=spec) for n in range(2)]
    found = main(make_nodepool(), *pods, types=types)
    assert found.excluded[0].constraint.startswith("request of 3 cpu")
    assert str(found).endswith("excludes 1 of 2 instance types; no instance type meets all constraints together")


def test_the_resources_with_daemons_are_a_range_where_daemons_depend_on_the_type() -> None:
    daemon = make_daemon_set(requests={"cpu": "1"}, spec={"nodeSelector": {labels.ARCH: "arm64"}})
    pod = make_pod(requests={"cpu": "5"}, spec={"nodeSelector": {labels.INSTANCE_TYPE: "c4"}})
    assert "resources with daemons: from cpu: 5, pods: 1 to cpu: 6, pods: 2" in str(main(make_nodepool(), daemon, pod))


def test_reasons_are_worked_out_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    work_out = Refusals.of
    monkeypatch.setattr(Refusals, "of", lambda self, *given: asked.append("") or work_out(self, *given))
    found = refusal(make_nodepool(), make_pod(requests={"cpu": "99"}))
    assert not asked
    assert "request of 99 cpu" in found.reason
    assert found.refusals[0].main.types == 10
    assert len(asked) == 1


def test_a_pool_without_instance_types_says_so() -> None:
    assert refusal(make_nodepool(), make_pod(), types=[]).reason == "no nodepool is ready to launch nodes"


@pytest.mark.core("CORE-146")
def test_every_pool_gives_its_own_reason_and_pods_that_are_alike_share_it() -> None:
    pools = [make_nodepool("a", limits={"nodes": 0}), make_nodepool("b", taints=[{"key": "x", "effect": "NoExecute"}])]
    found = refusal(*pools, make_pod("p"), make_pod("q"))
    assert found.pods == ("default/p", "default/q")
    assert [part.pool for part in found.refusals] == ["b", "a"]
    assert found.reason == (
        'incompatible with nodepool "b": did not tolerate taint x:NoExecute; '
        'incompatible with nodepool "a": limit of nodes (0 left)'
    )


def test_a_type_that_is_sold_as_different_machines_counts_once() -> None:
    plain, special = (
        Offering("zone-a", "spot", 1.0),
        Offering("zone-b", "spot", 2.0, capacity_override=Resources({"acme.com/gpu": 1})),
    )
    types = [make_instance_type("mixed", cpu="2", offerings=[plain, special]), make_instance_type("small", cpu="1")]
    found = main(make_nodepool(), make_pod(requests={"cpu": "4"}), types=types)
    assert (found.main.types, found.considered) == (2, 2)
    found = main(make_nodepool(), make_pod(requests={"acme.com/gpu": "1", "cpu": "4"}), types=types)
    assert [part.types for part in found.excluded] == [2, 1]  # one of the machines of "mixed" has the device

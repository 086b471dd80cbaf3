from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import Offering
from karpy.scheduling.explain.explanation import ConstraintKind, Explanation
from karpy.testing import (
    make_daemon_set,
    make_instance_type,
    make_node,
    make_nodepool,
    make_pod,
    selector,
)
from tests.judge import plan_of

Json = dict[str, Any]
NO_PODS = {"cpu": "1", "pods": "0"}


def explained(*objects: Json, **arguments: Any) -> Explanation:
    return plan_of(*objects, **arguments).explain("default/pod")


def conflict(explanation: Explanation) -> list[str]:
    return [str(constraint) for constraint in explanation.conflict]


def nearest(explanation: Explanation) -> list[str]:
    return [" and ".join(miss.changes) for miss in explanation.nearest]


def test_an_explanation_reads_as_a_text_that_one_can_act_on() -> None:
    pools = [
        make_nodepool("a", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
        make_nodepool("b", limits={"memory": "6Gi"}),
    ]
    assert str(explained(*pools, make_pod(requests={"memory": "7Gi"}))).splitlines() == [
        "pod default/pod cannot be placed",
        "what keeps it out (these together, and no fewer of them):",
        '  - nodepool "b": limit of 6Gi memory',
        "  - pod: request of 7Gi memory",
        '  - nodepool "a": taint gpu:NoSchedule, which the pod does not tolerate',
        "any one of these would give it a place:",
        "  - 2Gi more of the memory limit of nodepool \"b\" (a limit of 8Gi) (then: a new a2 of nodepool 'b' at $0.0320/h)",
        "  - a request of at most 4Gi memory (3Gi less) (then: a new a1 of nodepool 'b' at $0.0160/h)",
        "  - the toleration {key: gpu, operator: Exists, effect: NoSchedule} (then: a new a2 of nodepool 'a' at $0.0320/h)",
        "instance types:",
        '  nodepool "b": 10 types → 8 after request of 7Gi memory → 0 after what is left of limits',
        '  nodepool "a": 10 types → 0 after taint gpu:NoSchedule',
    ]


def test_what_the_pod_and_a_pool_ask_of_one_label_are_blamed_together() -> None:
    pod = make_pod(requests={"cpu": "1"}, spec={"nodeSelector": {labels.ZONE: "zone-c", labels.ARCH: "arm64"}})
    found = explained(make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a", "zone-b")]), pod)
    assert conflict(found) == [
        f'nodepool "default": requirement {labels.ZONE} In [zone-a zone-b]',
        f"pod: nodeSelector {labels.ZONE}: zone-c",
    ]
    assert nearest(found) == [
        f'nodepool "default" allowing {labels.ZONE} zone-c',
        f"nodeSelector {labels.ZONE}: zone-a or zone-b",
    ]
    assert found.also == ()


def test_several_conflicts_are_told_apart_and_settled_together() -> None:
    pool = make_nodepool(requirements=[selector(labels.ARCH, "In", "amd64")])
    found = explained(pool, make_pod(requests={"memory": "100Gi"}, spec={"nodeSelector": {labels.ARCH: "arm64"}}))
    assert conflict(found) == ["pod: request of 100Gi memory"]
    ((first, second),) = found.also
    assert (first.kind, second.kind) == (ConstraintKind.POOL_REQUIREMENT, ConstraintKind.NODE_SELECTOR)
    assert nearest(found) == [
        f"a request of at most 64Gi memory (36Gi less) and nodeSelector {labels.ARCH}: amd64",
    ]
    assert "what keeps it out, 2 of 2:" in str(found)


@pytest.mark.parametrize(
    ("pool", "label", "near"),
    [
        ({"labels": {"team": "a"}}, {"team": "b"}, ['label team: b on nodepool "default"', "nodeSelector team: a"]),
        ({}, {"team": "b"}, ['label team: b on nodepool "default"']),
        ({}, {labels.ARCH: "mips"}, [f"nodeSelector {labels.ARCH}: arm64"]),
        ({}, {"karpenter.sh/x": "y"}, ["no nodeSelector karpenter.sh/x"]),
    ],
)
def test_a_label_that_no_node_has_is_answered_by_one_that_it_could_have(
    pool: Json, label: Json, near: list[str]
) -> None:
    assert nearest(explained(make_nodepool(**pool), make_pod(spec={"nodeSelector": label}))) == near


def test_each_expression_of_a_required_node_affinity_stands_for_itself() -> None:
    terms = [{"matchExpressions": [selector(labels.ARCH, "Exists"), selector(labels.ZONE, "In", "zone-x", "zone-y")]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    found = explained(make_nodepool(), make_pod(spec={"affinity": affinity}))
    assert conflict(found) == [f"pod: required node affinity {labels.ZONE} In [zone-x zone-y]"]
    assert nearest(found) == [f"node affinity {labels.ZONE} In zone-a or zone-b or zone-c"]
    terms[0]["matchExpressions"][1]["key"] = "team"
    terms.append({"matchExpressions": [selector(labels.ZONE, "In", "zone-x")]})
    found = explained(make_nodepool(), make_pod(spec={"affinity": affinity}))
    assert conflict(found) == [
        f"pod: required node affinity ({labels.ARCH} Exists and team In [zone-x zone-y]) or ({labels.ZONE} In [zone-x])"
    ]


# What others take


def test_a_limit_counts_what_the_plan_itself_takes_of_it() -> None:
    pods = [make_pod("first", requests={"cpu": "9"}), make_pod(requests={"cpu": "8"})]
    found = explained(make_nodepool(limits={"cpu": "18"}), *pods)
    assert nearest(found)[0] == '6 more of the cpu limit of nodepool "default" (a limit of 24)'


def test_a_pod_may_be_told_of_room_on_a_node_or_on_a_planned_machine() -> None:
    node = make_node("n", room={"cpu": "2", "memory": "8Gi", "pods": "9"})
    assert str(explained(node, make_pod(requests={"cpu": "3"})).nearest[0]) == (
        "a request of at most 2 cpu (1 less) (then: node n has room)"
    )
    pods = [make_pod("first", requests={"cpu": "3"}), make_pod(requests={"cpu": "2"})]
    (miss,) = (
        each
        for each in explained(make_nodepool(limits={"nodes": 1}), *pods, types=four()).nearest
        if "most" in str(each)
    )
    assert str(miss) == (
        "a request of at most 1 cpu (1 less) (then: beside 1 other pod(s) on a new four of nodepool 'default')"
    )


def four() -> list[Any]:
    return [make_instance_type("four", cpu="4")]


def test_daemons_are_to_blame_where_they_leave_no_room_for_anybody() -> None:
    found = explained(make_nodepool(), make_daemon_set("agent", requests={"cpu": "40"}), make_pod())
    assert conflict(found) == ["cluster: daemon sets agent"]
    beside = explained(
        make_nodepool(), make_daemon_set("agent", requests={"cpu": "4"}), make_pod(requests={"cpu": "14"})
    )
    assert nearest(beside) == ["a request of at most 12 cpu (2 less)"]


def test_an_offering_that_is_sold_out_is_named() -> None:
    gone = [Offering("zone-a", "spot", 1.0, available=False)]
    types = [make_instance_type("small"), make_instance_type("large", cpu="8", offerings=gone)]
    found = explained(make_nodepool(), make_pod(requests={"cpu": "3"}), types=types)
    assert conflict(found) == ["cloud: offerings that cannot be had now", "pod: request of 3 cpu"]
    assert nearest(found)[0] == "large on sale again"
    assert [step.left for step in found.funnel[0].steps][-3:] == [1, 0, 0]


def test_a_pool_that_is_not_ready_is_named_with_its_message() -> None:
    pool = make_nodepool()
    pool["status"] = {"conditions": [{"type": "Ready", "status": "False", "message": "no such NodeClass"}]}
    found = explained(pool, make_pod())
    assert conflict(found) == ['nodepool "default": it is not ready: no such NodeClass']
    assert nearest(found) == ['nodepool "default" ready again']


def test_a_pool_that_rests_is_named_with_its_message() -> None:
    pool = make_nodepool()
    pool["status"] = {"conditions": [{"type": "Resting", "status": "True", "message": "3 in a row failed"}]}
    found = explained(pool, make_pod())
    assert conflict(found) == ['nodepool "default": it rests: 3 in a row failed']
    assert nearest(found) == ['nodepool "default" ready again']


def test_min_values_that_cannot_be_met_are_told_with_what_can() -> None:
    many = [selector(labels.INSTANCE_TYPE, "In", "c1", "c2", "c4", min_values=4)]
    found = explained(make_nodepool(requirements=many), make_pod())
    assert [constraint.kind for constraint in found.conflict] == [
        ConstraintKind.POOL_MIN_VALUES,
        ConstraintKind.POOL_REQUIREMENT,
    ]
    assert nearest(found)[0] == f'minValues 3 for {labels.INSTANCE_TYPE} on nodepool "default"'


# Where other pods are


def spread(key: str, skew: int = 1, **fields: Any) -> Json:
    about = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": key}
    constraint = {"maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", **about, **fields}
    return {"labels": {"app": "x"}, "spec": {"topologySpreadConstraints": [constraint]}}


def test_a_spread_over_a_zone_that_cannot_be_reached_is_told_with_a_skew_that_would_do() -> None:
    full = make_node("n", labels={labels.ZONE: "zone-b"}, room=NO_PODS)
    pool = make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a")])
    found = explained(pool, full, make_pod("other", **spread(labels.ZONE)), make_pod(**spread(labels.ZONE)))
    assert conflict(found)[1] == f"pod: topology spread over {labels.ZONE}, maxSkew 1"
    assert nearest(found) == [
        f'nodepool "default" allowing {labels.ZONE} zone-b',
        f"maxSkew 2 over {labels.ZONE}",
    ]


def test_min_domains_that_there_are_not_are_told_with_those_that_there_are() -> None:
    pods = [make_pod(name, **spread(labels.ZONE, minDomains=5)) for name in ("a", "b", "c", "pod")]
    found = explained(make_nodepool(), *pods)
    assert nearest(found) == [f"maxSkew 2 over {labels.ZONE}", f"minDomains 3 over {labels.ZONE}"]


def apart(key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_a_pod_that_another_keeps_away_learns_which_one() -> None:
    pool = make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a")])
    alone = make_pod("alone", labels={"app": "x"}, spec=apart(labels.ZONE))
    found = explained(pool, alone, make_pod(labels={"app": "x"}))
    assert conflict(found)[0] == "cluster: required pod anti-affinity of default/alone"
    assert nearest(found)[:2] == [
        "no pod anti-affinity of default/alone",
        f'nodepool "default" allowing {labels.ZONE} zone-b',
    ]


def test_affinity_to_pods_that_are_nowhere_is_to_blame() -> None:
    term = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = explained(make_nodepool(), make_pod(spec={"affinity": affinity}))
    assert conflict(found) == [f"pod: required pod affinity by {labels.ZONE} to pods with app=x"]


def test_host_ports_and_taints_of_nodes_are_told() -> None:
    spec = {"containers": [{"name": "main", "ports": [{"hostPort": 80}]}]}
    tainted = make_node("t", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    found = explained(make_node("n"), tainted, make_pod("other", node="n", spec=spec), make_pod(spec=spec))
    assert conflict(found) == [
        "pod: host port 80/TCP",
        "nodes: taint gpu=yes:NoSchedule, which the pod does not tolerate",
    ]
    assert nearest(found) == [
        "another host port than 80",
        "the toleration {key: gpu, operator: Equal, value: yes, effect: NoSchedule}",
    ]


def test_a_volume_that_is_elsewhere_is_told() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"storageClassName": "far"},
    }
    far = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "far"},
        "provisioner": "x",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": labels.ZONE, "values": ["zone-x"]}]}],
    }
    volumes = [{"name": "disk", "persistentVolumeClaim": {"claimName": "data"}}]
    found = explained(make_nodepool(), claim, far, make_pod(spec={"volumes": volumes}))
    assert conflict(found) == ["pod: volume disk (PersistentVolumeClaim data)"]


# What is no conflict


def test_where_nothing_that_anybody_asked_for_is_to_blame_the_reason_stands() -> None:
    found = explained(make_pod(requests={"cpu": "1"}))
    assert (str(found), found.conflict) == (
        "pod default/pod cannot be placed: no nodepool is ready to launch nodes",
        (),
    )


def test_a_pod_that_gets_a_node_sees_where_the_other_types_went() -> None:
    pod = make_pod(requests={"cpu": "3"}, spec={"nodeSelector": {labels.ARCH: "arm64"}})
    found = explained(make_nodepool(), pod, make_pod("beside", requests={"cpu": "4"}))
    assert found.conflict == found.nearest == ()
    (funnel,) = found.funnel
    assert str(funnel) == (
        f'nodepool "default": 10 types → 5 after {labels.ARCH} In [arm64] → 3 after request of 3 cpu '
        "→ 2 after 1 other pod(s) on the same node → a8 at $0.1280/h"
    )
    assert (funnel.types, funnel.cheapest) == (10, found.outcome.instance_types[0])  # type: ignore[union-attr]


def test_a_pod_that_is_refused_whatever_machines_there_are_is_told_the_reason_first() -> None:
    found = explained(
        make_nodepool(), make_pod(spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]})
    )
    assert found.summary.startswith("pod default/pod cannot be placed: getting persistent volume claim")
    assert conflict(found) == ["pod: volume data (PersistentVolumeClaim d)"]


def test_a_change_that_does_by_itself_is_not_told_again_together_with_another() -> None:
    """The pod that is there keeps this one away too, so giving up its own anti-affinity is not enough."""
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    pods = [make_pod(name, labels={"app": "web"}, spec=spec) for name in ("first", "pod")]
    found = explained(make_nodepool(limits={"nodes": 1}), *pods)
    assert nearest(found) == ['1 more of the nodes limit of nodepool "default" (a limit of 2)']


def test_questions_about_other_pools_have_other_domains() -> None:
    """With the label of pool b dropped there is no value of it left; what is planned there must not be counted by the old ones."""
    term = {"topologyKey": "team", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    wish = {"weight": 1, "podAffinityTerm": {"topologyKey": labels.ARCH, "labelSelector": {}}}
    spec = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}
    pools = [make_nodepool("a"), make_nodepool("b", labels={"team": "red"})]
    found = explained(
        *pools, make_pod("other", labels={"app": "x"}, spec=apart), make_pod(requests={"acme.com/gpu": "1"}, spec=spec)
    )
    assert conflict(found) == ["pod: request of 1 acme.com/gpu"]

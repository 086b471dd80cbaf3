from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.labels import KUBELET_CONVERSION
from karpy.objects.budget import Budget
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirement
from karpy.resources import Resources
from karpy.taints import Taint
from karpy.testing import make_condition, make_nodepool, selector


def pool(**arguments: Any) -> NodePool:
    return NodePool.from_dict(make_nodepool(**arguments))


def test_what_is_not_said_has_karpenters_defaults() -> None:
    plain = pool()
    assert (plain.weight, plain.limits, plain.replicas) == (0, None, None)
    assert (plain.consolidation_policy, plain.consolidate_after_s) == ("WhenEmptyOrUnderutilized", 0.0)
    assert plain.expire_after_s == 720 * 3600
    assert plain.termination_grace_period_s is None
    assert plain.budgets == (Budget("10%"),)


def test_everything_that_is_said_is_read() -> None:
    full = pool(
        name="gpu",
        requirements=[selector("kubernetes.io/arch", "In", "amd64", min_values=1)],
        labels={"team": "ml"},
        taints=[{"key": "gpu", "effect": "NoSchedule"}],
        startup_taints=[{"key": "boot", "effect": "NoExecute"}],
        limits={"cpu": "100", "nodes": 3},
        weight=10,
        disruption={
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "Never",
            "budgets": [{"nodes": "20%", "reasons": ["Empty"]}, {"nodes": "0", "schedule": "@daily", "duration": "8h"}],
        },
        template={"expireAfter": "Never", "terminationGracePeriod": "5m"},
    )
    assert full.requirements["kubernetes.io/arch"] == Requirement.in_("kubernetes.io/arch", "amd64", min_values=1)
    assert (full.taints, full.startup_taints) == (
        (Taint("gpu", effect="NoSchedule"),),
        (Taint("boot", effect="NoExecute"),),
    )
    assert full.limits == Resources({"cpu": 100_000, "nodes": 3})
    assert full.weight == 10
    assert (full.consolidation_policy, full.consolidate_after_s) == ("WhenEmpty", None)
    assert full.budgets == (Budget("20%", reasons=("Empty",)), Budget("0", "@daily", 8 * 3600.0))
    assert (full.expire_after_s, full.termination_grace_period_s) == (None, 300.0)


def test_requirements_and_labels_and_its_name_describe_the_nodes_of_a_pool() -> None:
    described = pool(name="blue", labels={"team": "a"}, requirements=[selector("team", "In", "a", "b")])
    assert described.template_requirements.labels() == {"team": "a", "karpenter.sh/nodepool": "blue"}


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        (
            "spec.template.spec.requirements[1].operator",
            {"requirements": [selector("a", "Exists"), selector("b", "Is")]},
        ),
        ("spec.limits.cpu", {"limits": {"cpu": "many"}}),
        ("spec.weight", {"weight": 101}),
        ("spec.weight", {"weight": 0}),
        ("spec.template.spec.expireAfter", {"template": {"expireAfter": "1 week"}}),
        ("spec.disruption.consolidateAfter", {"disruption": {"consolidateAfter": "soon"}}),
        ("spec.disruption.consolidationPolicy", {"disruption": {"consolidationPolicy": "Always"}}),
        ("spec.disruption.budgets[0]", {"disruption": {"budgets": [{"nodes": "1", "schedule": "@daily"}]}}),
    ],
)
def test_a_refusal_names_object_and_field(path: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidObject) as caught:
        pool(name="bad", **arguments)
    assert (caught.value.object_name, caught.value.path) == ("NodePool/bad", path)
    assert caught.value.accepted


def test_a_field_of_the_wrong_type_is_refused_by_its_path() -> None:
    with pytest.raises(InvalidObject, match=r"NodePool/default: spec\.weight: found 'heavy' \(accepted: an integer\)"):
        pool(spec={"weight": "heavy"})


def test_fields_that_karpy_does_not_know_are_skipped() -> None:
    assert pool(spec={"futureField": {"a": 1}}) is not None


# v1beta1


def v1beta1(disruption: dict[str, Any], reference: dict[str, str]) -> NodePool:
    raw = make_nodepool(disruption=disruption, template={"nodeClassRef": reference})
    return NodePool.from_dict({**raw, "apiVersion": "karpenter.sh/v1beta1"})


def test_v1beta1_names_of_things_are_understood() -> None:
    old = v1beta1(
        {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "24h"},
        {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"},
    )
    assert old.consolidation_policy == "WhenEmptyOrUnderutilized"
    assert old.expire_after_s == 24 * 3600
    assert old.node_class == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def test_v1beta1_may_leave_group_and_kind_of_the_node_class_open() -> None:
    assert v1beta1({}, {"name": "default"}).node_class == NodeClassRef("", "", "default")


# Use


@pytest.mark.core("CORE-397")
def test_heavier_pools_come_first_and_equal_ones_from_the_end_of_the_alphabet() -> None:
    pools = [pool(name="a"), pool(name="b"), pool(name="light", weight=1), pool(name="heavy", weight=9)]
    assert [p.name for p in sorted(pools, key=lambda p: p.order)] == ["heavy", "light", "b", "a"]


@pytest.mark.core("CORE-030", "CORE-316", "CORE-399")
def test_a_pool_grows_unless_it_is_static_leaving_or_not_ready() -> None:
    def status(value: str) -> NodePool:
        return NodePool.from_dict(
            {**make_nodepool(), "status": {"conditions": [make_condition("Ready", status=value)]}}
        )

    leaving = make_nodepool()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    assert pool().may_grow
    assert status("True").may_grow
    assert not status("False").may_grow
    assert not status("Unknown").may_grow
    assert not pool(spec={"replicas": 2}).may_grow
    assert not NodePool.from_dict(leaving).may_grow


def test_the_kubelet_block_is_the_pools_own_or_what_a_conversion_wrote_down() -> None:
    raw = make_nodepool()
    raw["metadata"]["annotations"] = {KUBELET_CONVERSION: '{"maxPods":30}'}
    assert NodePool.from_dict(raw).kubelet == {"maxPods": 30}
    raw["spec"]["template"]["spec"]["kubelet"] = {"maxPods": 20}
    assert NodePool.from_dict(raw).kubelet == {"maxPods": 20}
    assert NodePool.from_dict(make_nodepool()).kubelet is None


@pytest.mark.parametrize("text", ["[]", "{", "maxPods: 30"])
def test_a_kubelet_block_that_was_written_down_wrongly_is_refused(text: str) -> None:
    raw = make_nodepool()
    raw["metadata"]["annotations"] = {KUBELET_CONVERSION: text}
    with pytest.raises(InvalidObject, match=r"v1beta1-kubelet-conversion.*a JSON object"):
        NodePool.from_dict(raw)

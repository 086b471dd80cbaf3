from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.capacitybuffer import ACTIVE_CAPACITY, CapacityBuffer
from karpy.resources import Resources
from karpy.testing import make_buffer


def test_a_buffer_names_a_template_or_a_workload_of_its_own_namespace() -> None:
    by_template = CapacityBuffer.from_dict(make_buffer("b", namespace="team", template="chunk", replicas=2))
    assert by_template.key == "team/b"
    assert by_template.target == (kinds.POD_TEMPLATE, "team/chunk")
    by_workload = CapacityBuffer.from_dict(make_buffer(namespace="team", workload="db", kind=kinds.STATEFUL_SET))
    assert by_workload.target == (kinds.STATEFUL_SET, "team/db")
    assert CapacityBuffer.from_dict(make_buffer(replicas=1)).target is None


@pytest.mark.core("CORE-460")
def test_what_is_not_said_has_its_default() -> None:
    found = CapacityBuffer.from_dict(make_buffer(template="chunk", replicas=2))
    assert found.spec.provisioning_strategy == ACTIVE_CAPACITY
    assert found.limits is None
    assert found.status.conditions == ()


def test_limits_are_amounts() -> None:
    found = CapacityBuffer.from_dict(make_buffer(template="chunk", limits={"cpu": "1500m", "memory": "1Gi"}))
    assert found.limits == Resources({"cpu": 1500, "memory": 2**30})


def test_the_group_of_a_workload_need_not_be_said() -> None:
    buffer = make_buffer(workload="web", replicas=1)
    del buffer["spec"]["scalableRef"]["apiGroup"]
    assert CapacityBuffer.from_dict(buffer).target == (kinds.DEPLOYMENT, "default/web")


@pytest.mark.core("CORE-457", "CORE-460")
@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (
            {"template": "chunk", "workload": "web", "replicas": 1},
            "spec: found both podTemplateRef and scalableRef (accepted: one of them)",
        ),
        (
            {"template": "chunk"},
            "spec: found podTemplateRef without replicas and limits (accepted: one of these with it)",
        ),
        (
            {"template": "chunk", "percentage": 50},
            "spec: found podTemplateRef without replicas and limits (accepted: one of these with it)",
        ),
        (
            {"template": "chunk", "replicas": -1},
            "spec.replicas: found -1 (accepted: a whole number, 0 or more)",
        ),
        (
            {"workload": "web", "percentage": -5},
            "spec.percentage: found -5 (accepted: a whole number, 0 or more)",
        ),
        (
            {"template": "chunk", "limits": {"cpu": "-1"}},
            "spec.limits.cpu: found '-1' (accepted: a quantity, 0 or more)",
        ),
        (
            {"podTemplateRef": {"name": ""}, "replicas": 1},
            "spec.podTemplateRef.name: found nothing (accepted: text that is not empty)",
        ),
        (
            {"scalableRef": {"kind": "Deployment"}, "replicas": 1},
            "spec.scalableRef.name: found nothing (accepted: text that is not empty)",
        ),
        (
            {"scalableRef": {"kind": "Job", "name": "j"}, "replicas": 1},
            "spec.scalableRef.kind: found 'Job' (accepted: Deployment, StatefulSet, ReplicaSet)",
        ),
        (
            {"scalableRef": {"apiGroup": "batch", "kind": "Deployment", "name": "d"}},
            "spec.scalableRef.apiGroup: found 'batch' (accepted: 'apps')",
        ),
    ],
)
def test_a_bad_buffer_is_refused_by_field(spec: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        CapacityBuffer.from_dict(make_buffer("b", **spec))
    assert str(caught.value) == f"CapacityBuffer/default/b: {complaint}"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"replicas": "many"}, "spec.replicas"),
        ({"limits": {"cpu": "much"}}, "spec.limits.cpu"),
        ({"limits": 3}, "spec.limits"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        CapacityBuffer.from_dict(make_buffer("b", template="chunk", **spec))
    assert (caught.value.object_name, caught.value.path) == ("CapacityBuffer/default/b", path)


def test_a_time_that_is_none_is_refused_when_it_is_read() -> None:
    buffer = make_buffer("b", template="chunk", replicas=1)
    buffer["metadata"]["creationTimestamp"] = "yesterday"
    with pytest.raises(InvalidObject, match=r"^CapacityBuffer/default/b: metadata\.creationTimestamp: 'yesterday'"):
        CapacityBuffer.from_dict(buffer)

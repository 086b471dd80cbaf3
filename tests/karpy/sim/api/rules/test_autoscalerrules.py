"""Autoscalers whose metrics say too little, too much, or nothing that can be reckoned with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.karpy.sim.api.conftest import Client

PATH = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
GOAL = {"type": "AverageValue", "averageValue": "5"}


def autoscaler(*metrics: dict[str, Any]) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": reference, "metrics": list(metrics)},
    }


def cpu(**target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


@pytest.mark.parametrize(
    "metric",
    [
        cpu(type="Utilization", averageUtilization=50),
        cpu(**GOAL),
        {"type": "Pods", "pods": {"metric": {"name": "queries"}, "target": GOAL}},
        {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}}},
        {"type": "Object", "object": {"metric": {"name": "hits"}, "target": GOAL,
                                      "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"}}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": GOAL}},
    ],
)  # fmt: skip
def test_metrics_of_each_kind_are_taken(rest: Client, metric: dict[str, Any]) -> None:
    assert rest("POST", PATH, autoscaler(metric))[0] == 201


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        ({}, "spec.metrics[0].type: Required value: must specify a metric source type"),
        ({"type": "Odd"}, 'spec.metrics[0].type: Unsupported value: "Odd": supported values: "ContainerResource", "External"'),
        ({"type": "Pods"}, "spec.metrics[0].pods: Required value: must populate information for the given metric source"),
        ({**cpu(**GOAL), "pods": {"metric": {"name": "q"}, "target": GOAL}},
         "spec.metrics[0].pods: Forbidden: must populate the given metric source only"),
        ({"type": "Resource", "resource": {"target": GOAL}}, "resource.name: Required value: must specify a resource name"),
        ({"type": "ContainerResource", "containerResource": {"name": "cpu", "target": GOAL}}, ".container: Required value"),
        ({"type": "Pods", "pods": {"target": GOAL}}, "pods.metric.name: Required value: must specify a metric name"),
        ({"type": "Object", "object": {"metric": {"name": "q"}, "target": GOAL}}, "describedObject.kind: Required value"),
        (cpu(), "target.type: Required value: must specify a metric target type"),
        (cpu(type="Odd", averageValue="1"), '"Odd": must be either Utilization, Value, or AverageValue'),
        (cpu(type="AverageValue", averageValue="0"), 'target.averageValue: Invalid value: "0": must be positive'),
        (cpu(type="Utilization", averageUtilization=0), "target.averageUtilization: Invalid value: 0: must be greater than 0"),
        (cpu(type="Utilization"), "target.averageUtilization: Required value: must set either a target raw value or"),
        ({"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}},
         "target.averageValue: Required value: must specify a positive target averageValue"),
    ],
)  # fmt: skip
def test_metrics_that_are_refused(rest: Client, metric: dict[str, Any], problem: str) -> None:
    code, answer = rest("POST", PATH, autoscaler(metric))
    assert code == 422, answer
    assert problem in answer["message"]


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"policies": []}, "scaleUp.policies: Required value: must specify at least one Policy"),
        ({"selectPolicy": "Odd"}, 'scaleUp.selectPolicy: Unsupported value: "Odd": supported values: "Disabled", "Max", "Min"'),
        ({"stabilizationWindowSeconds": 3601}, "Invalid value: 3601: must be less than or equal to 3600"),
        ({"stabilizationWindowSeconds": -1}, "Invalid value: -1: must be greater than or equal to zero"),
        ({"policies": [{"value": 1, "periodSeconds": 5}]}, 'scaleUp.policies[0].type: Unsupported value: ""'),
        ({"policies": [{"type": "Pods", "periodSeconds": 5}]}, "policies[0].value: Invalid value: 0: must be greater than zero"),
        ({"policies": [{"type": "Pods", "value": 1}]}, "periodSeconds: Invalid value: 0: must be greater than zero"),
        ({"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1801}]}, "must be less than or equal to 1800"),
    ],
)  # fmt: skip
def test_rates_that_are_refused(rest: Client, rules: dict[str, Any], problem: str) -> None:
    obj = autoscaler(cpu(**GOAL))
    obj["spec"]["behavior"] = {"scaleUp": rules}
    code, answer = rest("POST", PATH, obj)
    assert code == 422, answer
    assert problem in answer["message"]

"""ResourceQuotas: what they count, whom they refuse and how they say it."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from tests.karpy.sim.api.conftest import Client

BASE = "/api/v1/namespaces/default"
PODS = f"{BASE}/pods"


def quota(rest: Client, hard: dict, **spec: Any) -> None:
    code, answer = rest("POST", f"{BASE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})
    assert code == 201, answer


def used(rest: Client) -> dict:
    found: dict = rest("GET", f"{BASE}/resourcequotas/q")[1]["status"]["used"]
    return found


def pod(name: str, requests: dict | None = None, limits: dict | None = None, **spec: Any) -> dict:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec},
    }


def test_the_status_tells_what_is_used_from_the_start(rest: Client) -> None:
    rest("POST", PODS, pod("a", {"cpu": "500m"}))
    quota(rest, {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi", "count/deployments.apps": "3"})
    status = rest("GET", f"{BASE}/resourcequotas/q")[1]["status"]
    assert status["hard"] == {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi", "count/deployments.apps": "3"}
    assert status["used"] == {"count/deployments.apps": "0", "limits.memory": "0", "pods": "1", "requests.cpu": "500m"}


def test_pods_beyond_the_quota_are_refused(rest: Client) -> None:
    quota(rest, {"pods": "1"})
    assert rest("POST", PODS, pod("a"))[0] == 201
    code, answer = rest("POST", PODS, pod("b"))
    assert (code, answer["reason"]) == (403, "Forbidden")
    assert answer["message"] == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )
    rest("DELETE", f"{PODS}/a")
    assert used(rest) == {"pods": "0"}
    assert rest("POST", PODS, pod("b"))[0] == 201


def test_amounts_are_summed_and_only_what_is_exceeded_is_named(rest: Client) -> None:
    quota(rest, {"cpu": "1", "requests.memory": "2Gi", "limits.cpu": "9"})
    assert rest("POST", PODS, pod("a", {"cpu": "600m", "memory": "1Gi"}, {"cpu": "1"}))[0] == 201
    assert used(rest) == {"cpu": "600m", "limits.cpu": "1", "requests.memory": "1Gi"}
    answer = rest("POST", PODS, pod("b", {"cpu": "600m", "memory": "512Mi"}, {"cpu": "1"}))[1]
    assert answer["message"].endswith("exceeded quota: q, requested: cpu=600m, used: cpu=600m, limited: cpu=1")


def test_pods_must_say_what_is_under_quota(rest: Client) -> None:
    quota(rest, {"requests.cpu": "1", "limits.memory": "1Gi"})
    assert rest("POST", PODS, pod("a"))[1]["message"] == (
        'pods "a" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c'
    )


def test_pods_that_have_ended_use_nothing(rest: Client) -> None:
    quota(rest, {"pods": "1"})
    rest("POST", PODS, pod("a"))
    rest.server.patch(kinds.POD, "a", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    assert used(rest) == {"pods": "0"}


@pytest.mark.parametrize(
    ("hard", "path", "body"),
    [
        ({"configmaps": "0"}, "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "x"}}),
        ({"count/secrets": "0"}, "/api/v1/namespaces/default/secrets", {"metadata": {"name": "x"}}),
        (
            {"requests.storage": "1Gi"},
            "/api/v1/namespaces/default/persistentvolumeclaims",
            {
                "metadata": {"name": "x"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
            },
        ),
        (
            {"services.nodeports": "0"},
            "/api/v1/namespaces/default/services",
            {"metadata": {"name": "x"}, "spec": {"type": "NodePort", "ports": [{"port": 1}]}},
        ),
    ],
)
def test_other_objects_are_counted_too(rest: Client, hard: dict, path: str, body: dict) -> None:
    quota(rest, hard)
    code, answer = rest("POST", path, body)
    assert code == 403
    assert "exceeded quota: q, requested: " in answer["message"]


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ({"scopes": ["BestEffort"]}, pod("a"), pod("b", {"cpu": "1"})),
        ({"scopes": ["NotTerminating"]}, pod("a"), pod("b", activeDeadlineSeconds=5)),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}
                    ]
                }
            },
            pod("a", priorityClassName="system-node-critical"),
            pod("b"),
        ),
    ],
)
def test_scopes_choose_the_pods_that_are_counted(rest: Client, spec: dict, inside: dict, outside: dict) -> None:
    quota(rest, {"pods": "0"}, **spec)
    assert rest("POST", PODS, outside)[0] == 201
    assert rest("POST", PODS, inside)[0] == 403


def test_a_dry_run_uses_nothing(rest: Client) -> None:
    quota(rest, {"pods": "1"})
    assert rest("POST", PODS, pod("a"), dryRun="All")[0] == 201
    assert used(rest) == {"pods": "0"}

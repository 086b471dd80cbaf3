from __future__ import annotations

from typing import Any

import pytest

from karpy.sim.api.printing.cellparts import duration
from karpy.sim.api.printing.cells import CELLS

POD = {"metadata": {"name": "p", "creationTimestamp": "1970-01-01T00:00:00Z"}, "spec": {"containers": [{}, {}]}}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (50 * 3600, "2d2h"),
        (10 * 86400, "10d"),
        (800 * 86400, "2y70d"),
        (4000 * 86400, "10y"),
    ],
)
def test_ages_show_the_units_that_matter(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def _pod_line(**parts: object) -> list:
    return CELLS["", "pods"]({**POD, **parts}, 60.0)


def test_a_pod_that_waits() -> None:
    assert _pod_line(status={"phase": "Pending"})[:5] == ["p", "0/2", "Pending", "0", "60s"]


def test_a_pod_that_is_being_deleted_is_terminating() -> None:
    meta = {**POD["metadata"], "deletionTimestamp": "1970-01-01T00:01:00Z"}
    assert _pod_line(metadata=meta, status={"phase": "Running"})[2] == "Terminating"


def test_a_container_that_waits_gives_the_pod_its_word() -> None:
    waiting = {"state": {"waiting": {"reason": "ContainerCreating"}}}
    assert _pod_line(status={"phase": "Pending", "containerStatuses": [waiting]})[2] == "ContainerCreating"


def test_ready_containers_and_restarts_are_counted() -> None:
    up = {"ready": True, "restartCount": 2, "state": {"running": {}}}
    assert _pod_line(status={"phase": "Running", "containerStatuses": [up, {"ready": False}]})[1:4] == [
        "1/2",
        "Running",
        "2",
    ]


def test_a_node_shows_readiness_cordon_and_roles() -> None:
    node = {
        "metadata": {"name": "n", "creationTimestamp": None, "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    }
    assert CELLS["", "nodes"](node, 0.0)[1:4] == ["NotReady,SchedulingDisabled", "worker", "<unknown>"]


@pytest.mark.parametrize(
    ("key", "obj", "cells"),
    [
        (("", "endpoints"), {"subsets": [{"addresses": [{"ip": f"10.0.0.{i}"} for i in range(5)],
                                          "ports": [{"port": 80}]}]},
         ["x", "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more...", "60s"]),
        (("", "resourcequotas"), {"status": {"hard": {"limits.cpu": "2", "pods": "5"}, "used": {"pods": "1"}}},
         ["x", "60s", "pods: 1/5", "limits.cpu: 0/2"]),
        (("networking.k8s.io", "ingresses"), {"spec": {"tls": [{}], "rules": [{"host": "a.b"}]}},
         ["x", "<none>", "a.b", "", "80, 443", "60s"]),
        (("rbac.authorization.k8s.io", "rolebindings"),
         {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}]},
         ["x", "Role/r", "60s", "", "", "n/s"]),
        (("storage.k8s.io", "csidrivers"), {"spec": {"volumeLifecycleModes": ["Persistent"]}},
         ["x", True, False, False, "<unset>", False, "Persistent", "60s"]),
        (("storage.k8s.io", "volumeattachments"),
         {"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
         ["x", "d", "v", "n", False, "60s"]),
        (("apps", "controllerrevisions"),
         {"revision": 3, "metadata": {"ownerReferences": [
             {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}]}},
         ["x", "statefulset.apps/s", 3, "60s"]),
        (("", "replicationcontrollers"), {"spec": {"replicas": 2, "selector": {"a": "b"}}},
         ["x", 2, 0, 0, "60s", "", "", "a=b"]),
    ],
)  # fmt: skip
def test_what_is_printed_of_the_rarer_kinds(key: tuple[str, str], obj: dict, cells: list) -> None:
    meta = {"name": "x", "creationTimestamp": "1970-01-01T00:00:00Z", **obj.get("metadata", {})}
    assert CELLS[key]({**obj, "metadata": meta}, 60.0) == cells


def _metric(current: object, goal: dict) -> tuple[dict, dict]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": goal}}, current


def _targets(*metrics: tuple[dict, Any]) -> str:
    found = [{"type": each["type"], each["type"].lower(): {"current": current}} for each, current in metrics if current]
    autoscaler = {
        "metadata": {"name": "a"},
        "spec": {"metrics": [each for each, _ in metrics]},
        "status": {"currentMetrics": found},
    }
    return CELLS["autoscaling", "horizontalpodautoscalers"](autoscaler, 0.0)[2]


def test_an_autoscaler_shows_what_is_beside_what_shall_be() -> None:
    busy = _metric({"averageUtilization": 91, "averageValue": "91m"}, {"averageUtilization": 80})
    assert _targets(busy) == "cpu: 91%/80%"
    assert _targets(_metric(None, {"averageUtilization": 80})) == "cpu: <unknown>/80%"
    assert _targets(_metric({"averageValue": "30m"}, {"averageValue": "50m"})) == "cpu: 30m/50m"
    pods = {"type": "Pods", "pods": {"target": {"averageValue": "7"}}}, {"averageValue": "5"}
    outside = {"type": "External", "external": {"target": {"value": "9"}}}, {"value": "3"}
    spread = {"type": "Object", "object": {"target": {"averageValue": "4"}}}, {"averageValue": "2"}
    assert _targets(pods, outside) == "5/7, 3/9"
    assert _targets(spread, pods, outside) == "2/4 (avg), 5/7 + 1 more..."
    assert _targets() == "<none>"

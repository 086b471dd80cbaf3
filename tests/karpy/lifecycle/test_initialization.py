from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.initialization import not_initialized
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import make_machine

BOOT = {"key": "boot", "value": "x", "effect": "NoSchedule"}


def missing(*, ready: bool = True, room: Any = None, requests: Any = None, taints: Any = ()) -> tuple[str, str] | None:
    spec = {"startupTaints": [BOOT], "resources": {"requests": requests or {}}}
    claim, node = make_machine("m", reached=("Launched", "Registered"), spec=spec, taints=taints)
    if not ready:
        node["status"]["conditions"][0]["status"] = "Unknown"
    if room is not None:
        node["status"]["allocatable"] = room
    return not_initialized(NodeClaim.from_dict(claim), Node.from_dict(node))


def test_a_ready_node_without_passing_taints_is_up() -> None:
    assert missing() is None
    assert missing(taints=[{"key": "dedicated", "effect": "NoSchedule"}]) is None


@pytest.mark.core("CORE-658")
@pytest.mark.parametrize(
    ("state", "reason", "message"),
    [
        ({"ready": False}, "NodeNotReady", "Node status is NotReady"),
        ({"taints": [BOOT]}, "StartupTaintsExist", 'StartupTaint "boot=x:NoSchedule" still exists'),
        (
            {"taints": [{**BOOT, "value": "changed"}]},
            "StartupTaintsExist",
            'StartupTaint "boot=changed:NoSchedule" still exists',
        ),
        (
            {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]},
            "KnownEphemeralTaintsExist",
            'KnownEphemeralTaint "node.kubernetes.io/not-ready:NoExecute" still exists',
        ),
        (
            {"taints": [{"key": "readiness.k8s.io/gpu", "effect": "NoSchedule"}]},
            "KnownEphemeralTaintsExist",
            'KnownEphemeralTaint "readiness.k8s.io/gpu:NoSchedule" still exists',
        ),
        (
            {"requests": {"acme.com/gpu": "1"}, "room": {"cpu": "4", "acme.com/gpu": "0"}},
            "ResourceNotRegistered",
            'Resource "acme.com/gpu" was requested but not registered',
        ),
    ],
)
def test_the_first_check_that_fails_is_the_reason(state: dict[str, Any], reason: str, message: str) -> None:
    assert missing(**state) == (reason, message)


def test_checks_go_in_order() -> None:
    everything = {"ready": False, "taints": [BOOT], "requests": {"acme.com/gpu": "1"}}
    reasons = []
    for mended in ({}, {"ready": True}, {"taints": []}, {"requests": {}}):
        everything |= mended
        found = missing(**everything)  # type: ignore[arg-type]
        reasons.append(found[0] if found else None)
    assert reasons == ["NodeNotReady", "StartupTaintsExist", "ResourceNotRegistered", None]


def test_resources_that_were_not_asked_for_may_be_missing() -> None:
    assert missing(requests={"cpu": "1", "pods": "3", "acme.com/gpu": "0"}, room={"cpu": "4"}) is None

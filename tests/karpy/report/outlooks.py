"""Clusters, and what karpy would do in them."""

from __future__ import annotations

from typing import Any

from karpy.report.outlook import Outlook
from karpy.scenarios.situation import Situation
from karpy.state.snapshot import Snapshot
from karpy.testing.builders import (
    make_buffer,
    make_catalog,
    make_condition,
    make_machine,
    make_node,
    make_nodepool,
    make_pod,
    make_pod_template,
)
from karpy.testing.clock import START


def outlook(
    *objects: Any, name: str = "", notes: tuple[str, ...] = (), provisioning: bool = True, disruption: bool = True
) -> Outlook:
    flat = [part for obj in objects for part in (obj if isinstance(obj, tuple) else (obj,))]
    snapshot = Snapshot.from_objects(flat)
    situation = Situation(name=name, snapshot=snapshot, catalog=make_catalog(snapshot), now=START, notes=notes)
    return situation.outlook(provisioning=provisioning, disruption=disruption)


def busy() -> tuple[Any, ...]:
    """Three pods get a machine each, one fits a node that is there, two wait."""
    return (
        make_nodepool(),
        make_node("old", room={"cpu": "1", "memory": "1Gi", "pods": "9"}),
        make_pod("fits", requests={"cpu": "500m"}),
        *(make_pod(name, requests={"cpu": "9", "memory": "20Gi"}) for name in ("large-1", "large-2")),
        make_pod("small", requests={"cpu": "8"}, namespace="other"),
        *(make_pod(f"huge-{number}", requests={"cpu": "99"}) for number in (1, 2)),
    )


def idle() -> tuple[Any, ...]:
    """One of karpy's machines is empty and may go, one may not."""
    disruption = {"budgets": [{"nodes": "100%"}], "consolidateAfter": "0s"}
    ready = [make_condition("Consolidatable")]
    blocker = make_pod("keep", node="held", annotations={"karpenter.sh/do-not-disrupt": "true"})
    return (
        make_nodepool(disruption=disruption),
        make_machine("free", instance_type="c4", conditions=ready),
        make_machine("held", instance_type="c4", conditions=ready),
        blocker,
    )


def spare() -> tuple[Any, ...]:
    """Two machines with pods that fit on one of them; only one may go."""
    disruption = {"budgets": [{"nodes": "100%"}], "consolidateAfter": "0s"}
    return (
        make_nodepool(disruption=disruption),
        make_machine("loose", instance_type="c4", conditions=[make_condition("Consolidatable")]),
        make_machine("tight", instance_type="c4"),
        *(make_pod(name, node="loose", requests={"cpu": "1"}) for name in ("a", "b")),
        make_pod("c", node="tight", requests={"cpu": "1"}),
    )


def with_buffers(*pods: Any) -> tuple[Any, ...]:
    """Room is kept for two pods of one core, and wished for a pod that is too large for any machine."""
    return (
        make_nodepool(),
        *pods,
        make_pod_template("chunk", requests={"cpu": "1"}),
        make_pod_template("giant", requests={"cpu": "1000"}),
        make_buffer("spare", template="chunk", replicas=2),
        make_buffer("vain", template="giant", replicas=1),
    )

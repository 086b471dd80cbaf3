"""The kit for authors of controllers and cloud packages: builders of objects, and a clock that obeys."""

from __future__ import annotations

from karpy.testing.builders import (
    NODE_CLASS,
    make_buffer,
    make_catalog,
    make_claim,
    make_condition,
    make_daemon_set,
    make_instance_type,
    make_instance_types,
    make_machine,
    make_node,
    make_nodepool,
    make_overlay,
    make_pod,
    make_pod_template,
    make_workload,
    selector,
)
from karpy.testing.clock import START, FakeClock

__all__ = [
    "NODE_CLASS",
    "START",
    "FakeClock",
    "make_buffer",
    "make_catalog",
    "make_claim",
    "make_condition",
    "make_daemon_set",
    "make_instance_type",
    "make_instance_types",
    "make_machine",
    "make_node",
    "make_nodepool",
    "make_overlay",
    "make_pod",
    "make_pod_template",
    "make_workload",
    "selector",
]

"""karpy decides which machines a Kubernetes cluster needs for the pods that wait, and which it no longer needs.

The names below are the public ones. Each is imported when it is first used, so that ``import karpy`` costs next to nothing;
everything else can be reached in its own module, but may change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karpy.cloud.instancetype import Catalog, InstanceType, InstanceTypes, Offering, Overhead
    from karpy.cloud.model import CloudModel, load_models
    from karpy.cloud.provider import CloudProvider, Instance, NodeClassStatus, ProviderContext
    from karpy.cloud.registry import available_providers, load_provider
    from karpy.cloud.routing import Clouds
    from karpy.cloud.volumes import UnsupportedVolumes
    from karpy.controllers.base import Controller, Request, Result
    from karpy.disruption.command import Command, Method, Reason
    from karpy.disruption.engine import Pass, look
    from karpy.disruption.survey import Judgement, Survey
    from karpy.disruption.validation import validate
    from karpy.disruption.verdicts import Verdict
    from karpy.errors import (
        CreateFailed,
        InsufficientCapacity,
        InternalError,
        InvalidObject,
        KarpyError,
        KubeError,
        NodeClaimNotFound,
        NodeClassNotReady,
        PluginError,
        ProviderError,
        Throttled,
    )
    from karpy.labels import LabelSpec
    from karpy.objects.manifest import read_manifests
    from karpy.objects.node import Node
    from karpy.objects.nodeclaim import NodeClaim
    from karpy.objects.nodeoverlay import NodeOverlay
    from karpy.objects.nodepool import NodePool
    from karpy.objects.pod import Pod
    from karpy.objects.schedulerconfig import read_scheduler_config
    from karpy.operator import Operator
    from karpy.requirements import Requirement, Requirements
    from karpy.resources import Resources
    from karpy.scheduling.explain.explanation import Explanation
    from karpy.scheduling.plan import BufferOutcome, Launch, Nomination, Plan, Unschedulable
    from karpy.scheduling.scheduler import solve
    from karpy.settings import Settings
    from karpy.state.catalogs import evaluate_overlays, with_catalog
    from karpy.state.cluster import ClusterState
    from karpy.state.snapshot import NodeView, Snapshot
    from karpy.taints import Taint, Toleration

__all__ = [
    "BufferOutcome",
    "Catalog",
    "CloudModel",
    "CloudProvider",
    "Clouds",
    "ClusterState",
    "Command",
    "Controller",
    "CreateFailed",
    "Explanation",
    "Instance",
    "InstanceType",
    "InstanceTypes",
    "InsufficientCapacity",
    "InternalError",
    "InvalidObject",
    "Judgement",
    "KarpyError",
    "KubeError",
    "LabelSpec",
    "Launch",
    "Method",
    "Node",
    "NodeClaim",
    "NodeClaimNotFound",
    "NodeClassNotReady",
    "NodeClassStatus",
    "NodeOverlay",
    "NodePool",
    "NodeView",
    "Nomination",
    "Offering",
    "Operator",
    "Overhead",
    "Pass",
    "Plan",
    "PluginError",
    "Pod",
    "ProviderContext",
    "ProviderError",
    "Reason",
    "Request",
    "Requirement",
    "Requirements",
    "Resources",
    "Result",
    "Settings",
    "Snapshot",
    "Survey",
    "Taint",
    "Throttled",
    "Toleration",
    "Unschedulable",
    "UnsupportedVolumes",
    "Verdict",
    "available_providers",
    "evaluate_overlays",
    "load_models",
    "load_provider",
    "look",
    "read_manifests",
    "read_scheduler_config",
    "solve",
    "validate",
    "with_catalog",
]

_HOMES = {
    "karpy.cloud.instancetype": ("Catalog", "InstanceType", "InstanceTypes", "Offering", "Overhead"),
    "karpy.cloud.model": ("CloudModel", "load_models"),
    "karpy.cloud.provider": ("CloudProvider", "Instance", "NodeClassStatus", "ProviderContext"),
    "karpy.cloud.registry": ("available_providers", "load_provider"),
    "karpy.cloud.routing": ("Clouds",),
    "karpy.cloud.volumes": ("UnsupportedVolumes",),
    "karpy.controllers.base": ("Controller", "Request", "Result"),
    "karpy.disruption.command": ("Command", "Method", "Reason"),
    "karpy.disruption.engine": ("Pass", "look"),
    "karpy.disruption.survey": ("Judgement", "Survey"),
    "karpy.disruption.validation": ("validate",),
    "karpy.disruption.verdicts": ("Verdict",),
    "karpy.errors": (
        *("CreateFailed", "InsufficientCapacity", "InternalError", "InvalidObject", "KarpyError", "KubeError"),
        *("NodeClaimNotFound", "NodeClassNotReady", "PluginError", "ProviderError", "Throttled"),
    ),
    "karpy.labels": ("LabelSpec",),
    "karpy.objects.manifest": ("read_manifests",),
    "karpy.objects.node": ("Node",),
    "karpy.objects.nodeclaim": ("NodeClaim",),
    "karpy.objects.nodeoverlay": ("NodeOverlay",),
    "karpy.objects.nodepool": ("NodePool",),
    "karpy.objects.pod": ("Pod",),
    "karpy.objects.schedulerconfig": ("read_scheduler_config",),
    "karpy.operator": ("Operator",),
    "karpy.requirements": ("Requirement", "Requirements"),
    "karpy.resources": ("Resources",),
    "karpy.scheduling.explain.explanation": ("Explanation",),
    "karpy.scheduling.plan": ("BufferOutcome", "Launch", "Nomination", "Plan", "Unschedulable"),
    "karpy.scheduling.scheduler": ("solve",),
    "karpy.settings": ("Settings",),
    "karpy.state.catalogs": ("evaluate_overlays", "with_catalog"),
    "karpy.state.cluster": ("ClusterState",),
    "karpy.state.snapshot": ("NodeView", "Snapshot"),
    "karpy.taints": ("Taint", "Toleration"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'karpy' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value  # the next look-up finds it without coming here
    return value


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]

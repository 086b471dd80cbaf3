"""What a new object of a kind holds before anyone has set anything: fields that are always written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["EVENT", "ZERO"]

Body = Mapping[str, Any]

_TEMPLATE: Body = {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}}
EVENT: Body = {
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
"""What every event has, set or not."""
_NO_EVENT: Body = {"involvedObject": {}, **EVENT}

ZERO: Mapping[str, Body] = {
    "Pod": {"spec": {"containers": None}},
    "Node": {"spec": {}},
    "Service": {"spec": {}, "status": {}},
    "Namespace": {"spec": {}},
    "PersistentVolumeClaim": {"spec": {"resources": {}}},
    "PersistentVolume": {"spec": {}},
    "Deployment": {"spec": {"selector": None, "template": _TEMPLATE, "strategy": {}}},
    "ReplicaSet": {"spec": {"selector": None, "template": _TEMPLATE}},
    "StatefulSet": {"spec": {"selector": None, "template": _TEMPLATE, "updateStrategy": {}}},
    "DaemonSet": {"spec": {"selector": None, "template": _TEMPLATE, "updateStrategy": {}}},
    "Job": {"spec": {"template": _TEMPLATE}},
    "CronJob": {"spec": {"jobTemplate": {"metadata": {"creationTimestamp": None}, "spec": {"template": _TEMPLATE}}}},
    "PodDisruptionBudget": {"spec": {}},
    "Lease": {"spec": {}},
    "CSINode": {"spec": {"drivers": None}},
    "HorizontalPodAutoscaler": {"spec": {"scaleTargetRef": {}}},
    "ResourceQuota": {"spec": {}},
    "LimitRange": {"spec": {"limits": None}},
    "Event": _NO_EVENT,
    "CustomResourceDefinition": {"spec": {"names": {}}},
}
"""By kind."""

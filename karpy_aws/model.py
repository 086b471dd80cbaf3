"""`AWSModel`: what karpy knows of EC2 without talking to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import NodeClassStatus, RawNodeClass
from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.kinds import PROVISIONER, Kind
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy_aws import crds, defaults
from karpy_aws.catalog import REGION, build_instance_types, load_catalog
from karpy_aws.kubeletcheck import check_kubelet
from karpy_aws.labels import AWS_LABELS
from karpy_aws.objects import NODE_CLASSES, NodeClass, read_node_class

__all__ = ["AWSModel"]

_ZONE_LETTERS: Final = "abc"
_ODD: Final = 0x9E37_79B9_7F4A_7C15
"""Odd, so multiplying by it modulo 2**64 maps different serials to different, unalike ids."""


class AWSModel:
    """EC2 as a `karpy.cloud.model.CloudModel`: one region with dated list prices and synthetic spot prices."""

    @property
    def name(self) -> str:
        return "aws"

    @property
    def labels(self) -> LabelSpec:
        return AWS_LABELS

    @property
    def node_classes(self) -> Sequence[Kind]:
        return NODE_CLASSES

    def crds(self) -> Sequence[Mapping[str, Any]]:
        return crds.crds()

    def instance_types(self) -> InstanceTypes:
        return self._instance_types

    @cached_property
    def _instance_types(self) -> InstanceTypes:
        return build_instance_types(load_catalog())

    def default_requirements(self, pool: NodePool) -> Requirements:
        return defaults.default_requirements(pool)

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        """Whether the node class can be read; its status names resources that a lookup in the account might find."""
        try:
            read = read_node_class(node_class)
        except InvalidObject as error:
            return NodeClassStatus(False, "ValidationFailed", str(error))
        finding = check_kubelet(read, expressions=True)
        if finding is not None and not finding.waits:
            return NodeClassStatus(False, finding.reason, finding.message)
        return NodeClassStatus(True, status=_resolved(read))

    def provider_id(self, serial: int, zone: str, claim: str = "") -> str:
        """``aws:///<zone>/i-<17 hex digits>``.

        >>> AWSModel().provider_id(1, "us-west-2a")
        'aws:///us-west-2a/i-09e3779b97f4a7c15'
        """
        del claim  # EC2 names an instance by its id alone
        return f"aws:///{zone}/i-0{serial * _ODD % 2**64:016x}"

    def node_name(self, serial: int, claim: str) -> str:
        """The private DNS name that EC2 gives by the address.

        >>> AWSModel().node_name(1, "default-abcde")
        'ip-10-0-0-5.us-west-2.compute.internal'
        """
        del claim
        rest, last = divmod(serial, 250)
        second, third = divmod(rest, 256)
        return f"ip-10-{second}-{third}-{last + 4}.{REGION}.compute.internal"


def _resolved(node_class: NodeClass) -> dict[str, Any]:
    """Made-up resources, the same for the same node class. A Provisioner has no place for them in its status."""
    if node_class.origin == PROVISIONER:
        return {}
    status: dict[str, Any] = {
        "subnets": [
            {"id": _made_up("subnet", f"{node_class.name}/{letter}"), "zone": f"{REGION}{letter}"}
            for letter in _ZONE_LETTERS
        ],
        "securityGroups": [{"id": _made_up("sg", node_class.name), "name": "nodes"}],
        "amis": [
            {
                "id": _made_up("ami", f"{node_class.ami_family}/{arch}"),
                "name": f"{node_class.ami_family.lower()}-{arch}",
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": [arch]}],
            }
            for arch in ("amd64", "arm64")
        ],
    }
    profile = node_class.instance_profile or (f"{node_class.role}-profile" if node_class.role else "")
    return {**status, "instanceProfile": profile} if profile else status


def _made_up(prefix: str, text: str) -> str:
    return f"{prefix}-0{hashlib.sha256(f'{prefix}/{text}'.encode()).hexdigest()[:16]}"

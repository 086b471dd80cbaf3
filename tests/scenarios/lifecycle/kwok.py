"""The cloud of the recordings: kwok's 144 made-up machine types (core specification 7), as a model for the simulated cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Overhead, Price
from karpy.cloud.provider import CloudProvider, Instance, NodeClassStatus, RawNodeClass
from karpy.errors import NodeClaimNotFound
from karpy.kube.client import KubeClient
from karpy.labels import LabelSpec
from karpy.objects.kinds import NODE, Kind
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirement, Requirements
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources

__all__ = ["NODE_CLASS", "NOT_READY", "Kwok", "KwokModel"]

GROUP = "karpenter.kwok.sh"
NODE_CLASS = Kind(GROUP, "v1alpha1", "KWOKNodeClass", "kwoknodeclasses", namespaced=False)
NOT_READY = "test.karpy.dev/not-ready"
"""An annotation of a class: it is not ready, for this reason, and says why after a colon."""

SIZE, FAMILY, VCPU, MEMORY_GIB = (f"{GROUP}/instance-{word}" for word in ("size", "family", "cpu", "memory"))
ZONES = tuple(f"test-zone-{letter}" for letter in "abcd")
SIZES = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
GIB_PER_CPU: Mapping[str, int] = {"c": 2, "s": 4, "m": 8}
_GIB = 2**30
_OVERHEAD = Overhead(kube_reserved=Resources({CPU: 100, MEMORY: 10 * 2**20}))


def price_of(cpu: int, gib: int, capacity_type: str) -> Price:
    """Dollars per hour: so much per CPU and per 10⁹ bytes, spot for less.

    >>> round(price_of(4, 8, "spot"), 6)
    0.076013
    """
    return (0.025 * cpu + 0.001 * gib * _GIB / 1e9) * (0.7 if capacity_type == labels.SPOT else 1.0)


class KwokModel:
    """A `karpy.cloud.model.CloudModel`."""

    name = "kwok"
    labels = LabelSpec(well_known=frozenset({SIZE, FAMILY, VCPU, MEMORY_GIB}), restricted_domains=frozenset({GROUP}))
    node_classes: Sequence[Kind] = (NODE_CLASS,)

    def __init__(self) -> None:
        self._types = InstanceTypes(
            _instance_type(family, cpu, architecture, system)
            for cpu in SIZES
            for family in GIB_PER_CPU
            for system in ("linux", "windows")
            for architecture in ("amd64", "arm64")
        )

    def crds(self) -> Sequence[Mapping[str, Any]]:
        return (_CRD,)

    def instance_types(self) -> InstanceTypes:
        return self._types

    def default_requirements(self, pool: NodePool) -> Requirements:
        return Requirements()

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        said = (node_class["metadata"].get("annotations") or {}).get(NOT_READY)
        if said is None:
            return NodeClassStatus(ready=True)
        reason, _, message = said.partition(": ")
        return NodeClassStatus(ready=False, reason=reason, message=message)

    def provider_id(self, serial: int, zone: str, claim: str) -> str:
        return f"kwok://{self.node_name(serial, claim)}"

    def node_name(self, serial: int, claim: str) -> str:
        return f"kwok-{claim}-{serial}"


def _instance_type(family: str, cpu: int, architecture: str, system: str) -> InstanceType:
    gib = cpu * GIB_PER_CPU[family]
    name = f"{family}-{cpu}x-{architecture}-{system}"
    capacity = {CPU: cpu * 1000, MEMORY: gib * _GIB, EPHEMERAL_STORAGE: 20 * _GIB, PODS: min(16 * cpu, 1024)}
    fixed = {
        labels.INSTANCE_TYPE: name,
        labels.ARCH: architecture,
        labels.OS: system,
        SIZE: str(cpu),
        FAMILY: family,
        VCPU: str(cpu),
        MEMORY_GIB: f"{gib}Gi",
    }
    requirements = Requirements(
        (
            *(Requirement.in_(key, value) for key, value in fixed.items()),
            Requirement.in_(labels.ZONE, *ZONES),
            Requirement.in_(labels.CAPACITY_TYPE, labels.ON_DEMAND, labels.SPOT),
            Requirement.absent(labels.REGION),
            Requirement.absent(labels.WINDOWS_BUILD),
        )
    )
    offerings = tuple(
        Offering(zone, capacity_type, price_of(cpu, gib, capacity_type))
        for zone in ZONES
        for capacity_type in (labels.ON_DEMAND, labels.SPOT)
    )
    return InstanceType(name, requirements, offerings, Resources(capacity), _OVERHEAD)


class Kwok:
    """The cloud ``cloud``, with kwok's belief that a machine is gone as soon as its Node is being deleted."""

    def __init__(self, cloud: CloudProvider, kube: KubeClient) -> None:
        self._cloud = cloud
        self._kube = kube

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)

    def get(self, provider_id: str) -> Instance:
        """Raises: NodeClaimNotFound."""
        found = self._cloud.get(provider_id)
        for node in self._kube.list(NODE).items:
            if node["spec"].get("providerID") == provider_id and node["metadata"].get("deletionTimestamp"):
                raise NodeClaimNotFound(f"node {node['metadata']['name']} is being deleted")
        return found


_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CRD: Mapping[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{NODE_CLASS.plural}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Cluster",
        "names": {
            "kind": NODE_CLASS.kind,
            "listKind": f"{NODE_CLASS.kind}List",
            "plural": NODE_CLASS.plural,
            "singular": NODE_CLASS.kind.lower(),
        },
        "versions": [
            {
                "name": NODE_CLASS.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}},
            }
        ],
    },
}

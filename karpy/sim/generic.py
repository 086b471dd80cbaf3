"""A cloud model that is nobody's: a few dozen made-up machine types at made-up prices, so that nothing else need be installed.

Three families (``c``, ``s``, ``m``: 2, 4 and 8 GiB per vCPU), seven sizes, two architectures, three zones, on-demand and spot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Overhead, Price
from karpy.cloud.provider import NodeClassStatus, RawNodeClass
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirement, Requirements
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources

__all__ = ["NODE_CLASS", "GenericModel", "price_of"]

GROUP = "sim.karpy.dev"
NODE_CLASS = Kind(GROUP, "v1", "SimNodeClass", "simnodeclasses", namespaced=False)

FAMILY = f"{GROUP}/instance-family"
VCPU = f"{GROUP}/instance-cpu"
MEMORY_MIB = f"{GROUP}/instance-memory"

REGION = "sim-1"
ZONES = ("sim-1a", "sim-1b", "sim-1c")
ARCHITECTURES = ("amd64", "arm64")
SIZES = (1, 2, 4, 8, 12, 16, 32)
GIB_PER_VCPU: Mapping[str, int] = {"c": 2, "s": 4, "m": 8}

VCPU_PRICE: Price = 0.025
GIB_PRICE: Price = 0.001
SPOT_SHARE = 0.7
MOST_PODS = 110

_GIB = 2**30
_MIB = 2**20
_OVERHEAD = Overhead(kube_reserved=Resources({CPU: 100, MEMORY: 256 * _MIB}))


def price_of(vcpu: int, gib: int, capacity_type: str) -> Price:
    """Dollars per hour: so much per vCPU and GiB, spot for less.

    >>> price_of(4, 16, "on-demand")
    0.116
    """
    share = SPOT_SHARE if capacity_type == labels.SPOT else 1.0
    return round((vcpu * VCPU_PRICE + gib * GIB_PRICE) * share, 6)


class GenericModel:
    """The model ``generic`` of `karpy.cloud.model.CloudModel`."""

    name = "generic"
    labels = LabelSpec(well_known=frozenset({FAMILY, VCPU, MEMORY_MIB}), restricted_domains=frozenset({GROUP}))
    node_classes: Sequence[Kind] = (NODE_CLASS,)

    def __init__(self) -> None:
        self._types = InstanceTypes(
            _instance_type(family, vcpu, architecture)
            for family in sorted(GIB_PER_VCPU)
            for vcpu in SIZES
            for architecture in ARCHITECTURES
        )

    def crds(self) -> Sequence[Mapping[str, Any]]:
        return (_CRD,)

    def instance_types(self) -> InstanceTypes:
        return self._types

    def default_requirements(self, pool: NodePool) -> Requirements:
        """Linux on amd64 and on-demand, unless the pool says otherwise."""
        defaults = {labels.OS: "linux", labels.ARCH: "amd64", labels.CAPACITY_TYPE: labels.ON_DEMAND}
        return Requirements(
            Requirement.in_(key, value) for key, value in defaults.items() if key not in pool.requirements
        )

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        """Always ready: there is nothing to look up."""
        del node_class
        return NodeClassStatus(ready=True)

    def provider_id(self, serial: int, zone: str, _claim: str) -> str:
        return f"sim:///{zone}/i-{serial:08d}"

    def node_name(self, serial: int, claim: str) -> str:
        del serial
        return claim


def _instance_type(family: str, vcpu: int, architecture: str) -> InstanceType:
    gib = vcpu * GIB_PER_VCPU[family]
    name = f"{family}-{vcpu}x-{architecture}"
    capacity = Resources(
        {
            CPU: vcpu * 1000,
            MEMORY: gib * _GIB,
            EPHEMERAL_STORAGE: 100 * _GIB,
            PODS: min(MOST_PODS, 16 * vcpu),
        }
    )
    requirements = Requirements(
        (
            Requirement.in_(labels.INSTANCE_TYPE, name),
            Requirement.in_(labels.ARCH, architecture),
            Requirement.in_(labels.OS, "linux"),
            Requirement.absent(labels.WINDOWS_BUILD),
            Requirement.in_(labels.REGION, REGION),
            Requirement.in_(labels.ZONE, *ZONES),
            Requirement.in_(labels.CAPACITY_TYPE, labels.ON_DEMAND, labels.SPOT),
            Requirement.in_(FAMILY, family),
            Requirement.in_(VCPU, str(vcpu)),
            Requirement.in_(MEMORY_MIB, str(gib * 1024)),
        )
    )
    offerings = tuple(
        Offering(zone, capacity_type, price_of(vcpu, gib, capacity_type))
        for zone in ZONES
        for capacity_type in (labels.ON_DEMAND, labels.SPOT)
    )
    return InstanceType(name, requirements, offerings, capacity, _OVERHEAD)


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
            "categories": ["karpenter"],
        },
        "versions": [
            {
                "name": NODE_CLASS.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}},
            }
        ],
    },
}

"""The side of a cloud that can be told without talking to it: catalog, labels, node classes, names of things.

A cloud package ships a `CloudModel` beside its provider, under the entry-point group ``karpy.cloud_models``. The simulated
cloud is built from models, so that ``karpy demo`` shows the clouds' own instance types, prices and node classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import NodeClassStatus, RawNodeClass
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements

__all__ = ["CloudModel", "load_models"]

GROUP = "karpy.cloud_models"


class CloudModel(Protocol):
    """What is known of a cloud offline. Nothing here does I/O beyond reading the package's own data files."""

    @property
    def name(self) -> str:
        """As the provider's entry point."""
        ...

    @property
    def labels(self) -> LabelSpec: ...

    @property
    def node_classes(self) -> Sequence[Kind]:
        """The kinds of node class, the default first."""
        ...

    def crds(self) -> Sequence[Mapping[str, Any]]:
        """The CustomResourceDefinitions of the node classes."""
        ...

    def instance_types(self) -> InstanceTypes:
        """The catalog of one region with dated list prices; the same object each time."""
        ...

    def default_requirements(self, pool: NodePool) -> Requirements:
        """What the cloud adds to a pool that leaves it open (see `karpy.cloud.provider.Defaulting`)."""
        ...

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        """Whether the node class says all that is needed; problems name the field."""
        ...

    def provider_id(self, serial: int, zone: str, claim: str) -> str:
        """The provider id of the ``serial``-th machine, launched for ``claim``, in this cloud's form."""
        ...

    def node_name(self, serial: int, claim: str) -> str:
        """The name that its node registers under."""
        ...


def load_models() -> tuple[CloudModel, ...]:
    """The models of all installed cloud packages, sorted by name."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple(point.load()() for point in points)

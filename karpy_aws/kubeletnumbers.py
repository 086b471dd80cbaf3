"""What a node class's kubelet block comes to on each instance type: the numbers that room for pods depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.resources import Resources
from karpy_aws.descriptions import TypeDescription
from karpy_aws.kubeletrules import is_expression
from karpy_aws.kubeletvalues import TypeFacts, concrete_kubelet
from karpy_aws.objects.kubelet import Kubelet

__all__ = ["KubeletNumbers", "KubeletSource", "kubelet_source", "type_facts"]


class KubeletSource(Protocol):
    """Says what a block comes to. Equal ones say the same of every type."""

    def numbers(self, description: TypeDescription, usual_pods: int, /) -> KubeletNumbers:
        """Called once for each type and class. ``usual_pods`` is how many there are if the block says nothing.

        Raises:
            InvalidObject: ``maxPods`` has no value for the type.
        """
        ...


@attrs.frozen(kw_only=True)
class KubeletNumbers:
    """The numbers themselves. Where the block has no expressions they are their own `KubeletSource`."""

    max_pods: int | None = None
    pods_per_core: int = 0
    kube_reserved: Resources = Resources()
    system_reserved: Resources = Resources()
    eviction_hard: tuple[tuple[str, str], ...] = ()
    """Signals and their thresholds: a quantity, or a percentage of what there is."""

    @classmethod
    def of(cls, block: Kubelet) -> Self:
        """From a block without expressions.

        Raises:
            InvalidObject: a reserved amount is none.
        """
        return cls(
            max_pods=block.max_pods if isinstance(block.max_pods, int) else None,
            pods_per_core=block.pods_per_core or 0,
            kube_reserved=_reserved("kubeReserved", block.kube_reserved),
            system_reserved=_reserved("systemReserved", block.system_reserved),
            eviction_hard=tuple(sorted((block.eviction_hard or {}).items())),
        )

    def numbers(self, description: TypeDescription, usual_pods: int, /) -> KubeletNumbers:
        """The same for every type."""
        del description, usual_pods
        return self


@attrs.frozen
class Expressions:
    """A block whose numbers differ by type. Off, its expressions count as not said."""

    block: Kubelet = attrs.field(eq=False)
    are_on: bool
    _text: bytes = attrs.field(
        init=False,
        repr=False,
        default=attrs.Factory(lambda self: msgspec.json.encode(self.block.raw, order="sorted"), takes_self=True),
    )

    def numbers(self, description: TypeDescription, usual_pods: int, /) -> KubeletNumbers:
        facts = type_facts(description, usual_pods)
        return KubeletNumbers.of(concrete_kubelet(self.block, facts, expressions=self.are_on).block)


def type_facts(description: TypeDescription, usual_pods: int) -> TypeFacts:
    """What expressions may ask about a type."""
    network = description.network_info
    card = network.card(network.default_network_card_index)
    return TypeFacts(
        instance_type=description.instance_type,
        vcpus=description.vcpus,
        memory_mib=description.memory_info.size_mib,
        default_enis=card.maximum_network_interfaces if card else 0,
        ips_per_eni=network.ipv4_addresses_per_interface,
        max_pods=usual_pods,
    )


def kubelet_source(block: Kubelet | None, *, expressions: bool = False) -> KubeletSource:
    """What a block comes to; ``expressions`` is the feature gate NodeClassCEL.

    Raises:
        InvalidObject: a reserved amount is none.
    """
    if block is None:
        return KubeletNumbers()
    reserved = (("kubeReserved", block.kube_reserved), ("systemReserved", block.system_reserved))
    if isinstance(block.max_pods, str) or any(
        is_expression(field, text) for field, entries in reserved for text in (entries or {}).values()
    ):
        return Expressions(block, expressions)
    return KubeletNumbers.of(block)


def _reserved(field: str, quantities: Mapping[str, str] | None) -> Resources:
    try:
        return Resources.parse(quantities or {})
    except InvalidObject as error:
        raise error.at(path=f"spec.kubelet.{field}") from None

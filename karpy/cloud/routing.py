"""Several clouds at once: the kind of a node class says whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from karpy.cloud.measured import Measured
from karpy.cloud.notices import GivingNotice
from karpy.cloud.overlays import Overlays
from karpy.cloud.provider import CloudProvider, Defaulting, RefusingVolumes, Repairing, RepairPolicy
from karpy.cloud.volumes import UnsupportedVolumes
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirements

__all__ = ["Clouds"]


class Clouds:
    """The active providers, by the kinds of node class that they serve; and what is made of their catalogs by overlays and by what
    machines turned out to have."""

    def __init__(self, providers: Sequence[CloudProvider]) -> None:
        self.providers = tuple(providers)
        self.kinds: tuple[Kind, ...] = tuple(kind for provider in providers for kind in provider.node_classes)
        self._by_kind = {
            (kind.group, kind.kind): provider for provider in reversed(self.providers) for kind in provider.node_classes
        }
        spec: LabelSpec = CORE_LABELS
        unsupported = UnsupportedVolumes()
        for provider in providers:
            spec = spec | provider.labels
            unsupported = unsupported | _unsupported_volumes(provider)
        self.labels = spec
        self.unsupported_volumes = unsupported
        self.giving_notice = tuple(_giving_notice(providers))
        """Those that tell of what is about to happen to machines."""
        self.overlays = Overlays()
        self.measured = Measured()

    def serving(self, ref: NodeClassRef) -> CloudProvider | None:
        """The provider of a node class, or None when no active one serves it: such pools are not ours."""
        return self._by_kind.get((ref.group, ref.kind))

    @property
    def repair_policies(self) -> Sequence[RepairPolicy]:
        """When a node of any of these clouds is broken."""
        return tuple(policy for provider in self.providers for policy in _repair_policies(provider))

    def repair_policies_of(self, ref: NodeClassRef) -> Sequence[RepairPolicy]:
        """When a node of this class is broken; none where no active cloud says so."""
        return _repair_policies(self.serving(ref))

    def defaults(self, pool: NodePool) -> Requirements:
        """What the pool's cloud adds where the pool leaves something open."""
        provider: object = self.serving(pool.node_class)
        if not isinstance(provider, Defaulting):
            return Requirements()
        wanted = provider.default_requirements(pool)
        named = pool.template_requirements
        return Requirements(requirement for key, requirement in wanted.items() if key not in named)


def _giving_notice(providers: Iterable[object]) -> Iterator[GivingNotice]:
    for provider in providers:
        if isinstance(provider, GivingNotice):
            yield provider


def _repair_policies(provider: object) -> Sequence[RepairPolicy]:
    return provider.repair_policies if isinstance(provider, Repairing) else ()


def _unsupported_volumes(provider: object) -> UnsupportedVolumes:
    return provider.unsupported_volumes if isinstance(provider, RefusingVolumes) else UnsupportedVolumes()

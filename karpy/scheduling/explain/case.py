"""A case: one pod and the pools it might get a node from, with some constraints changed, put to the scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from karpy.cloud.instancetype import Catalog, InstanceType, InstanceTypes
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.objects.podspec import Container, ContainerResources, PodSpec, PodStatus
from karpy.resources import PODS, Resources, format_amount
from karpy.scheduling.aftermath import Aftermath
from karpy.scheduling.afterwards import place_after
from karpy.scheduling.explain.focus import focused
from karpy.scheduling.plan import Launch, Nomination

__all__ = ["Case", "case_of", "with_spec"]


@attrs.frozen(kw_only=True, eq=False)
class Case:
    """What is asked about. Nothing here is changed: each change makes another case."""

    aftermath: Aftermath
    pod: Pod
    pools: Mapping[str, NodePool]
    remaining: Mapping[str, Resources | None]
    sold_out: bool = True
    """Offerings that cannot be had now cannot be had."""
    kept_away: bool = True
    """The anti-affinities of other pods count."""
    daemons: bool = True
    """Daemon sets put their pods on new nodes."""

    @property
    def asked(self) -> Aftermath:
        """What the scheduler is asked about: the cluster that the plan leaves, changed."""
        given = self.aftermath
        snapshot = attrs.evolve(given.snapshot, pools=tuple(self.pools.values()))
        if not self.daemons:
            snapshot = attrs.evolve(snapshot, daemon_sets=())
        catalog = given.catalog if self.sold_out else _restocked(given.catalog)
        return attrs.evolve(given, snapshot=snapshot, catalog=catalog, remaining=self.remaining)

    def place(self) -> Launch | Nomination | None:
        """Where the scheduler puts the pod, after all that the plan has placed."""
        return place_after(self.asked, self.pod, kept_away=self.kept_away)

    def with_pool(self, pool: NodePool) -> Case:
        return attrs.evolve(self, pools={**self.pools, pool.name: pool})


def case_of(aftermath: Aftermath, pod: Pod) -> Case:
    """The case as it stands."""
    pools = {pool.name: pool for pool in aftermath.snapshot.pools}
    focus = focused(aftermath, pod)
    return Case(aftermath=focus, pod=_plain(pod), pools=pools, remaining=aftermath.remaining)


def with_spec(case: Case, **fields: Any) -> Case:
    """The case if these fields of the pod's spec were others."""
    return attrs.evolve(case, pod=_replace(case.pod, spec=_replace(case.pod.spec, **fields)))


def _replace(struct: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(struct, **fields)


def _plain(pod: Pod) -> Pod:
    """The same pod with one container that asks for everything, so that each request can be changed by itself."""
    amounts: dict[str, str | int | float] = {
        name: format_amount(name, amount) for name, amount in pod.requests.items() if name != PODS
    }
    ports = tuple(port for container in pod.spec.containers for port in container.ports)
    container = Container("all", resources=ContainerResources(requests=amounts), ports=ports)
    spec: PodSpec = _replace(pod.spec, containers=(container,), init_containers=(), resources=None, overhead=None)
    plain: Pod = _replace(pod, spec=spec, status=PodStatus(conditions=pod.status.conditions))
    return plain


def _restocked(catalog: Catalog) -> Catalog:
    return attrs.evolve(catalog, types={pool: types.derived(_all_available) for pool, types in catalog.types.items()})


def _all_available(types: InstanceTypes) -> InstanceTypes:
    return InstanceTypes(map(_available, types))


def _available(instance_type: InstanceType) -> InstanceType:
    offerings = tuple(attrs.evolve(offering, available=True) for offering in instance_type.offerings)
    return attrs.evolve(instance_type, offerings=offerings)

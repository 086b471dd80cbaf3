"""Which pods belong together: the selectors of services and workloads, and nothing else of them.

There may be tens of thousands of these objects, and their status changes all the time. So only what selectors say is kept, and
pictures share it until a selector changes.
"""

from __future__ import annotations

import functools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import OwnerReference, decode
from karpy.objects.selectors import LabelSelector
from karpy.objects.workloads import ReplicaSet, ReplicationController, Service, StatefulSet

__all__ = ["WORKLOAD_KINDS", "Selectors", "Services", "Workloads"]

Labels = Mapping[str, str]


def _of_controller(raw: Mapping[str, Any]) -> LabelSelector | None:
    selector = decode(raw, ReplicationController).spec.selector
    return LabelSelector(match_labels=selector) if selector else None


_READERS: Mapping[Kind, Callable[[Mapping[str, Any]], LabelSelector | Labels | None]] = {
    kinds.SERVICE: lambda raw: decode(raw, Service).spec.selector,
    kinds.REPLICATION_CONTROLLER: _of_controller,
    kinds.REPLICA_SET: lambda raw: decode(raw, ReplicaSet).spec.selector,
    kinds.STATEFUL_SET: lambda raw: decode(raw, StatefulSet).spec.selector,
}

WORKLOAD_KINDS = tuple(_READERS)
"""The kinds that only matter where pods are spread by default."""


class Services:
    """The selectors of one namespace's services; those without one select nothing and are not here."""

    def __init__(self, selectors: Iterable[Labels]) -> None:
        self._selectors = tuple(selectors)

    @functools.cached_property
    def _by_label(self) -> Mapping[tuple[str, str], list[Labels]]:
        """Each selector under that of its labels which the fewest others have, so that few are looked at for a pod."""
        shared = Counter(item for selector in self._selectors for item in selector.items())
        found: dict[tuple[str, str], list[Labels]] = {}
        for selector in self._selectors:
            if selector:
                found.setdefault(min(selector.items(), key=lambda item: (shared[item], item)), []).append(selector)
        return found

    def labels_for(self, pod: Labels) -> dict[str, str]:
        """The labels that services select this pod by, together. They cannot contradict each other: the pod has them all."""
        own = pod.items()
        return {
            key: value
            for item in own
            for selector in self._by_label.get(item, ())
            if selector.items() <= own
            for key, value in selector.items()
        }


Owner = tuple[str, str, str, str]
"""apiVersion, kind, namespace, name."""

_BUCKETS = 1024


def _bucket(owner: Owner) -> int:
    return zlib.crc32("/".join(owner).encode()) % _BUCKETS


@attrs.frozen(eq=False)
class Workloads:
    """``services`` by namespace; ``owners``: the selectors of workloads, in buckets, so that one change copies few of them."""

    services: Mapping[str, Services] = attrs.field(factory=dict)
    owners: Sequence[Mapping[Owner, LabelSelector]] = ({},) * _BUCKETS

    def service_labels(self, namespace: str, pod: Labels) -> dict[str, str]:
        """The labels by which services select a pod with labels ``pod``; none when no service does."""
        services = self.services.get(namespace)
        return services.labels_for(pod) if services is not None else {}

    def selector_of(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """The selector of a pod's owner; None for owners of other kinds and for those that are gone."""
        key = (owner.api_version, owner.kind, namespace, owner.name)
        return self.owners[_bucket(key)].get(key)


class Selectors:
    """What is known of services and workloads, kept current object by object."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, Any]] = {}
        self._owners: dict[int, dict[Owner, Any]] = {}
        self._changed_services: set[str] = set()
        self._changed_owners: set[int] = set()
        self._picture = Workloads()

    def take(self, kind: Kind, key: str, raw: Mapping[str, Any] | None) -> None:
        """Take in one object (None: it is gone). Nothing changes unless its selector does.

        Raises:
            InvalidObject: it cannot be read.
        """
        namespace, _, name = key.rpartition("/")
        selector = None if raw is None else _READERS[kind](raw)
        if kind == kinds.SERVICE:
            if _put(self._services.setdefault(namespace, {}), name, selector):
                self._changed_services.add(namespace)
            return
        owner = (kind.api_version, kind.kind, namespace, name)
        bucket = _bucket(owner)
        if _put(self._owners.setdefault(bucket, {}), owner, selector):
            self._changed_owners.add(bucket)

    def picture(self) -> Workloads:
        """The present state; the same object again while nothing changed, and what did not change is shared."""
        if self._changed_services:
            services = dict(self._picture.services)
            services.update((name, Services(self._services[name].values())) for name in self._changed_services)
            self._picture = attrs.evolve(self._picture, services=services)
            self._changed_services.clear()
        if self._changed_owners:
            owners = list(self._picture.owners)
            for bucket in self._changed_owners:
                owners[bucket] = dict(self._owners[bucket])
            self._picture = attrs.evolve(self._picture, owners=owners)
            self._changed_owners.clear()
        return self._picture


def _put(held: dict[Any, Any], key: Any, selector: Any) -> bool:
    """Store the selector, or remove what is there when it is None; whether that changed anything."""
    if held.get(key) == selector:
        return False
    if selector is None:
        del held[key]
    else:
        held[key] = selector
    return True

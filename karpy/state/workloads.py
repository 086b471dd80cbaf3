"""Which pods belong together: the selectors of services and workloads, and nothing else of them.

There may be tens of thousands of these objects, and their status changes all the time. So only what selectors say is kept, and
pictures share it until a selector changes.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import OwnerReference, decode
from karpy.objects.pod import LabelSelector
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


@attrs.frozen(eq=False)
class Workloads:
    """``services`` by namespace; ``owners``: selectors by (apiVersion, kind, namespace), then by name."""

    services: Mapping[str, Services] = attrs.field(factory=dict)
    owners: Mapping[tuple[str, str, str], Mapping[str, LabelSelector]] = attrs.field(factory=dict)

    def service_labels(self, namespace: str, pod: Labels) -> dict[str, str]:
        """The labels by which services select a pod with labels ``pod``; none when no service does."""
        services = self.services.get(namespace)
        return services.labels_for(pod) if services is not None else {}

    def selector_of(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """The selector of a pod's owner; None for owners of other kinds and for those that are gone."""
        return self.owners.get((owner.api_version, owner.kind, namespace), {}).get(owner.name)


class Selectors:
    """What is known of services and workloads, kept current object by object."""

    def __init__(self) -> None:
        self._held: dict[tuple[Kind, str], dict[str, Any]] = {}
        self._changed: set[tuple[Kind, str]] = set()
        self._picture = Workloads()

    def take(self, kind: Kind, key: str, raw: Mapping[str, Any] | None) -> None:
        """Take in one object (None: it is gone). Nothing changes unless its selector does.

        Raises:
            InvalidObject: it cannot be read.
        """
        namespace, _, name = key.rpartition("/")
        selector = None if raw is None else _READERS[kind](raw)
        held = self._held.setdefault((kind, namespace), {})
        if held.get(name) == selector:
            return
        self._changed.add((kind, namespace))
        if selector is None:
            del held[name]
        else:
            held[name] = selector

    def picture(self) -> Workloads:
        """The present state; the same object again while nothing changed, and what did not change is shared."""
        if self._changed:
            services, owners = dict(self._picture.services), dict(self._picture.owners)
            for kind, namespace in self._changed:
                held = self._held[kind, namespace]
                if kind == kinds.SERVICE:
                    services[namespace] = Services(held.values())
                else:
                    owners[kind.api_version, kind.kind, namespace] = dict(held)
            self._changed.clear()
            self._picture = Workloads(services, owners)
        return self._picture

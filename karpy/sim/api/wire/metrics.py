"""What the server counts of itself, in the text form that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from karpy.sim.api.access.access import Action
from karpy.sim.api.registry import Registry
from karpy.sim.api.store import Store

__all__ = ["Metrics"]

Labels = tuple[tuple[str, str], ...]

_ACTING = {"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH"}


class Metrics:
    """Counters of one REST face, beside the sizes of the store."""

    def __init__(self, registry: Registry, store: Store) -> None:
        self._registry = registry
        self._store = store
        self._requests: Counter[Labels] = Counter()

    def count(self, action: Action, version: str, code: int) -> None:
        """One request that was answered with ``code``."""
        resource, _, below = action.resource.partition("/")
        scope = "resource" if action.name else "namespace" if action.namespace else "cluster"
        verb = _ACTING.get(action.verb, action.verb.upper())
        labels = {
            "code": str(code),
            "component": "apiserver",
            "dry_run": "",
            "group": action.group,
            "resource": resource,
            "scope": "" if action.path else scope,
            "subresource": action.path or below,
            "verb": verb,
            "version": version,
        }
        self._requests[tuple(labels.items())] += 1

    def text(self) -> str:
        """The answer of ``/metrics``."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _family(
            "apiserver_request_total", "counter", "Requests answered, by verb, resource and code.", self._requests
        )
        sizes: dict[Labels, int] = {
            (("resource", collection.resource.qualified),): len(collection) for collection in self._store.collections()
        }
        yield from _family("apiserver_storage_objects", "gauge", "Objects stored, by resource.", sizes)
        served = sum(len(resource.versions) for resource in self._registry.resources())
        versions: dict[Labels, int] = {(): served}
        yield from _family("karpy_apiserver_served_versions", "gauge", "Versions of resources served.", versions)
        revision: dict[Labels, int] = {(): self._store.revision}
        yield from _family("karpy_apiserver_revision", "counter", "The newest resource version.", revision)


def _family(name: str, kind: str, told: str, samples: Mapping[Labels, int]) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"
    for labels in sorted(samples):
        shown = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
        yield f"{name}{{{shown}}} {samples[labels]}" if shown else f"{name} {samples[labels]}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

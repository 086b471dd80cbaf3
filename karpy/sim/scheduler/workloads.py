"""Which pods belong together for the scheduler's default spreading: those of a workload or a Service."""

from __future__ import annotations

from typing import ClassVar

from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import decode
from karpy.objects.selectors import LabelSelector
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import Key, controller_of, key_of
from karpy.sim.scheduler.selectors import LabelTest, compile_selector
from karpy.sim.scheduler.shape import Spread
from karpy.sim.scheduler.spread import default_spreads

__all__ = ["WorkloadSelectors"]

_REMEMBERED = 1_000


class WorkloadSelectors:
    """Knows the selectors of workloads and services."""

    KINDS: ClassVar[tuple[Kind, ...]] = (
        kinds.REPLICA_SET,
        kinds.STATEFUL_SET,
        kinds.REPLICATION_CONTROLLER,
        kinds.SERVICE,
    )

    def __init__(self) -> None:
        self._selectors: dict[tuple[str, Key], tuple[RawObject, LabelTest]] = {}
        self._services: dict[str, dict[str, tuple[RawObject, LabelTest]]] = {}
        self._spreads: dict[tuple[LabelTest, ...], tuple[Spread, ...]] = {}

    def take(self, event: WatchEvent) -> None:
        """Take in a workload or a service."""
        kind, obj = event.kind, event.object
        namespace, name = key_of(obj)
        selector = (obj.get("spec") or {}).get("selector")
        known = self._services.setdefault(namespace, {}) if kind is kinds.SERVICE else None
        if known is not None:
            if event.type is EventType.DELETED or not selector:
                known.pop(name, None)
            elif name not in known or known[name][0] != selector:
                known[name] = (selector, _compiled({"matchLabels": selector}))
            return
        place = (kind.kind, (namespace, name))
        if event.type is EventType.DELETED or not selector:
            self._selectors.pop(place, None)
        elif place not in self._selectors or self._selectors[place][0] != selector:
            labels_only = kind is kinds.REPLICATION_CONTROLLER
            self._selectors[place] = (selector, _compiled({"matchLabels": selector} if labels_only else selector))

    def default_spreads(self, pod: RawObject) -> tuple[Spread, ...]:
        """The constraints wished for by default; none for a pod that belongs to nothing."""
        namespace, _ = key_of(pod)
        labels = pod["metadata"].get("labels") or {}
        tests = [test for _, test in self._services.get(namespace, {}).values() if test(labels)]
        owner = controller_of(pod)
        if owner is not None:
            held = self._selectors.get((owner["kind"], (namespace, owner["name"])))
            if held is not None:
                tests.append(held[1])
        return self._spreads_of(tuple(tests)) if tests else ()

    def _spreads_of(self, tests: tuple[LabelTest, ...]) -> tuple[Spread, ...]:
        """One test stands for the same pods, so it is made once."""
        spreads = self._spreads.get(tests)
        if spreads is None:
            if len(self._spreads) >= _REMEMBERED:
                self._spreads.clear()  # those of workloads that are gone would pile up
            only = tests[0]
            both = only if len(tests) == 1 else lambda found: all(test(found) for test in tests)
            spreads = self._spreads[tests] = default_spreads(both)
        return spreads


def _compiled(selector: RawObject) -> LabelTest:
    test = compile_selector(decode(selector, LabelSelector))
    assert test is not None  # only an absent selector compiles to None
    return test

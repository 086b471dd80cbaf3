"""A world with an operator in it, and a way to have its calls to the API server or to the cloud answered otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from karpy.clock import Clock
from karpy.errors import InvalidObject, KubeError
from karpy.metrics import Metric
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodePool
from karpy.operator import Operator
from karpy.report.exposition import Exposition
from karpy.settings import Settings
from karpy.sim.generic import NODE_CLASS as SIM_NODE_CLASS
from karpy.sim.world import World
from karpy.state import pools
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, deployment, template
from tests.karpy.sim.manifests import pods as pods_of

Json = dict[str, Any]


class Silence:
    """A logger that says nothing."""

    def bind(self, **_: Any) -> Silence:
        return self

    def info(self, *_: Any, **__: Any) -> None:
        """Nothing."""

    error = warning = debug = info


class Notes:
    """A logger that keeps what it is told: level, message and the rest of each line."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def bind(self, **_: Any) -> Notes:
        return self

    def debug(self, message: str, **keys: Any) -> None:
        self.lines.append(("debug", message, keys))

    def info(self, message: str, **keys: Any) -> None:
        self.lines.append(("info", message, keys))

    def warning(self, message: str, **keys: Any) -> None:
        self.lines.append(("warning", message, keys))

    def error(self, message: str, **keys: Any) -> None:
        self.lines.append(("error", message, keys))

    def said(self, message: str) -> list[dict[str, Any]]:
        """The keys beside this message, each time that it was logged."""
        return [keys for _level, text, keys in self.lines if text == message]


class Tally(Exposition):
    """Metrics that can be scraped, and that remember everything they were told, in order."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._told: list[tuple[Metric, float, dict[str, str]]] = []

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None:
        self._told.append((metric, amount, labels))
        super().add(metric, amount, **labels)

    def set(self, metric: Metric, value: float, /, **labels: str) -> None:
        self._told.append((metric, value, labels))
        super().set(metric, value, **labels)

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        self._told.append((metric, value, labels))
        super().observe(metric, value, **labels)

    def told(self, metric: Metric) -> list[tuple[float, dict[str, str]]]:
        """Amount and labels, each time."""
        return [(amount, labels) for each, amount, labels in self._told if each is metric]


class Intercepted:
    """``target``, of which some calls go through a function first: it gets the real method and the call's arguments."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def through(self, name: str, function: Callable[..., Any]) -> None:
        intercept(self, name, function)


def intercept(target: Any, name: str, function: Callable[..., Any]) -> None:
    """Have calls of ``target.name`` go through ``function(real, *arguments)``."""
    setattr(target, name, partial(function, getattr(target, name)))


class Stage:
    """One world, one operator. ``kube`` is what the operator talks to; the world's own actors use ``api``."""

    def __init__(self, *objects: Json, settings: Settings | None = None, hooks: Sequence[Any] = ()) -> None:
        self.world = World(timing=QUICK)
        self.api, self.cloud, self.clock = self.world.api, self.world.cloud, self.world.clock
        if hooks:
            self.cloud.registration_hooks = hooks  # type: ignore[attr-defined]
        self.kube = Intercepted(self.api)
        self.decisions: list[tuple[float, Any]] = []
        self.log, self.metrics = Notes(), Tally(self.clock)
        self.settings = settings
        self.operator = self.start()
        self.metrics.read_from(lambda: self.operator.readings())
        self.world.apply([NODE_CLASS, *(objects or (pool(),))])
        self.run(1)

    def start(self) -> Operator:
        """One more operator, as after a restart."""
        operator = Operator(
            kube=self.kube,
            providers=(self.cloud,),
            clock=self.clock,
            settings=self.settings,
            on_decision=lambda now, decision: self.decisions.append((now, decision)),
            log=self.log,
            metrics=self.metrics,
        )
        self.world.install(operator)
        return operator

    def run(self, seconds: float) -> None:
        self.world.run(seconds)

    def until(self, predicate: Callable[[], bool], timeout_s: float = 900.0) -> float:
        """Let time pass until it holds, and say how much that was."""
        start = self.clock.now()
        assert self.world.run_until(predicate, timeout_s)
        return self.clock.now() - start

    def grown(self, *objects: Json) -> str:
        """Apply workloads that need one node, let them run there; returns the claim's name."""
        self.world.apply(objects or [deployment(replicas=2)])
        self.run(60)
        (claim,) = self.claims
        return str(claim["metadata"]["name"])

    def all(self, kind: Kind) -> list[Mapping[str, Any]]:
        return list(self.api.list(kind).items)

    @property
    def claims(self) -> list[Mapping[str, Any]]:
        return self.all(kinds.NODE_CLAIM)

    @property
    def nodes(self) -> list[Mapping[str, Any]]:
        return self.all(kinds.NODE)

    def names(self, kind: Kind) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.all(kind)]

    def running(self, app: str) -> int:
        return sum(
            pod["status"].get("phase") == "Running" and pod["metadata"]["labels"]["app"] == app
            for pod in pods_of(self.world)
        )

    def scale(self, name: str, replicas: int) -> None:
        self.api.patch(kinds.DEPLOYMENT, name, {"spec": {"replicas": replicas}}, "default")

    def node_class_conditions(self) -> dict[str, str]:
        return conditions(self.api.get(SIM_NODE_CLASS, "default"))


def pool(name: str = "default", *, labels: Mapping[str, str] | None = None, **template_spec: Any) -> Json:
    """A pool of the generic cloud that consolidates after half a minute."""
    ref = {"group": SIM_NODE_CLASS.group, "kind": SIM_NODE_CLASS.kind, "name": "default"}
    return {
        "apiVersion": kinds.NODE_POOL.api_version,
        "kind": kinds.NODE_POOL.kind,
        "metadata": {"name": name},
        "spec": {
            "template": {
                "metadata": {"labels": dict(labels or {})},
                "spec": {"nodeClassRef": ref, "requirements": [], **template_spec},
            },
            "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s"},
        },
    }


def held(found: Json) -> Json:
    """The pool with a budget that lets none of its nodes go, whatever they become."""
    found["spec"]["disruption"]["budgets"] = [{"nodes": "0"}]
    return found


def apps(name: str, replicas: int, cpu: str = "1", **spec: Any) -> Json:
    """A Deployment of pods of that size."""
    return deployment(name, replicas, template=template(name, cpu, **spec))


def unreadable(stage: Stage, monkeypatch: pytest.MonkeyPatch, name: str = "default") -> None:
    """The pool becomes one that karpy cannot read, though the API server let it pass."""

    def read(_raw: Mapping[str, Any]) -> NodePool:
        raise InvalidObject("found 'lots'", path="spec.limits.cpu")

    monkeypatch.setitem(pools._READERS, kinds.NODE_POOL, read)  # type: ignore[arg-type]
    stage.api.patch(kinds.NODE_POOL, name, {"metadata": {"annotations": {"touched": "yes"}}})


def conditions(obj: Mapping[str, Any]) -> dict[str, str]:
    """Status by type."""
    return {each["type"]: each["status"] for each in (obj.get("status") or {}).get("conditions", ())}


def taint_keys(node: Mapping[str, Any]) -> list[str]:
    return [taint["key"] for taint in node["spec"].get("taints") or ()]


def refusal(code: int, reason: str = "InternalError") -> KubeError:
    return KubeError(f"refused with {code}", code=code, reason=reason)


def writes_condition(kind: Kind, patch: Mapping[str, Any], type_: str) -> bool:
    """Whether this patch of a claim's status says that a condition is true."""
    said = conditions(patch) if kind == kinds.NODE_CLAIM else {}
    return said.get(type_) == "True"

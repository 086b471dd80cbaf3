"""A stage on which nodes leave: with a clock of the operator's own that may be wrong, and with what it measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import parse_time
from karpy.errors import KubeError
from karpy.metrics import Metric
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.operator import Operator
from karpy.sim.clock import VirtualClock
from tests.karpy.controllers.stage import Json, Stage, apps
from tests.karpy.sim.manifests import pods

GRACE = "terminationGracePeriodSeconds"
WISH = "karpenter.sh/do-not-disrupt"
STOPS_LATE = {"sim.karpy.dev/stop-seconds": "inf"}


class Wrong:
    """A clock that goes as the world's does, and stands elsewhere."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.ahead_s = 0.0

    def now(self) -> float:
        return self._clock.now() + self.ahead_s


class Leaving(Stage):
    """One world, one operator, and what there is to see of nodes that leave."""

    def start(self) -> Operator:
        self.own_clock = Wrong(self.clock)
        operator = Operator(
            kube=self.kube,
            providers=(self.cloud,),
            clock=self.own_clock,
            settings=self.settings,
            log=self.log,
            metrics=self.metrics,
        )
        self.world.install(operator)
        return operator

    def told(self, reason: str, kind: Kind) -> list[str]:
        """What was told about objects of a kind, by that reason."""
        found = [event for event in self.all(kinds.EVENT) if event["reason"] == reason]
        return [event["message"] for event in found if event["involvedObject"]["kind"] == kind.kind]

    def counted(self, metric: Metric, **labels: str) -> int:
        """How much was added to a counter with these labels."""
        return int(sum(amount for amount, each in self.metrics.told(metric) if each == labels))

    def asked(self) -> list[tuple[float, str, str]]:
        """From now on: when which app's pod is asked for, and how that is answered."""
        calls: list[tuple[float, str, str]] = []

        def evict(real: Any, name: str, namespace: str, **more: Any) -> None:
            app = self.api.get(kinds.POD, name, namespace)["metadata"]["labels"]["app"]
            try:
                real(name, namespace, **more)
            except KubeError as error:
                calls.append((self.clock.now(), app, str(error.code)))
                raise
            calls.append((self.clock.now(), app, "200"))

        self.kube.through("evict", evict)
        return calls

    def deleted(self) -> list[tuple[float, str, int | None]]:
        """From now on: when the operator deletes which app's pod, and with how much grace."""
        calls: list[tuple[float, str, int | None]] = []

        def delete(real: Any, kind: Kind, name: str, namespace: str = "", **more: Any) -> None:
            if kind == kinds.POD:
                pod = self.api.get(kind, name, namespace)
                assert more["uid"] == pod["metadata"]["uid"], "a later pod of the same name is not meant"
                calls.append((self.clock.now(), pod["metadata"]["labels"]["app"], more.get("grace_period_s")))
            real(kind, name, namespace, **more)

        self.kube.through("delete", delete)
        return calls

    def take(self, name: str) -> float:
        """Delete a claim; returns when that was."""
        self.api.delete(kinds.NODE_CLAIM, name)
        return self.clock.now()

    def until_gone(self, name: str) -> float:
        """Let time pass until claim and node are gone, and say how much that was."""
        return self.until(
            lambda: name not in self.names(kinds.NODE_CLAIM) and name not in self.names(kinds.NODE), 40_000
        )

    def condition(self, name: str, type_: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a claim's condition."""
        found = self.api.get(kinds.NODE_CLAIM, name)["status"]["conditions"]
        return next((_said(each) for each in found if each["type"] == type_), None)

    def deadline(self, name: str) -> float:
        annotations = self.api.get(kinds.NODE_CLAIM, name)["metadata"]["annotations"]
        return parse_time(annotations["karpenter.sh/nodeclaim-termination-timestamp"])

    def pod(self, app: str) -> Mapping[str, Any]:
        """The one pod of an app."""
        (found,) = (pod for pod in pods(self.world) if pod["metadata"]["labels"]["app"] == app)
        return found

    def pod_nodes(self, app: str) -> list[str]:
        """The nodes of an app's pods."""
        found = (pod for pod in pods(self.world) if pod["metadata"]["labels"]["app"] == app)
        return sorted({pod["spec"]["nodeName"] for pod in found if pod["spec"].get("nodeName")})


def _said(condition: Mapping[str, str]) -> tuple[str, str, str]:
    return condition["status"], condition.get("reason", ""), condition.get("message", "")


def wishing(name: str, replicas: int, cpu: str = "1", *, annotations: Mapping[str, str], **spec: Any) -> Json:
    """A Deployment whose pods carry these annotations."""
    made = apps(name, replicas, cpu, **spec)
    made["spec"]["template"]["metadata"]["annotations"] = dict(annotations)
    return made


def budget(name: str, app: str, **spec: Any) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }


def waits_only(texts: Sequence[str]) -> bool:
    """Whether of a drain nothing was told but how many pods there are to wait for."""
    return all(text.endswith("pods are waiting to be evicted") for text in texts)

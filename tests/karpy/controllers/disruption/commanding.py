"""Commands that a test gives itself, on a stage whose pool wants none of its nodes to go."""

from __future__ import annotations

from typing import Any

import attrs

from karpy.controllers.base import Controller
from karpy.controllers.disruption.queue import Queue
from karpy.disruption.command import Command, Method, Move
from karpy.objects import kinds
from karpy.scheduling.plan import Launch, Plan
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, apps, conditions, pool, taint_keys

DISRUPTED = "karpenter.sh/disrupted"


def keeping() -> dict[str, Any]:
    """A pool that consolidates nothing."""
    kept = pool()
    kept["spec"]["disruption"]["consolidateAfter"] = "Never"
    return kept


def apart(name: str, replicas: int) -> dict[str, Any]:
    """Pods that never share a node."""
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return apps(name, replicas, affinity=affinity)


def peopled(nodes: int, *, pool: dict[str, Any] | None = None, settings: Settings | None = None) -> Stage:
    """So many nodes with a pod each."""
    stage = Stage(pool or keeping(), settings=settings)
    stage.world.apply([apart("a", nodes)])
    stage.run(60)
    assert len(stage.nodes) == nodes
    return stage


def controller(stage: Stage, name: str) -> Controller:
    return next(each for each in stage.operator.controllers if each.name == name)


def queue(stage: Stage) -> Queue:
    found = controller(stage, Queue.name)
    assert isinstance(found, Queue)
    return found


def another(stage: Stage) -> Launch:
    """One more machine like the first that was launched."""
    plan = next(decision for _, decision in stage.decisions if isinstance(decision, Plan))
    return attrs.evolve(plan.launches[0], pods=(), pod_uids=())


def give(
    stage: Stage,
    *claims: str,
    replacements: int = 0,
    method: Method = Method.SINGLE_NODE,
    moves: tuple[Move, ...] = (),
) -> Command:
    """Have these claims taken away, once so many new machines are there."""
    snapshot = stage.operator.state.snapshot()
    views = [snapshot.nodes.by_claim[name] for name in claims]
    command = Command(
        method=method,
        claims=claims,
        nodes=tuple(view.name for view in views),
        replacements=tuple(another(stage) for _ in range(replacements)),
        moves=moves,
    )
    assert queue(stage).begin(command, snapshot)
    return command


def is_marked(stage: Stage, name: str) -> bool:
    """Whether the node has the taint and its claim the condition of those that go; both or none."""
    tainted = DISRUPTED in taint_keys(stage.api.get(kinds.NODE, name))
    has_reason = "DisruptionReason" in conditions(stage.api.get(kinds.NODE_CLAIM, name))
    assert tainted == has_reason
    return tainted


def is_going(stage: Stage, name: str) -> bool:
    """Whether the claim is being deleted, or gone."""
    claim = next((each for each in stage.claims if each["metadata"]["name"] == name), None)
    return claim is None or "deletionTimestamp" in claim["metadata"]


def told(stage: Stage, reason: str, kind: str = "") -> dict[tuple[str, str], str]:
    """The last event of this reason on each object, by kind and name."""
    return {
        (event["involvedObject"]["kind"], event["involvedObject"]["name"]): event["message"]
        for event in stage.all(kinds.EVENT)
        if event["reason"] == reason and kind in ("", event["involvedObject"]["kind"])
    }

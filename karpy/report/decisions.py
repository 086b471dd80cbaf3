"""What was decided, told: plans and disruption commands as happenings."""

from __future__ import annotations

import math
from collections.abc import Iterator

from karpy.disruption.command import Command
from karpy.report.happening import Happening, What
from karpy.scheduling.plan import Launch, Plan, Unschedulable

__all__ = ["tell_command", "tell_plan"]


def tell_plan(at: float, plan: Plan) -> Iterator[Happening]:
    """Each launch, and each group of pods that cannot be placed. Pods that go to nodes which are there are told when bound."""
    yield from (_launch(at, launch) for launch in plan.launches)
    yield from (_unschedulable(at, part) for part in plan.unschedulable)


def tell_command(at: float, command: Command) -> Happening:
    """A disruption command with its reason."""
    fields = {
        "decision": command.decision.value,
        "reason": command.reason.value,
        "nodes": list(command.nodes),
        "claims": list(command.claims),
        "replacements": [_first_choice(launch) for launch in command.replacements],
        "savings": round(command.savings, 6),
    }
    text = f"{command.decision.value} {command.whom}: {command.explain()}"
    return Happening(at, What.DISRUPTION_DECIDED, text, fields)


def _first_choice(launch: Launch) -> str:
    """The cheapest type; of a machine that the cloud chooses, the pool."""
    return launch.instance_types[0].name if launch.instance_types else f"any of {launch.pool.name}"


def _launch(at: float, launch: Launch) -> Happening:
    best = launch.instance_types[0]
    fields = {
        "nodePool": launch.pool.name,
        "considered": launch.considered,
        "feasible": launch.feasible,
        "chosen": best.name,
        "price": best.price if math.isfinite(best.price) else None,
        "alternatives": [each.name for each in launch.instance_types[1:6]],
        "requests": launch.requests.to_dict(),
        "count": len(launch.pods),
        "pods": sorted(launch.pods),
        **({"headroom": {name: len(uids) for name, uids in launch.headroom.items()}} if launch.headroom else {}),
    }
    return Happening(at, What.LAUNCH_DECIDED, launch.explain(), fields)


def _unschedulable(at: float, part: Unschedulable) -> Happening:
    return Happening(
        at,
        What.UNSCHEDULABLE,
        f"{len(part.pods)} pod(s) cannot be placed: {part.reason}",
        {"reason": part.reason, "count": len(part.pods), "pods": sorted(part.pods)},
    )

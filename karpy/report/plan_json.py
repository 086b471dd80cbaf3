"""An outlook as JSON: the answer in the format of recorded scenarios, with more keys beside."""

from __future__ import annotations

from typing import Any

import msgspec

from karpy.report.command_json import survey_json
from karpy.report.outlook import Outlook, claim_requirements, priced
from karpy.scheduling.plan import BufferOutcome, Launch, Plan

__all__ = ["outlook_json", "to_line"]


def to_line(document: Any) -> str:
    """One line of JSON, without its end."""
    return msgspec.json.encode(document).decode()


def outlook_json(outlook: Outlook) -> dict[str, Any]:
    """What to do for the pods stands at the top; what to disrupt does so alone, or under ``disruption``."""
    document: dict[str, Any] = {"name": outlook.name}
    if outlook.plan is not None:
        document |= _plan(outlook, outlook.plan)
    if outlook.disruption is not None:
        disruption = survey_json(outlook.disruption)
        document |= disruption if outlook.plan is None else {"disruption": disruption}
    if outlook.notes:
        document["notes"] = list(outlook.notes)
    return document


def _plan(outlook: Outlook, plan: Plan) -> dict[str, Any]:
    launches = sorted(plan.launches, key=lambda launch: sorted(launch.pods))
    waiting = {pod: part.reason for part in plan.unschedulable for pod in part.pods}
    return {
        "newNodeClaims": [_launch(outlook, launch) for launch in launches],
        "existingNodes": {
            nomination.node: sorted(nomination.pods) for nomination in sorted(plan.nominations, key=lambda n: n.node)
        },
        "errors": dict(sorted(waiting.items())),
        "price": priced(plan.price),
        "priceBound": priced(outlook.bound),
        **({"capacityBuffers": {each.buffer: _buffer(each) for each in plan.buffers}} if plan.buffers else {}),
    }


def _buffer(found: BufferOutcome) -> dict[str, Any]:
    return {
        "existingNodes": dict(sorted(found.on_nodes.items())),
        "launched": found.launched,
        "unplaced": found.unplaced,
        **({"reason": found.reason} if found.unplaced else {}),
    }


def _launch(outlook: Outlook, launch: Launch) -> dict[str, Any]:
    offering = outlook.offering(launch)
    return {
        "nodePool": launch.pool.name,
        "instanceTypes": [each.name for each in launch.instance_types],
        "requirements": claim_requirements(launch).to_selectors(),
        "requests": launch.requests.to_dict(),
        "pods": sorted(launch.pods),
        "cheapestPrice": priced(launch.price),
        **(
            {"headroom": {name: len(uids) for name, uids in sorted(launch.headroom.items())}} if launch.headroom else {}
        ),
        **({"minValuesRelaxed": True} if launch.min_values_relaxed else {}),
        **({} if offering is None else {"zone": offering.zone, "capacityType": offering.capacity_type}),
        "explanation": launch.explain(),
    }

"""`Scene`: how things stand in a cluster at one instant, for a view to draw; and `Summary`, what came of a whole run."""

from __future__ import annotations

import json
from collections.abc import Mapping

import attrs

from karpy.cloud.instancetype import Price
from karpy.report.happening import Happening, clock_text
from karpy.report.machines import Machine

__all__ = ["Scene", "Summary"]


@attrs.frozen(kw_only=True, eq=False)
class Scene:
    """``seconds`` count from ``start``, when the run began; ``pods_on`` counts pods by node. The newest happenings come last.

    ``price`` is dollars per hour now, ``cost`` dollars so far.
    """

    start: float
    seconds: float
    price: Price
    cost: float
    pods_pending: int
    pods_starting: int
    pods_running: int
    machines: tuple[Machine, ...] = ()
    pods_on: Mapping[str, int] = attrs.field(factory=dict)
    decisions: tuple[Happening, ...] = ()
    recent: tuple[Happening, ...] = ()


@attrs.frozen(kw_only=True)
class Summary:
    """What came of a run. ``cost`` is the dollars spent on machines, ``reached_end`` whether the script was played to its end."""

    scenario: str
    seed: int
    virtual_seconds: float
    pods_pending: int
    pods_running: int
    nodes_left: int
    instances_left: int
    launches: int
    terminations: int
    most_nodes: int
    highest_price: Price
    cost: float
    reached_end: bool

    def to_json(self) -> str:
        """One JSON object on one line."""
        fields = {
            "event": "summary",
            "scenario": self.scenario,
            "seed": self.seed,
            "virtualSeconds": round(self.virtual_seconds, 3),
            "podsPending": self.pods_pending,
            "podsRunning": self.pods_running,
            "nodesLeft": self.nodes_left,
            "instancesLeft": self.instances_left,
            "launches": self.launches,
            "terminations": self.terminations,
            "mostNodes": self.most_nodes,
            "highestPrice": round(self.highest_price, 6),
            "cost": round(self.cost, 6),
            "reachedEnd": self.reached_end,
        }
        return json.dumps(fields, ensure_ascii=False)

    def to_text(self) -> str:
        """A few lines for people."""
        end = "" if self.reached_end else " (stopped before the end of the script)"
        return "\n".join(
            (
                f"{self.scenario}, seed {self.seed}: {clock_text(self.virtual_seconds)} of virtual time{end}",
                f"  machines  {self.launches} launched, {self.terminations} terminated, at most {self.most_nodes} at a time",
                f"  cost      ${self.cost:.4f} in all, at most ${self.highest_price:.4f}/h",
                f"  pods      {self.pods_pending} pending, {self.pods_running} running at the end",
                f"  left      {self.nodes_left} nodes, {self.instances_left} instances",
            )
        )

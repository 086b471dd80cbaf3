"""What a solve starts from: the room that is left on nodes once pods that wait have the places made for them, and what is sold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

from karpy.cloud.instancetype import Catalog, Price
from karpy.resources import Resources
from karpy.scheduling.batch import Batch
from karpy.scheduling.policy import Policy
from karpy.scheduling.run import Run
from karpy.scheduling.templates import Template
from karpy.state.snapshot import Snapshot

__all__ = ["Start", "start_of"]

Machine = tuple[Price, Mapping[str, int]]


@attrs.frozen(eq=False)
class Start:
    """The amounts free on each node, before any pod is placed anew; a node that is not considered is not named.

    Pods whose place depends on where others are may yet lose the one that was made for them, so they take nothing here.
    ``machines`` are the machines of all pools with their room, the cheapest first.
    """

    free: Mapping[str, Mapping[str, int]]
    machines: Sequence[Machine]

    def cheapest(self, requests: Resources) -> Price | None:
        """What the cheapest machine costs that has so much room."""
        return next((price for price, room in self.machines if requests.fits_in(room)), None)


def start_of(snapshot: Snapshot, catalog: Catalog, policy: Policy) -> Start:
    """What a solve for `Snapshot.to_place` starts from."""
    planned = [pod for pod in snapshot.to_place if pod.metadata.uid in snapshot.assignments]
    run = Run(snapshot, catalog, Batch.read(snapshot, catalog, planned, policy), policy)
    run.keep_planned()
    machines = [machine for template in run.templates for machine in _machines(template)]
    machines.sort(key=lambda machine: machine[0])
    return Start({node.view.name: node.free for node in run.nodes}, machines)


def _machines(template: Template) -> list[Machine]:
    return [
        (priced.price, template.room(bit))
        for priced, bit in template.columns.choice(template.requirements).by_price
        if bit & template.base.mask and math.isfinite(priced.price)
    ]

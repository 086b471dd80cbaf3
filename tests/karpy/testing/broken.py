"""Programs with a fault of their own, in a module, for other processes to find."""

from __future__ import annotations

from karpy.controllers.nodeclaim.garbage import GarbageCollection
from karpy.controllers.nodeclaim.lifecycle import NodeClaimLifecycle
from karpy.operator import Operator
from karpy.sim.processes.process import Surroundings
from karpy.testing import reference


class Forgets(NodeClaimLifecycle):
    """Does not look for a machine whose launch was not written down."""

    def _forgotten_instance(self, _claim: object, _provider: object) -> str:
        return ""


def leaking(surroundings: Surroundings) -> Operator:
    """Never ends a machine whose id was not written down before the process died, nor anything left behind."""

    operator = reference(surroundings)
    operator.controllers = tuple(
        Forgets(each._shared) if isinstance(each, NodeClaimLifecycle) else each
        for each in operator.controllers
        if not isinstance(each, GarbageCollection)
    )
    return operator


def careless(surroundings: Surroundings) -> Operator:
    """Never drains a node, and so never lets one go."""
    operator = reference(surroundings)
    operator.controllers = tuple(each for each in operator.controllers if each.name != "node.termination")
    return operator


def raising(_surroundings: Surroundings) -> Operator:
    """Does not even start."""
    raise RuntimeError("no such luck")

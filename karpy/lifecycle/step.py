"""What to do next for a machine: the values that the deciders of this folder return and controllers carry out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.objects.node import Node

__all__ = ["AddFinalizer", "GiveUp", "Initialize", "Launch", "Register", "Rest", "Step", "Wait"]


@attrs.frozen
class AddFinalizer:
    """Hold the claim until its instance is gone, before there is an instance."""


@attrs.frozen
class Launch:
    """Ask the cloud for an instance."""


@attrs.frozen
class Register:
    """Make this node ours, once all registration hooks let it pass."""

    node: Node


@attrs.frozen
class Initialize:
    """The node can take all that was promised: ``node_patch`` is a JSON merge patch that says so on the node."""

    node: Node
    node_patch: Mapping[str, Any]


@attrs.frozen
class Wait:
    """Nothing to do yet: ``condition`` is not True, for ``reason``. Look again after ``retry_after_s`` at the latest."""

    condition: str
    reason: str
    message: str
    retry_after_s: float | None = None
    status: str = "Unknown"


@attrs.frozen
class GiveUp:
    """Delete the claim: it took longer than ``limit_s``. ``reason`` is the label of what is counted."""

    reason: str
    limit_s: float


@attrs.frozen
class Rest:
    """The machine is up: nothing is left to do for it here."""


Step = AddFinalizer | Launch | Register | Initialize | Wait | GiveUp | Rest

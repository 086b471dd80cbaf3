"""One machine as the core sees it, whatever is known of it so far."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from karpy import labels
from karpy.objects.node import Node
from karpy.objects.nodeclaim import INSTANCE_TERMINATING, NodeClaim
from karpy.objects.pod import Pod, PodGroup
from karpy.requirements import Requirements
from karpy.resources import NODES, Resources, total
from karpy.taints import Taint, is_ephemeral

__all__ = ["NodeView", "Order"]

T = TypeVar("T")

Order = tuple[bool, str, str]
"""What views are sorted by."""


@attrs.frozen(kw_only=True, eq=False)
class NodeView:
    """One machine as the core sees it: its Node, its NodeClaim, or both, and the pods on it (core specification 6.1).

    Until a claim is registered its own labels and taints count, then the node's. Until it is initialized, what the node
    does not report yet is taken from the claim, and taints that go away by themselves are overlooked.
    """

    node: Node | None = None
    claim: NodeClaim | None = None
    pods: tuple[Pod, ...] = ()
    marked_for_deletion: bool = False
    nominated_until: float = 0.0
    # Worked out when the view is made, since every picture asks for it.
    name: str = attrs.field(init=False)
    """The node's name, or the claim's before it has joined."""
    provider_id: str = attrs.field(init=False)
    is_registered: bool = attrs.field(init=False)
    is_initialized: bool = attrs.field(init=False)
    is_leaving: bool = attrs.field(init=False)
    """Marked, or being deleted: nothing new is placed here, and its pods want another place."""
    labels: Mapping[str, str] = attrs.field(init=False)
    taints: tuple[Taint, ...] = attrs.field(init=False)
    _derived: dict[object, Any] = attrs.field(init=False, factory=dict, repr=False)

    def __attrs_post_init__(self) -> None:
        derive = object.__setattr__
        node, claim = self.node, self.claim
        assert node is not None or claim is not None, "a view has a node or a claim"
        derive(self, "is_registered", claim is None or (node is not None and claim.is_registered))
        derive(self, "is_initialized", claim is None or (node is not None and claim.is_initialized))
        derive(self, "is_leaving", self.marked_for_deletion or self.is_ending)
        derive(self, "name", _name(self))
        derive(self, "provider_id", (node.spec.provider_id if node is not None else "") or _provider_id(claim))
        derive(self, "labels", _labels(self))
        derive(self, "taints", _taints(self))

    # Worked out when a decision first asks.

    @functools.cached_property
    def requirements(self) -> Requirements:
        """The labels, as requirements of one value each."""
        return Requirements.from_labels(self.labels)

    @functools.cached_property
    def capacity(self) -> Resources:
        """What the machine has: as its node says, or until then its claim."""
        return _capacity(self)

    @functools.cached_property
    def allocatable(self) -> Resources:
        """What it has for pods."""
        return _allocatable(self)

    @functools.cached_property
    def used(self) -> Resources:
        """What the pods on it reserve."""
        return total(pod.requests for pod in self.pods)

    @functools.cached_property
    def daemon_used(self) -> Resources:
        """Of that, what is reserved by pods of DaemonSets."""
        return total(pod.requests for pod in self.pods if pod.is_owned_by_daemon_set)

    @functools.cached_property
    def available(self) -> Resources:
        """What is left for pods; daemons that are still to come are not taken off."""
        return self.allocatable - self.used

    @functools.cached_property
    def pod_groups(self) -> Mapping[PodGroup, int]:
        """How many of the active pods are alike in all that selectors see."""
        return Counter(pod.group for pod in self.pods if pod.is_active)

    @functools.cached_property
    def keeping_apart(self) -> tuple[Pod, ...]:
        """The active pods that refuse to be where certain others are."""
        return tuple(pod for pod in self.pods if _keeps_apart(pod) and pod.is_active)

    @property
    def order(self) -> Order:
        """Initialized machines first, then by name; a node and a claim may have the same one."""
        return (not self.is_initialized, self.name, self.claim.name if self.claim is not None else "")

    @property
    def pool(self) -> str:
        """The name of the NodePool that it came from; empty for a node of somebody else.

        The claim knows it from the beginning. Its node may still be known as it was before it was registered.
        """
        return self.labels.get(labels.NODEPOOL, "") or ("" if self.claim is None else self.claim.pool)

    @property
    def is_ending(self) -> bool:
        """Being deleted, and not only about to be."""
        if self.claim is not None:
            return self.claim.metadata.is_deleting or self.claim.is_true(INSTANCE_TERMINATING)
        return self.node is not None and self.node.metadata.is_deleting

    @property
    def is_managed(self) -> bool:
        """Whether it has a NodeClaim."""
        return self.claim is not None

    @functools.cached_property
    def reschedulable_pods(self) -> tuple[Pod, ...]:
        """The pods that would want another place if it went away."""
        return tuple(pod for pod in self.pods if pod.is_reschedulable)

    def derived(self, build: Callable[[NodeView], T]) -> T:
        """``build(self)``, remembered for as long as this view lives: what a decision makes of a machine that did not change."""
        if build not in self._derived:
            self._derived[build] = build(self)
        found: T = self._derived[build]
        return found


def _keeps_apart(pod: Pod) -> bool:
    anti = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None
    return anti is not None and bool(anti.required)


def _name(view: NodeView) -> str:
    node, claim = view.node, view.claim
    if node is not None and (view.is_registered or claim is None):
        return node.name
    return claim.name if claim is not None else ""


def _provider_id(claim: NodeClaim | None) -> str:
    return claim.provider_id if claim is not None else ""


def _labels(view: NodeView) -> Mapping[str, str]:
    if view.node is not None and view.is_registered:
        own = view.node.labels
        # A node without the label still is that host.
        return own if labels.HOSTNAME in own else {labels.HOSTNAME: view.node.name, **own}
    return view.claim.labels if view.claim is not None else {}


def _taints(view: NodeView) -> tuple[Taint, ...]:
    claim = view.claim
    if view.node is not None and view.is_registered:
        taints = view.node.spec.taints
    else:
        taints = claim.taints if claim is not None else ()
    if claim is None or view.is_initialized:
        return taints
    passing = claim.startup_taints
    return tuple(taint for taint in taints if not is_ephemeral(taint) and not any(taint.matches(p) for p in passing))


def _capacity(view: NodeView) -> Resources:
    reported = view.node.status.capacity if view.node is not None else None
    expected = view.claim.capacity if view.claim is not None else Resources()
    return _fill(reported, expected, view) + {NODES: 1}


def _allocatable(view: NodeView) -> Resources:
    reported = view.node.status.allocatable if view.node is not None else None
    claim = view.claim
    # Before the launch nothing is known but what the claim was planned to hold.
    expected = Resources() if claim is None else (claim.allocatable or claim.requests)
    return _fill(reported, expected, view)


def _fill(reported: Mapping[str, Any] | None, expected: Resources, view: NodeView) -> Resources:
    amounts = Resources.parse(reported or {})
    if view.is_initialized:
        return amounts
    return Resources({**expected, **{name: amount for name, amount in amounts.items() if amount}})

"""The machines of the cluster: which node and which claim are one, which pods are bound there, and what is decided about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet

from karpy.objects.kinds import NODE, Kind
from karpy.objects.meta import ObjectMeta
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import at
from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.state.fleets import Fleets
from karpy.state.graves import Graves
from karpy.state.nodeview import NodeView, Order
from karpy.state.providerids import ByProviderId
from karpy.state.snapshot import Nodes
from karpy.state.stores import InOrder

__all__ = ["Machines"]

_Key = tuple[bool, str]
"""What a machine is known by: its claim's name (with True), or its node's where it has no claim."""


class Machines:
    """Nodes and claims by name, joined by provider id in whatever order they come and go; their views, kept while they hold."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._claims: dict[str, NodeClaim] = {}
        self._claim_names = ByProviderId()
        self._node_names = ByProviderId()
        self._pods_on: dict[str, dict[str, Pod]] = {}
        self._marked: set[str] = set()
        self._nominated: dict[str, float] = {}
        self._views: dict[_Key, NodeView] = {}
        self._stale: dict[_Key, None] = {}
        self._in_order: InOrder[Order, NodeView] = InOrder()
        self._leaving: InOrder[Order, NodeView] = InOrder()
        self._graves = Graves()
        self._fleets = Fleets()
        self._is_current = True
        """Whether `_nodes_in_order` shows the views as they are."""
        self._nodes_in_order = Nodes()

    # Taking in

    def take_node(self, name: str, node: Node | None) -> None:
        """This node is so now; None: it is gone.

        Raises:
            InvalidObject: its amounts cannot be read; nothing has changed then.
        """
        if node is not None:
            _check_readable(node)
        old = self._nodes.pop(name, None)
        self._stale[_node_key(name)] = None
        if old is not None:
            self._node_names.remove(old.spec.provider_id, name)
            self._forget_machine(old.spec.provider_id)
        if node is not None:
            self._nodes[name] = node
            self._node_names.add(node.spec.provider_id, name)
            self._forget_machine(node.spec.provider_id)

    def take_claim(self, name: str, claim: NodeClaim | None) -> None:
        """This claim is so now, unless more than that is known of it; None: it is gone, and what was decided about it."""
        old = self._claims.get(name)
        if claim is not None and self._is_outdated(claim, old):
            return  # the watch is behind what a controller wrote and took in itself, or that answer behind the watch
        self._claims.pop(name, None)
        self._stale[_claim_key(name)] = None
        if old is not None:
            self._claim_names.remove(old.provider_id, name)
            self._forget_machine(old.provider_id)
        if claim is not None:
            self._claims[name] = claim
            self._claim_names.add(claim.provider_id, name)
            self._forget_machine(claim.provider_id)
        else:
            self._marked.discard(name)
            self._nominated.pop(name, None)

    def _is_outdated(self, claim: NodeClaim, known: NodeClaim | None) -> bool:
        if claim.metadata.uid in self._graves:
            return True
        return known is not None and _is_older(claim.metadata, known.metadata)

    def bury(self, uid: str) -> None:
        """The claim of this uid ended, as the watch told."""
        self._graves.add(uid)

    @property
    def has_claims(self) -> bool:
        return bool(self._claims)

    def claims_beside(self, names: AbstractSet[str]) -> list[str]:
        """The claims that are not among these."""
        return [name for name in self._claims if name not in names]

    def bind(self, key: str, pod: Pod) -> None:
        """The pod takes room on its node."""
        self._pods_on.setdefault(pod.spec.node_name, {})[key] = pod
        self._forget_node(pod.spec.node_name)

    def unbind(self, key: str, node_name: str) -> None:
        """The pod takes room there no longer, if it did: one that was finished when it was first seen never has."""
        pods = self._pods_on.get(node_name, {})
        pods.pop(key, None)
        if not pods:
            self._pods_on.pop(node_name, None)
        self._forget_node(node_name)

    def mark(self, claims: Iterable[str]) -> None:
        """These claims are about to be deleted. One that is gone by now is past that."""
        self._change((name for name in claims if name in self._claims), self._marked.add)

    def unmark(self, claims: Iterable[str]) -> None:
        self._change(claims, self._marked.discard)

    def nominate(self, claim: str, until: float) -> None:
        """Pods were planned onto this claim, which is known: it is kept at least so long."""
        self._nominated[claim] = max(until, self._nominated.get(claim, 0.0))
        self._stale[_claim_key(claim)] = None

    def _change(self, claims: Iterable[str], change: Callable[[str], None]) -> None:
        for name in claims:
            change(name)
            self._stale[_claim_key(name)] = None

    def _forget_machine(self, provider_id: str) -> None:
        """Of everything that this machine is known as: by its claim's name, or by its node's where it has no claim."""
        for name in self._claim_names.all(provider_id):
            self._stale[_claim_key(name)] = None
        for name in self._node_names.all(provider_id):
            self._stale[_node_key(name)] = None

    def _forget_node(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None and _node_key(name) not in self._stale:
            self._stale[_node_key(name)] = None
            self._forget_machine(node.spec.provider_id)

    # Giving out

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def claim(self, name: str) -> NodeClaim | None:
        return self._claims.get(name)

    def claim_by_provider_id(self, provider_id: str) -> NodeClaim | None:
        return self._claims.get(self._claim_names.first(provider_id))

    def claims_by_provider_id(self, provider_id: str) -> tuple[NodeClaim, ...]:
        """All of them, by name."""
        return tuple(self._claims[name] for name in sorted(self._claim_names.all(provider_id)))

    def node_by_provider_id(self, provider_id: str) -> Node | None:
        return self._nodes.get(self._node_names.first(provider_id))

    def nodes_by_provider_id(self, provider_id: str) -> tuple[Node, ...]:
        return tuple(self._nodes[name] for name in sorted(self._node_names.all(provider_id)))

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """The pods that take room on this node."""
        return tuple(self._pods_on.get(node_name, {}).values())

    def versions(self, kind: Kind) -> Mapping[str, str]:
        """The resource versions of nodes, or of claims, by name."""
        held: Mapping[str, Node | NodeClaim] = self._nodes if kind == NODE else self._claims
        return {name: obj.metadata.resource_version for name, obj in held.items()}

    def machine(self, claim: str) -> NodeView | None:
        """The view of the machine that this claim stands for."""
        self._settle()
        return self._views.get(_claim_key(claim))

    def held(self, pool: str) -> Resources:
        """The capacity of the pool's machines that are not leaving."""
        self._settle()
        return self._fleets.held(pool)

    def views(self) -> Nodes:
        """Every machine once, initialized ones first, then by name."""
        self._settle()
        if not self._is_current:
            self._is_current = True
            self._nodes_in_order = Nodes(self._in_order.picture())
            self._nodes_in_order.leaving = self._leaving.picture()
            self._nodes_in_order.fleets = self._fleets.picture()
        return self._nodes_in_order

    def _settle(self) -> None:
        """Look again at the machines that something happened to."""
        if self._stale:
            self._is_current = False
            for key in self._stale:
                self._renew(key)
            self._stale.clear()

    def _renew(self, key: _Key) -> None:
        old, new = self._views.pop(key, None), self._view(key)
        if old is not None:
            self._place(old, None)
        if new is not None:
            self._views[key] = new
            self._place(new, new)
        self._fleets.change(old, new)

    def _place(self, view: NodeView, here: NodeView | None) -> None:
        """What is to stand where this view belongs."""
        self._in_order.put(view.order, here)
        self._leaving.put(view.order, here if view.is_leaving else None)

    def _view(self, key: _Key) -> NodeView | None:
        is_claim, name = key
        if is_claim:
            claim = self._claims.get(name)
            node = None if claim is None else self.node_by_provider_id(claim.provider_id)
        else:
            claim, node = None, self._nodes.get(name)
            if node is not None and self.claim_by_provider_id(node.spec.provider_id) is not None:
                return None  # it is the claim's
        if claim is None and node is None:
            return None
        return NodeView(
            node=node,
            claim=claim,
            pods=() if node is None else self.pods_on(node.name),
            marked_for_deletion=is_claim and name in self._marked,
            nominated_until=self._nominated.get(name, 0.0) if is_claim else 0.0,
        )


def _claim_key(name: str) -> _Key:
    return (True, name)


def _node_key(name: str) -> _Key:
    return (False, name)


def _is_older(new: ObjectMeta, known: ObjectMeta) -> bool:
    """Whether ``new`` is an earlier version of the same object, as far as versions can be compared."""
    versions = (new.resource_version, known.resource_version)
    return new.uid == known.uid and all(map(str.isdigit, versions)) and int(versions[0]) < int(versions[1])


def _check_readable(node: Node) -> None:
    """Refuse a node at the door whose amounts cannot be read, rather than fail in the middle of a snapshot."""
    for field in ("capacity", "allocatable"):
        at(f"status.{field}", Resources.parse, getattr(node.status, field) or {})

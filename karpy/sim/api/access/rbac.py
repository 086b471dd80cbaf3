"""Authorization by roles: what the Roles and ClusterRoles of a store, and their bindings, let an identity do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from karpy.sim.api.access.access import Action, Uses, allows, binds, denied
from karpy.sim.api.access.aggregation import CLUSTER_ROLES, aggregate
from karpy.sim.api.access.identity import Identity
from karpy.sim.api.records import Change
from karpy.sim.api.store import Collection, Store

__all__ = ["Access", "Decision", "Grant"]

Object = Mapping[str, Any]

_GROUP = "rbac.authorization.k8s.io"


@attrs.frozen
class Decision:
    """Whether an action is allowed, and by which binding, or which broken bindings were passed over."""

    allowed: bool
    reason: str = ""


@attrs.frozen
class Grant:
    """The rules that one binding gives to an identity, or the reason why it gives none."""

    rules: tuple[Object, ...]
    reason: str
    broken: str = ""


class Access:
    """Who may do what: everyone everything while ``rbac`` is off. ``uses``, if there is one, is told what was done."""

    def __init__(self, store: Store, *, rbac: bool) -> None:
        self._store = store
        self.rbac = rbac
        self.uses: Uses | None = None
        self._known: dict[tuple[Identity, str], list[Grant]] = {}
        self._seen: tuple[int, ...] = ()
        store.react(self._written)

    def _written(self, collection: Collection, _: Change) -> None:
        if collection.resource.key == CLUSTER_ROLES:
            aggregate(self._store)

    def check(self, who: Identity, action: Action) -> None:
        """Let ``who`` pass.

        Raises:
            KubeError: 403, no role allows it.
        """
        if self.uses is not None and not who.is_master:
            self.uses.add(who, action)
        if self.rbac and not who.is_master:
            decision = self.decide(who, action)
            if not decision.allowed:
                raise denied(who, action, decision.reason)

    def decide(self, who: Identity, action: Action) -> Decision:
        """What the roles say about an action."""
        if not self.rbac or who.is_master:
            return Decision(True)
        broken = []
        for grant in self.grants(who, action.namespace):
            if grant.broken:
                broken.append(grant.broken)
            elif any(allows(rule, action) for rule in grant.rules):
                return Decision(True, f"RBAC: allowed by {grant.reason}")
        why = broken[0] if len(broken) == 1 else f"[{', '.join(broken)}]"
        return Decision(False, f"RBAC: {why}" if broken else "")

    def grants(self, who: Identity, namespace: str) -> list[Grant]:
        """What the bindings give to ``who`` in a namespace (empty: in the cluster's own scope)."""
        kinds = ("clusterrolebindings", "rolebindings", "clusterroles", "roles")
        ends = tuple(collection.log.end for collection in map(self._collection, kinds) if collection is not None)
        if ends != self._seen:
            self._known.clear()
            self._seen = ends
        found = self._known.get((who, namespace))
        if found is None:
            found = self._known[who, namespace] = list(self._grants(who, namespace))
        return found

    def _collection(self, plural: str) -> Collection | None:
        return self._store.existing((_GROUP, plural))

    def _objects(self, plural: str, namespace: str = "") -> Iterator[Object]:
        collection = self._collection(plural)
        for record in collection.records(namespace) if collection is not None else ():
            yield record.object

    def _grants(self, who: Identity, namespace: str) -> Iterator[Grant]:
        for binding in self._objects("clusterrolebindings"):
            yield from self._grant(binding, who, "")
        if namespace:
            for binding in self._objects("rolebindings", namespace):
                yield from self._grant(binding, who, namespace)

    def _grant(self, binding: Object, who: Identity, namespace: str) -> Iterator[Grant]:
        subject = next((each for each in binding.get("subjects") or () if binds(each, who, namespace)), None)
        if subject is None:
            return
        reference = binding["roleRef"]
        rules = self.rules_of(reference, namespace)
        if rules is None:
            kind, name = reference["kind"].lower(), reference["name"]
            yield Grant((), "", f'{kind}.{_GROUP} "{name}" not found')
            return
        name = binding["metadata"]["name"]
        called = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        role = f'{reference["kind"]} "{reference["name"]}"'
        yield Grant(rules, f"{called} of {role} to {_subject(subject, namespace)}")

    def rules_of(self, reference: Object, namespace: str) -> tuple[Object, ...] | None:
        """The rules of the role that a ``roleRef`` names; None when there is no such role."""
        cluster_wide = reference["kind"] == "ClusterRole"
        collection = self._collection("clusterroles" if cluster_wide else "roles")
        if collection is None:
            return None
        record = collection.get("" if cluster_wide else namespace, reference["name"])
        return tuple(record.object.get("rules") or ()) if record is not None else None


def _subject(subject: Object, namespace: str) -> str:
    kind, name = subject["kind"], subject["name"]
    if kind == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{kind} "{name}"'

"""ClusterRoles that gather the rules of others; a controller of a real cluster does this a moment later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.sim.api.selectors import matches_label_selector
from karpy.sim.api.store import Store

__all__ = ["CLUSTER_ROLES", "aggregate"]

CLUSTER_ROLES = ("rbac.authorization.k8s.io", "clusterroles")


def aggregate(store: Store) -> None:
    """Give every aggregating ClusterRole the rules of the roles that it selects, until none changes any more."""
    collection = store.existing(CLUSTER_ROLES)
    changed = collection is not None
    while changed and collection is not None:
        changed = False
        records = collection.records()
        for record in records:
            role = record.object
            selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
            if not selectors:
                continue
            rules = _gathered(role, selectors, [each.object for each in records])
            if rules != (role.get("rules") or []):
                store.put(collection, {**role, "metadata": dict(role["metadata"]), "rules": rules}, record)
                changed = True
                break


def _gathered(
    role: Mapping[str, Any], selectors: list[Mapping[str, Any]], roles: list[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    rules: list[Mapping[str, Any]] = []
    for selector in selectors:
        for other in roles:
            if other is not role and matches_label_selector(selector, other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules

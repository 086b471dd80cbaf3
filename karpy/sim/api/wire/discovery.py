"""Discovery: which groups, versions and resources there are, in the old form and in the aggregated one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from karpy.sim.api.registry import Registry
from karpy.sim.api.resources import Resource
from karpy.sim.api.wire import newevents

__all__ = ["Discovery"]

Object = dict[str, Any]

_SUBRESOURCE_VERBS = ("get", "patch", "update")
_SUBRESOURCE_KINDS = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
_STORED_ELSEWHERE = {
    newevents.KEY: ("", "v1"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("apiextensions.k8s.io", "v1beta1"),
}
"""Resources that the real server stores in another group or version than it prefers to show."""
_SUBRESOURCE_ONLY = {
    "binding": ("create",),
    "ephemeralcontainers": ("get", "patch", "update"),
    "eviction": ("create",),
    "token": ("create",),
    "log": ("get",),
    "finalize": ("update",),
}


class Discovery:
    """The answers of the discovery endpoints for what a registry serves."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def groups(self) -> dict[str, list[str]]:
        """The versions of every group, preferred one first; the core group is not among them."""
        found: dict[str, list[str]] = {}
        for resource in self._registry.resources():
            if resource.group:
                versions = found.setdefault(resource.group, [])
                versions += [v.name for v in resource.versions if v.served and v.name not in versions]
        return {group: sorted(found[group], key=_version_rank) for group in sorted(found)}

    def group_list(self) -> Object:
        """The answer of ``/apis``."""
        groups = [self._group(group, versions) for group, versions in self.groups().items()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Object | None:
        """The answer of ``/apis/<group>``; None when there is no such group."""
        versions = self.groups().get(name)
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name, versions)} if versions else None

    def _group(self, name: str, versions: list[str]) -> Object:
        listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
        return {"name": name, "versions": listed, "preferredVersion": listed[0]}

    def _at(self, group: str, version: str) -> Iterable[Resource]:
        served = [each for each in self._registry.resources() if each.group == group and each.version(version)]
        return sorted(served, key=lambda resource: resource.plural)

    def resource_list(self, group: str, version: str) -> Object | None:
        """The answer of ``/api/v1`` and ``/apis/<group>/<version>``; None when nothing is served there."""
        resources: list[Object] = []
        for resource in self._at(group, version):
            resources.append(_resource(resource))
            resources += [_subresource(resource, name) for name in _subresources(resource, version)]
        if not resources:
            return None
        head: Object = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": resources}

    def aggregated(self, *, core: bool) -> Object:
        """The answer of ``/api`` or ``/apis`` as APIGroupDiscoveryList."""
        if core:
            items = [self._aggregated_group("", ["v1"])]
        else:
            items = [self._aggregated_group(group, versions) for group, versions in self.groups().items()]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}

    def _aggregated_group(self, group: str, versions: list[str]) -> Object:
        meta: Object = {"name": group} if group else {}
        listed = [
            {
                "version": version,
                "resources": [_aggregated_resource(each, version) for each in self._at(group, version)],
                "freshness": "Current",
            }
            for version in versions
        ]
        return {"metadata": {**meta, "creationTimestamp": None}, "versions": listed}


def _version_rank(version: str) -> tuple[int, int, int]:
    """Stable versions before beta before alpha, newer before older."""
    stage, numbers = 0, version.removeprefix("v")
    for rank, word in ((1, "beta"), (2, "alpha")):
        if word in numbers:
            major, _, minor = numbers.partition(word)
            return rank, -int(major or 0), -int(minor or 0)
    return stage, -int(numbers) if numbers.isdigit() else 0, 0


def _subresources(resource: Resource, version: str) -> list[str]:
    if not resource.custom:
        return list(resource.subresources)
    found = resource.version(version)
    named = (("status", found is not None and found.status), ("scale", found is not None and found.scale is not None))
    return [name for name, there in named if there]


def _resource(resource: Resource) -> Object:
    listed: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        listed["shortNames"] = list(resource.short_names)
    if resource.categories:
        listed["categories"] = list(resource.categories)
    if "get" in resource.verbs:
        listed["storageVersionHash"] = _storage_hash(resource)
    return listed


def _storage_hash(resource: Resource) -> str:
    """A short name of the version that objects are stored in: clients tell by it when to migrate them."""
    group, version = _STORED_ELSEWHERE.get(resource.key, (resource.group, resource.storage))
    whole = f"{group}/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(whole.encode()).digest()[:8]).decode()


def _subresource(resource: Resource, name: str) -> Object:
    listed: Object = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
    group, version, kind = _SUBRESOURCE_KINDS.get(name, ("", "", resource.kind))
    if group:
        listed |= {"group": group, "version": version}
    return {**listed, "kind": kind, "verbs": list(_SUBRESOURCE_ONLY.get(name, _SUBRESOURCE_VERBS))}


def _aggregated_resource(resource: Resource, version: str) -> Object:
    group = resource.group if resource.custom else ""
    listed: Object = {
        "resource": resource.plural,
        "responseKind": {"group": group, "version": version if resource.custom else "", "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        listed["shortNames"] = list(resource.short_names)
    if resource.categories:
        listed["categories"] = list(resource.categories)
    subresources = []
    for name in _subresources(resource, version):
        sub_group, sub_version, kind = _SUBRESOURCE_KINDS.get(name, (group, "", resource.kind))
        answer = {"group": sub_group, "version": sub_version, "kind": kind}
        verbs = list(_SUBRESOURCE_ONLY.get(name, _SUBRESOURCE_VERBS))
        subresources.append({"subresource": name, "responseKind": answer, "verbs": verbs})
    if subresources:
        listed["subresources"] = subresources
    return listed

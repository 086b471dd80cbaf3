"""Which resources are served, by their API coordinates."""

from __future__ import annotations

from collections.abc import Iterable

from karpy.errors import KubeError
from karpy.objects.kinds import Kind
from karpy.sim.api import status
from karpy.sim.api.resources import Resource, ResourceVersion

__all__ = ["Registry"]


class Registry:
    """The served resources. ``edition`` counts the changes, so that what is derived from the list can be cached."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources: dict[tuple[str, str], Resource] = {}
        self._served: dict[tuple[str, str, str], tuple[Resource, ResourceVersion]] = {}
        self.edition = 0
        self._listed = -1
        self._group_versions: set[tuple[str, str]] = set()
        for resource in resources:
            self.define(resource)

    def define(self, resource: Resource) -> None:
        """Serve ``resource``, in the place of an earlier definition of it."""
        self.remove(resource)
        self._resources[resource.key] = resource
        for version in resource.versions:
            if version.served:
                self._served[resource.group, version.name, resource.plural] = (resource, version)

    def remove(self, resource: Resource) -> None:
        """Serve it no longer; nothing happens when it is not served."""
        self.edition += 1
        known = self._resources.pop(resource.key, None)
        for version in known.versions if known is not None else ():
            self._served.pop((resource.group, version.name, resource.plural), None)

    def at(self, group: str, version: str, plural: str) -> tuple[Resource, ResourceVersion]:
        """The resource at these coordinates.

        Raises:
            KubeError: 404, nothing is served there.
        """
        found = self._served.get((group, version, plural))
        if found is None:
            raise status.no_resource()
        return found

    def serves(self, group: str, version: str) -> bool:
        """Whether anything is served in this version of a group."""
        if self._listed != self.edition:
            self._listed = self.edition
            self._group_versions = {(group, version) for group, version, _ in self._served}
        return (group, version) in self._group_versions

    def of(self, kind: Kind) -> tuple[Resource, ResourceVersion]:
        """The resource that clients call ``kind``.

        Raises:
            KubeError: 404, it is not served.
        """
        found = self._served.get((kind.group, kind.version, kind.plural))
        if found is None:
            raise KubeError(
                f"the server could not find the requested resource: {kind.resource} in version {kind.version}",
                code=404,
                reason="NotFound",
            )
        return found

    def get(self, group: str, plural: str) -> Resource | None:
        return self._resources.get((group, plural))

    def by_kind(self, group: str, kind: str) -> Resource | None:
        """The resource of objects of ``kind`` in ``group``, in whatever version."""
        return next((each for each in self._resources.values() if (each.group, each.kind) == (group, kind)), None)

    def resources(self) -> list[Resource]:
        return list(self._resources.values())

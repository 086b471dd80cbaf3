"""Reading a real cluster as it is now: lists only, and nothing that changes anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from karpy.errors import KubeError
from karpy.kube.client import RawObject
from karpy.kube.connection import Connection
from karpy.objects.kinds import Kind

__all__ = ["ClusterReader"]

_PAGE = 500


class ClusterReader:
    """The cluster that a kubeconfig leads to: the given one, or as kubectl finds it, or the one that this process runs in.

    Raises:
        InvalidObject: there is no usable kubeconfig.
    """

    def __init__(self, kubeconfig: Path | None = None) -> None:
        self._connection = Connection(kubeconfig)
        self.server = self._connection.server

    def read(self, kinds: Iterable[Kind]) -> Iterator[RawObject]:
        """All objects of these kinds. A kind is read in the version that the cluster serves, and skipped if it serves none.

        Raises:
            KubeError: the cluster does not answer, or refuses.
        """
        for kind in kinds:
            version = self._served_version(kind)
            if version is not None:
                yield from self._objects(kind, version)

    def _served_version(self, kind: Kind) -> str | None:
        """The kind's own version if the cluster serves it, else the one that the cluster prefers."""
        if not kind.group:
            return kind.version
        group = self._get(f"/apis/{kind.group}")
        if group is None:
            return None
        served = [str(version["version"]) for version in group["versions"]]
        return kind.version if kind.version in served else str(group["preferredVersion"]["version"])

    def _objects(self, kind: Kind, version: str) -> Iterator[RawObject]:
        path = f"/apis/{kind.group}/{version}/{kind.plural}" if kind.group else f"/api/{version}/{kind.plural}"
        token = ""
        while True:
            page = self._get(path, {"limit": str(_PAGE), **({"continue": token} if token else {})})
            if page is None:
                return
            api_version = str(page["apiVersion"])
            for item in page.get("items") or ():
                yield {"apiVersion": api_version, "kind": kind.kind, **item}  # items of lists do not say what they are
            token = page["metadata"].get("continue", "")
            if not token:
                return

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """What the server answers; None where there is nothing."""
        try:
            found = self._connection.request("GET", path, query)
        except KubeError as error:
            if error.not_found:
                return None
            raise
        return found

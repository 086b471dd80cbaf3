"""Reading a real cluster as it is now: lists only, and nothing that changes anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from karpy.errors import InvalidObject, KubeError
from karpy.kube.client import RawObject
from karpy.objects.kinds import Kind

__all__ = ["ClusterReader"]

_PAGE = 500
_TIMEOUT_S = 30.0


class ClusterReader:
    """The cluster that a kubeconfig leads to: the given one, or as kubectl finds it, or the one that this process runs in.

    Raises:
        InvalidObject: there is no usable kubeconfig.
    """

    def __init__(self, kubeconfig: Path | None = None) -> None:
        self._api = client.ApiClient(_configuration(kubeconfig))
        self.server: str = self._api.configuration.host

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
        api = self._api
        request = api.param_serialize(
            "GET",
            path,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
        )
        try:
            answer = api.call_api(*request, _request_timeout=_TIMEOUT_S)
            body: bytes = answer.read()  # type: ignore[no-untyped-call]
        except HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise KubeError(f"{self.server} does not answer: {reason}", code=503, reason="ServiceUnavailable") from None
        if answer.status == 404:
            return None
        if answer.status >= 400:
            raise KubeError(_message(body) or f"GET {path}: {answer.reason}", code=answer.status)
        found: dict[str, Any] = json.loads(body)
        return found


def _configuration(kubeconfig: Path | None) -> client.Configuration:
    found = client.Configuration()
    found.retries = False
    try:
        try:
            path = str(kubeconfig) if kubeconfig else None
            config.load_kube_config(path, client_configuration=found)  # type: ignore[no-untyped-call]
        except config.ConfigException:
            if kubeconfig is not None:
                raise
            config.load_incluster_config(client_configuration=found)  # type: ignore[no-untyped-call]
    except Exception as error:  # the library lets through whatever a broken file makes it stumble over
        where = str(kubeconfig) if kubeconfig else "no cluster"
        accepted = "a kubeconfig, in KUBECONFIG or ~/.kube/config, or files with --from"
        raise InvalidObject(" ".join(str(error).split()), object_name=where, accepted=accepted) from None
    return found


def _message(body: bytes) -> str:
    """What the server's Status object says; empty when the answer is something else."""
    try:
        return str(json.loads(body).get("message", ""))
    except (ValueError, AttributeError):
        return ""

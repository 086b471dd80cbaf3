"""A connection to an API server: where a kubeconfig leads, with its certificates and tokens, and one request at a time.

The official client knows all ways in which kubeconfigs name who one is; what is asked and answered is none of its business.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from karpy.errors import InvalidObject, KubeError

__all__ = ["Connection", "Stream"]

TIMEOUT_S = 30.0
_CONNECT_S = 10.0
_CONNECTIONS = 64
"""Enough for a watch on every kind that matters."""


class Connection:
    """To the server that a kubeconfig leads to: the given one, or as kubectl finds it, or the one that this process runs in.

    Raises:
        InvalidObject: there is no usable kubeconfig.
    """

    def __init__(self, kubeconfig: Path | None = None) -> None:
        self._api = client.ApiClient(_configuration(kubeconfig))
        self.server: str = self._api.configuration.host

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """The object that the server answers.

        Raises:
            KubeError: it does not answer, or refuses.
        """
        try:
            answer = self._ask(method, path, query, body, content_type, TIMEOUT_S)
            content: bytes = answer.read()
        except HTTPError as error:
            raise self._silence(error) from None
        if answer.status >= 400:
            raise _refusal(answer, content, f"{method} {path}")
        found: dict[str, Any] = json.loads(content)
        return found

    def stream(self, path: str, query: Mapping[str, str], silent_s: float) -> Stream:
        """An answer that goes on, line by line; the server may be silent for so long.

        Raises:
            KubeError: it does not answer, or refuses.
        """
        try:
            answer = self._ask("GET", path, query, None, "", (_CONNECT_S, silent_s))
            if answer.status >= 400:
                raise _refusal(answer, answer.read(), f"GET {path}")
        except HTTPError as error:
            raise self._silence(error) from None
        return Stream(answer.response, self._silence)

    def close(self) -> None:
        """Let go of connections that wait for the next request."""
        self._api.rest_client.pool_manager.clear()

    def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Any, content_type: str, timeout: Any
    ) -> Any:
        headers = {"Accept": "application/json", **({"Content-Type": content_type} if body is not None else {})}
        request = self._api.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        return self._api.call_api(*request, _request_timeout=timeout)

    def _silence(self, error: HTTPError) -> KubeError:
        reason = getattr(error, "reason", None) or error
        return KubeError(f"{self.server} does not answer: {reason}", code=503, reason="ServiceUnavailable")


class Stream:
    """The lines of an answer, as they come. They end when the server ends it."""

    def __init__(self, response: Any, silence: Callable[[HTTPError], KubeError]) -> None:
        self._response = response
        self._silence = silence

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        try:
            for chunk in self._response.stream():
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
        except HTTPError as error:
            raise self._silence(error) from None
        finally:
            self._response.close()

    def break_off(self) -> None:
        """From another thread than the one that reads: it reads no further."""
        with contextlib.suppress(OSError, ValueError):  # it has ended already
            self._response.shutdown()


def _configuration(kubeconfig: Path | None) -> client.Configuration:
    found = client.Configuration()
    found.retries = False
    found.connection_pool_maxsize = _CONNECTIONS
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


def _refusal(answer: Any, content: bytes, asked: str) -> KubeError:
    """What the server's Status object says, or the bare code when the answer is something else."""
    try:
        status = json.loads(content)
    except ValueError:
        status = None
    said: Mapping[str, Any] = status if isinstance(status, dict) else {}
    details = said.get("details") or {}
    wait = answer.headers.get("Retry-After") or details.get("retryAfterSeconds") or 0
    return KubeError(
        str(said.get("message") or f"{asked}: {answer.reason}"),
        code=answer.status,
        reason=str(said.get("reason") or ""),
        details=details,
        retry_after_s=float(wait),
    )

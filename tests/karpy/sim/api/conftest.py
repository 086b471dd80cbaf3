from __future__ import annotations

import json
from typing import Any

import pytest

from karpy.sim.api.access.tokens import Tokens
from karpy.sim.api.wire.answers import Answer
from karpy.sim.api.wire.listing import WatchStream
from karpy.sim.api.wire.requests import Impersonated, Request
from karpy.sim.api.wire.rest import Rest
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock


class Client:
    """Sends requests to the REST face of a server, without a network."""

    def __init__(self, server: ApiServer, token: str = "") -> None:
        self.server = server
        self.tokens = Tokens(server, token)
        self.token = token
        self._rest = Rest(server, self.tokens)

    def answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "application/json",
        accept: str = "",
        token: str | None = None,
        impersonated: Impersonated | None = None,
        **query: str,
    ) -> Answer | WatchStream:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        bearer = self.token if token is None else token
        return self._rest.handle(
            Request(
                method,
                path,
                query,
                data,
                media,
                accept,
                "tester/1",
                f"Bearer {bearer}" if bearer else "",
                impersonated,
            )
        )

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        """The status and the parsed body of an answer."""
        answer = self.answer(method, path, body, **options)
        assert isinstance(answer, Answer)
        return answer.code, json.loads(answer.body) if answer.content_type.startswith("application/json") else (
            answer.body.decode()
        )

    def warnings(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[str, ...]:
        answer = self.answer(method, path, body, **options)
        assert isinstance(answer, Answer)
        return answer.warnings

    def watch(self, path: str, **query: str) -> WatchStream:
        stream = self.answer("GET", path, watch="true", **query)
        assert isinstance(stream, WatchStream), stream
        return stream


def events(stream: WatchStream) -> list[tuple[str, str]]:
    """What a watch has told since it was last asked: type and name."""
    lines = [json.loads(line) for line in stream.lines()]
    return [(line["type"], line["object"]["metadata"].get("name", "")) for line in lines]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def server(clock: VirtualClock) -> ApiServer:
    return ApiServer(clock)


@pytest.fixture
def rest(server: ApiServer) -> Client:
    """The server as plain HTTP shows it: everyone is the administrator."""
    return Client(server)

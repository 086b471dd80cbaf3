"""The API server over HTTP, in a thread of its own beside whatever drives the server in process.

With TLS, clients need the kubeconfig: it holds the authority that the certificate is signed by and the administrator's token.
Plain HTTP lets everyone in as the administrator, and so on the loopback interface only.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import os
import secrets
import socket
import threading
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from karpy.errors import KubeError
from karpy.sim.api.access.tokens import Tokens
from karpy.sim.api.status import status_object
from karpy.sim.api.wire.answers import Answer
from karpy.sim.api.wire.listing import WatchStream
from karpy.sim.api.wire.requests import Impersonated, Request
from karpy.sim.api.wire.rest import Rest
from karpy.sim.api.wire.views import encode
from karpy.sim.apiserver import ApiServer
from karpy.sim.tls import Certificates, make_certificates

__all__ = ["ApiServerHttp", "is_loopback", "serve"]

_BOOKMARK_EVERY_S: Final = 60.0
_LONGEST_WATCH_S: Final = 3600.0
_LARGEST_BODY: Final = 3 * 1024 * 1024
_GOODBYE_S: Final = 0.3
"""So long open watches get for ending in an orderly way when the server stops."""
_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - as keys, to tell them apart
"""Addresses that stand for all of the machine's, and where a client on it finds the server then."""
_GOODBYE_STEPS: Final = 30
_BATCH: Final = 500
"""So many lines of a watch are written between two looks at the clock and at other requests."""


def serve(server: ApiServer, host: str = "127.0.0.1", port: int = 0, *, tls: bool = False) -> ApiServerHttp:
    """Serve ``server`` on a port (0: any that is free) until the answer's ``stop()``; with ``tls`` to those who have a token.

    Raises:
        OSError: the port is taken, or the address is none of this machine's.
        ValueError: plain HTTP was asked for on an address that others can reach.
    """
    if not tls and not is_loopback(host):
        raise ValueError(f"{host} is not a loopback address; plain HTTP serves this machine only")
    return ApiServerHttp(server, host, port, make_certificates(_names(host)) if tls else None)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(host: str) -> list[str]:
    """What clients may call a server that listens on ``host``."""
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname()]
    if host not in _WILDCARDS:
        names.append(host)
    else:
        with contextlib.suppress(OSError):
            names += [str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)]
    return list(dict.fromkeys(names))


class ApiServerHttp:
    """A running HTTP face; made by `serve`."""

    def __init__(self, server: ApiServer, host: str, port: int, certificates: Certificates | None = None) -> None:
        # bound here and not in the thread, so that the caller sees the OSError of a taken port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=256)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self._certificates = certificates
        self._token = secrets.token_urlsafe(32) if certificates is not None else ""
        self._rest = Rest(server, Tokens(server, self._token))
        self._wakers: set[asyncio.Event] = set()
        self._pending = False
        self._stopping = False
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._unsubscribe = server.on_write(self._written)
        self._thread = threading.Thread(target=self._run, name="karpy-apiserver-http", daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def url(self) -> str:
        host = _WILDCARDS.get(self.host, self.host)
        shown = f"[{host}]" if ":" in host else host
        return f"{'http' if self._certificates is None else 'https'}://{shown}:{self.port}"

    def write_kubeconfig(self, path: str | os.PathLike[str]) -> None:
        """Write a kubeconfig that leads here, readable by its owner only."""
        name = "karpy"
        cluster, user = {"server": self.url}, {}
        if self._certificates is not None:
            cluster["certificate-authority-data"] = base64.b64encode(self._certificates.authority).decode()
            user["token"] = self._token
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
        }
        text, target = yaml.safe_dump(config, sort_keys=False), Path(path).resolve()
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")  # a pipe, or /dev/null
            return
        # a reader that waits for the file must find it whole, and nobody else may read the token in between
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)

    def stop(self) -> None:
        """Close all connections, open watches too, and end the thread; safe to repeat."""
        if self._stopping:
            return
        self._stopping = True
        self._unsubscribe()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _written(self) -> None:
        """Called by the writing thread after each write: wake the watches, once for many writes."""
        if not self._pending and self._wakers:
            self._pending = True
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._pending = False
        for waker in self._wakers:
            waker.set()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = self._loop.run_until_complete(self._start())
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._finish(runner))
            self._loop.close()

    async def _start(self) -> web.ServerRunner:
        runner = web.ServerRunner(
            web.Server(self._handle, access_log=None, request_factory=self._request), shutdown_timeout=0.1
        )
        await runner.setup()
        context = self._certificates.context() if self._certificates is not None else None
        await web.SockSite(runner, self._socket, ssl_context=context).start()
        return runner

    async def _finish(self, runner: web.ServerRunner) -> None:
        self._wake()
        for _ in range(_GOODBYE_STEPS):
            if not self._wakers:
                break
            await asyncio.sleep(_GOODBYE_S / _GOODBYE_STEPS)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await runner.cleanup()
        self._socket.close()
        await self._loop.shutdown_asyncgens()

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        """A request whose body may be as large as a real API server takes it."""
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=_LARGEST_BODY + 1)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        try:
            body = await request.read() if request.can_read_body else b""
        except web.HTTPRequestEntityTooLarge:
            too_large = KubeError(
                "Request entity too large: limit is 3145728", code=413, reason="RequestEntityTooLarge"
            )
            return _response(Answer(413, encode(status_object(too_large))))
        answer = self._rest.handle(
            Request(
                request.method,
                request.path,
                dict(request.query),
                body,
                headers.get("Content-Type", ""),
                headers.get("Accept", ""),
                headers.get("User-Agent", ""),
                headers.get("Authorization", ""),
                _impersonated(request) if "Impersonate-User" in headers else None,
            )
        )
        if isinstance(answer, WatchStream):
            return await self._watch(request, answer)
        return _response(answer)

    async def _watch(self, request: web.BaseRequest, stream: WatchStream) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        await response.prepare(request)
        waker = asyncio.Event()
        self._wakers.add(waker)
        try:
            await self._tell(response, stream, waker)
        except ConnectionError:
            pass  # the client is gone; nobody is left to tell
        finally:
            self._wakers.discard(waker)
        return response

    async def _tell(self, response: web.StreamResponse, stream: WatchStream, waker: asyncio.Event) -> None:
        try:
            await self._pump(response, stream, waker)
        except KubeError as error:
            await response.write(b'{"type":"ERROR","object":' + encode(status_object(error)) + b"}\n")
        await response.write_eof()

    async def _pump(self, response: web.StreamResponse, stream: WatchStream, waker: asyncio.Event) -> None:
        end = self._loop.time() + min(stream.timeout_s or _LONGEST_WATCH_S, _LONGEST_WATCH_S)
        bookmark_at = self._loop.time() + _BOOKMARK_EVERY_S
        while True:
            waker.clear()
            lines = stream.lines()
            for start in range(0, len(lines), _BATCH):
                await response.write(b"".join(lines[start : start + _BATCH]))
            now = self._loop.time()
            if stream.bookmarks and now >= bookmark_at:
                await response.write(stream.bookmark())
                bookmark_at = now + _BOOKMARK_EVERY_S
            if now >= end or self._stopping or stream.is_over:
                return
            until = min(end, bookmark_at) if stream.bookmarks else end
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waker.wait(), until - now)


def _impersonated(request: web.BaseRequest) -> Impersonated:
    headers = request.headers
    groups = tuple(headers.getall("Impersonate-Group", ()))
    return Impersonated(headers["Impersonate-User"], groups, headers.get("Impersonate-Uid", ""))


def _response(answer: Answer) -> web.Response:
    response = web.Response(status=answer.code, body=answer.body, headers={"Content-Type": answer.content_type})
    for warning in answer.warnings:
        escaped = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{escaped}"')
    if answer.retry_after_s:
        response.headers["Retry-After"] = str(int(answer.retry_after_s))
    return response

"""The embedded API server over HTTP, for commands that let kubectl in."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from pathlib import Path

from karpy.cli.bad_input import BadInput
from karpy.sim.apiserver import ApiServer
from karpy.sim.http import ApiServerHttp, serve

__all__ = ["served"]

_HIGHEST_PORT = 65_535


@contextlib.contextmanager
def served(
    api: ApiServer, port: int, kubeconfig: Path, *, host: str = "127.0.0.1", tls: bool = True
) -> Iterator[ApiServerHttp]:
    """``api`` on this port (0: any that is free) while the block runs, with a kubeconfig for it.

    Raises:
        BadInput: the port is taken, the address cannot be used, or the kubeconfig cannot be written.
    """
    http = _bound(api, host, port, tls=tls)
    try:
        try:
            http.write_kubeconfig(kubeconfig)
        except OSError as error:
            raise BadInput(f"--kubeconfig: {kubeconfig} cannot be written: {error.strerror}") from None
        yield http
    finally:
        http.stop()


def _bound(api: ApiServer, host: str, port: int, *, tls: bool) -> ApiServerHttp:
    if not 0 <= port <= _HIGHEST_PORT:
        raise BadInput(f"--port: found {port} (accepted: 0 to {_HIGHEST_PORT})")
    try:
        return serve(api, host, port, tls=tls)
    except ValueError as error:
        raise BadInput(f"--plain-http: {error}") from None
    except socket.gaierror as error:
        raise BadInput(f"--host: {host} cannot be used: {error.strerror}") from None
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise BadInput(f"--host: {host} is not an address of this machine") from None
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise BadInput(f"--port: {port} {reason}") from None

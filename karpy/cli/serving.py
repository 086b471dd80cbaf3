"""The embedded API server over HTTP, for commands that let kubectl in."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from karpy.cli.bad_input import BadInput
from karpy.sim.apiserver import ApiServer
from karpy.sim.http import ApiServerHttp, serve

__all__ = ["served"]

_HIGHEST_PORT = 65_535


@contextlib.contextmanager
def served(api: ApiServer, port: int, kubeconfig: Path) -> Iterator[ApiServerHttp]:
    """``api`` on this port of the loopback interface (0: any that is free) while the block runs, with a kubeconfig for it.

    Raises:
        BadInput: the port is taken, or the kubeconfig cannot be written.
    """
    http = _bound(api, port)
    try:
        try:
            http.write_kubeconfig(kubeconfig)
        except OSError as error:
            raise BadInput(f"--kubeconfig: {kubeconfig} cannot be written: {error.strerror}") from None
        yield http
    finally:
        http.stop()


def _bound(api: ApiServer, port: int) -> ApiServerHttp:
    if not 0 <= port <= _HIGHEST_PORT:
        raise BadInput(f"--port: found {port} (accepted: 0 to {_HIGHEST_PORT})")
    try:
        return serve(api, port=port)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise BadInput(f"--port: {port} {reason}") from None

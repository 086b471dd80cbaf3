"""User data: what a machine reads at its first start, in the form of its image family.

All of it is a pure function of a `NodeBootstrap`. The user's own data goes first or is merged, and karpy has the last word on
what a node needs to join.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from karpy_aws.bootstrap import al2, al2023, bottlerocket, windows
from karpy_aws.bootstrap.node import NodeBootstrap, kubelet_config, node_labels, node_taints

__all__ = ["NodeBootstrap", "encoded", "kubelet_config", "node_labels", "node_taints", "user_data", "warnings"]

USER_DATA_LIMIT: Final = 16_384
"""Bytes that EC2 takes, before they are encoded."""
_NEARLY_FULL: Final = 0.9


def _verbatim(node: NodeBootstrap) -> str:
    """Custom images: all is the user's, the taint of a node that nobody has seen yet too."""
    return node.user_data


_FAMILIES: Final[Mapping[str, Callable[[NodeBootstrap], str]]] = {
    "AL2": al2.user_data,
    "AL2023": al2023.user_data,
    "Bottlerocket": bottlerocket.user_data,
    "Ubuntu": al2.user_data,
    "Windows2019": windows.user_data,
    "Windows2022": windows.user_data,
    "Windows2025": windows.user_data,
    "Custom": _verbatim,
}


def user_data(family: str, node: NodeBootstrap) -> str:
    """What a machine of an image family is started with, as text.

    The last of them are remembered, for a pool that grows launches from the same ones again and again.

    Raises:
        InvalidObject: the user's own data cannot be read; the path is its field.
        NodeClassNotReady: something that the family needs is not known yet.
    """
    return _made(family, _Remembered(repr(node), node))


@attrs.frozen
class _Remembered:
    """Equal where all is that user data is made of, the order of maps too."""

    text: str
    node: NodeBootstrap = attrs.field(eq=False)


@functools.lru_cache(maxsize=1_024)
def _made(family: str, remembered: _Remembered) -> str:
    return _FAMILIES[family](remembered.node)


def warnings(family: str, node: NodeBootstrap, text: str) -> tuple[str, ...]:
    """What a person should know of the user data ``text`` that `user_data` made, one line each."""
    size, found = len(text.encode()), []
    if size >= _NEARLY_FULL * USER_DATA_LIMIT:
        found.append(f"user data has {size} bytes, and EC2 takes {USER_DATA_LIMIT}")
    unknown = bottlerocket.unknown_settings(node.user_data) if family == "Bottlerocket" else ()
    if unknown:
        found.append(f"spec.userData: no setting of settings.kubernetes, and left out: {', '.join(unknown)}")
    return tuple(found)


def encoded(text: str) -> str:
    """User data as EC2 takes it.

    >>> encoded("#!/bin/sh")
    'IyEvYmluL3No'
    """
    return base64.b64encode(text.encode()).decode()

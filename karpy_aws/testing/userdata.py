"""User data as a machine understands it that boots with it: which cluster to join, and what its kubelet says of the node."""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import yaml

from karpy.taints import Taint
from karpy_aws.bootstrap.mime import is_archive, read_parts

__all__ = ["Boot", "read_user_data"]

_CLUSTER: Final = re.compile(r"(?:bootstrap\.sh|-EKSClusterName) '([^']*)'")
_LABELS: Final = re.compile(r"--node-labels=\"?([^\"\s']+)")
_TAINTS: Final = re.compile(r"--register-with-taints=\"?([^\"\s']+)")
_TAINT: Final = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>\w+)")


@attrs.frozen
class Boot:
    """What a machine was told. The empty cluster: it was not told to join any."""

    cluster: str = ""
    labels: Mapping[str, str] = attrs.field(factory=dict)
    taints: tuple[Taint, ...] = ()


def read_user_data(encoded: str) -> Boot:
    """What user data in base64 tells, in any of the forms that EKS's images take."""
    text = base64.b64decode(encoded).decode()
    settings = _settings(text)
    if settings is not None:
        return _of_bottlerocket(settings)
    parts = [part.body for part in read_parts(text)] if is_archive(text) else [text]
    configs = [config for part in parts for config in _node_configs(part)]
    script = "\n".join(parts)
    cluster = next(iter(_CLUSTER.findall(script)), "")
    taints = [_taint(each) for found in _TAINTS.findall(script) for each in found.split(",")]
    for config in configs:
        cluster = config.get("cluster", {}).get("name", cluster)
        said = config.get("kubelet", {}).get("config", {}).get("registerWithTaints", ())
        taints += [Taint(each["key"], each.get("value"), each["effect"]) for each in said]
    labels = dict(pair.split("=", 1) for found in _LABELS.findall(script) for pair in found.split(","))
    return Boot(cluster, labels, tuple(taints))


def _settings(text: str) -> Mapping[str, Any] | None:
    """Bottlerocket's, or None for another family."""
    try:
        found = tomllib.loads(text).get("settings", {}).get("kubernetes")
    except tomllib.TOMLDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _of_bottlerocket(settings: Mapping[str, Any]) -> Boot:
    taints = tuple(_taint(f"{key}={each}") for key, said in settings.get("node-taints", {}).items() for each in said)
    return Boot(settings.get("cluster-name", ""), dict(settings.get("node-labels", {})), taints)


def _node_configs(part: str) -> Iterator[Mapping[str, Any]]:
    """The specs of AL2023's NodeConfigs in one part of an archive."""
    if "kind: NodeConfig" in part:
        yield yaml.safe_load(part).get("spec") or {}


def _taint(text: str) -> Taint:
    found = _TAINT.fullmatch(text)
    assert found is not None, f"no taint: {text}"  # what karpy writes must be one
    return Taint(found["key"], found["value"] or None, found["effect"])

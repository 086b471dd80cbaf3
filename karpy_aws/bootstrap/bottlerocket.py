"""Bottlerocket: settings in TOML, karpy's put into the user's."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from karpy.errors import InvalidObject, shown
from karpy.objects.duration import parse_duration
from karpy_aws.bootstrap.kubeletflags import go_duration
from karpy_aws.bootstrap.node import NodeBootstrap

__all__ = ["unknown_settings", "user_data"]

_PATH: Final = "spec.userData"
_TEXTS: Final = (
    *("api-server", "cloud-provider", "cluster-certificate", "cluster-dns-ip", "cluster-domain", "cluster-name"),
    *("container-log-max-size", "container-log-monitor-interval", "cpu-manager-policy", "cpu-manager-reconcile-period"),
    *("hostname-override-source", "image-gc-high-threshold-percent", "image-gc-low-threshold-percent"),
    *("memory-manager-policy", "shutdown-grace-period", "shutdown-grace-period-for-critical-pods"),
    *("topology-manager-policy", "topology-manager-scope"),
)
_NUMBERS: Final = (
    *("container-log-max-files", "container-log-max-workers", "event-burst", "event-qps", "kube-api-burst"),
    *("kube-api-qps", "log-level", "max-pods", "pod-pids-limit", "registry-burst", "registry-qps", "ids-per-pod"),
    "eviction-max-pod-grace-period",
)
_TRUTHS: Final = (
    *("cpu-cfs-quota-enforced", "device-ownership-from-security-context", "seccomp-default", "server-tls-bootstrap"),
    "single-process-oom-kill",
)
_LISTS: Final = ("allowed-unsafe-sysctls", "cpu-manager-policy-options", "topology-manager-policy-options")
_TABLES: Final = (
    *("credential-providers", "eviction-hard", "eviction-soft", "eviction-soft-grace-period", "kube-reserved"),
    *("memory-manager-reserved-memory", "node-labels", "node-taints", "static-pods", "system-reserved"),
)
_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(_NUMBERS, int),
    **dict.fromkeys(_TRUTHS, bool),
    **dict.fromkeys(_LISTS, list),
    **dict.fromkeys(_TABLES, dict),
}
"""The settings of the kubelet that there are. A machine that is told another one does not come up."""
_WORDS: Final = {str: "a text", int: "an integer", bool: "true or false", list: "a list", dict: "a table"}

_MOUNTING: Final = "000-mount-instance-storage"
_WITHOUT_DIRS: Final = (1, 46, 0)
"""From this version on the command knows by itself which folders to move to the local disks."""
_DIRS: Final = ("--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def user_data(node: NodeBootstrap) -> str:
    """The user's settings with karpy's: where both say something, karpy's hold.

    Raises:
        InvalidObject: the user's part is no TOML, or gives a setting a value of another type.
    """
    import tomlkit  # comes with karpy[aws]; the other families do without

    document = _read(node.user_data)
    settings = _table(document, "settings", "settings")
    users = _table(settings, "kubernetes", "settings.kubernetes")
    kubernetes = {name: _checked(name, value) for name, value in users.items() if name in _TYPES}
    merged = {**kubernetes, **_kubernetes(node), "node-labels": {**kubernetes.get("node-labels", {}), **node.labels}}
    settings = {**settings, "kubernetes": {name: value for name, value in merged.items() if value != {}}}
    if node.joins_local_disks:
        commands = _table(settings, "bootstrap-commands", "settings.bootstrap-commands")
        settings["bootstrap-commands"] = {**commands, _MOUNTING: _mounting(node.image_version)}
    return tomlkit.dumps({**document, "settings": settings})


def unknown_settings(text: str) -> tuple[str, ...]:
    """The settings under ``settings.kubernetes`` that `user_data` leaves out, for a warning.

    >>> unknown_settings('[settings.kubernetes]\\nmax-pods = 5\\nmax-pod = 5')
    ('max-pod',)
    """
    settings = _table(_read(text), "settings", "settings")
    return tuple(name for name in _table(settings, "kubernetes", "settings.kubernetes") if name not in _TYPES)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidObject(f"it cannot be read: {error}", path=_PATH, accepted="settings in TOML") from None


def _table(parent: Mapping[str, Any], name: str, path: str) -> dict[str, Any]:
    found = parent.get(name, {})
    if not isinstance(found, dict):
        raise InvalidObject(f"{path} is {shown(found)}", path=_PATH, accepted="a table")
    return found


def _checked(name: str, value: Any) -> Any:
    wanted = _TYPES[name]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise InvalidObject(f"settings.kubernetes.{name} is {shown(value)}", path=_PATH, accepted=_WORDS[wanted])
    return value


def _kubernetes(node: NodeBootstrap) -> dict[str, Any]:
    """What karpy sets; a setting that it has nothing to say about is not there."""
    kubelet = node.kubelet
    taints: dict[str, list[str]] = {}
    for taint in node.taints:
        taints.setdefault(taint.key, []).append(f"{taint.value or ''}:{taint.effect}")
    grace_periods = kubelet.get("evictionSoftGracePeriod") or {}
    said = {
        "api-server": node.cluster.endpoint,
        "cluster-certificate": node.cluster.ca_bundle or None,
        "cluster-name": node.cluster.name,
        "cluster-dns-ip": node.dns_ips[0] if node.dns_ips else None,
        "max-pods": kubelet.get("maxPods"),
        "node-taints": taints,
        "kube-reserved": kubelet.get("kubeReserved") or None,
        "system-reserved": kubelet.get("systemReserved") or None,
        "eviction-hard": kubelet.get("evictionHard") or None,
        "eviction-soft": kubelet.get("evictionSoft") or None,
        "eviction-soft-grace-period": {
            signal: go_duration(parse_duration(text)) for signal, text in grace_periods.items()
        }
        or None,
        "eviction-max-pod-grace-period": kubelet.get("evictionMaxPodGracePeriod"),
        "image-gc-high-threshold-percent": _percent(kubelet.get("imageGCHighThresholdPercent")),
        "image-gc-low-threshold-percent": _percent(kubelet.get("imageGCLowThresholdPercent")),
        "cpu-cfs-quota-enforced": kubelet.get("cpuCFSQuota"),
    }
    return {name: value for name, value in said.items() if value is not None}


def _percent(value: int | None) -> str | None:
    return None if value is None else str(value)


def _mounting(version: str) -> dict[str, Any]:
    """The command that joins the local disks and puts pods' files on them."""
    dirs = () if _moves_all_by_itself(version) else _DIRS
    return {
        "commands": [["apiclient", "ephemeral-storage", "init"], ["apiclient", "ephemeral-storage", "bind", *dirs]],
        "mode": "always",
        "essential": True,
    }


def _moves_all_by_itself(version: str) -> bool:
    """An image of unknown age is told the folders, which every version understands."""
    found = _VERSION.fullmatch(version)
    return version == "latest" or (found is not None and tuple(map(int, found.groups())) >= _WITHOUT_DIRS)

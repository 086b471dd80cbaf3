"""Host ports: two pods that want the same one cannot share a node (core specification 2.8)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from karpy.objects.podspec import PodSpec

__all__ = ["HostPort", "clash", "host_ports"]

_ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  (an address in a manifest, not one that we listen on)


@attrs.frozen(order=True)
class HostPort:
    """A port of the node that a container takes; an empty address is every address."""

    port: int
    protocol: str = "TCP"
    ip: str = ""

    def clashes(self, other: HostPort) -> bool:
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or self.ip in _ANY or other.ip in _ANY


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The host ports of a pod's regular containers, sorted, each once."""
    found = {
        HostPort(port.host_port, port.protocol or "TCP", port.host_ip)
        for container in spec.containers
        for port in container.ports
        if port.host_port
    }
    return tuple(sorted(found))


def clash(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """Whether any two of them cannot both be had."""
    held = tuple(taken)
    return any(port.clashes(other) for port in wanted for other in held)

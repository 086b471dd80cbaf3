"""Addresses of services: cluster IPs and node ports are given out in order, kept through changes, and no two services share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karpy.sim.api import status
from karpy.sim.api.resources import Resource
from karpy.sim.api.status import Cause
from karpy.sim.api.store import Store

__all__ = ["Addresses"]

Object = dict[str, Any]

_SERVICES = ("", "services")
_FIRST_PORT, _LAST_PORT = 30_000, 32_767
_PORT_TYPES = ("NodePort", "LoadBalancer")


class Addresses:
    """The addresses of one store's services."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next_address = 0

    def given(self, resource: Resource, service: Object, before: Mapping[str, Any] | None) -> Object:
        """The service with the addresses that its type has: those of ``before``, those that it asks for, or new ones.

        Raises:
            KubeError: 422, another service has what this one asks for.
        """
        spec, old = dict(service.get("spec") or {}), (before or {}).get("spec") or {}
        kind = spec.get("type", "ClusterIP")
        if kind == "ExternalName":
            for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if key in old and spec.get(key) == old[key]:
                    del spec[key]
            return {**service, "spec": spec}
        spec = self._with_address(resource, service, spec, old)
        ports = self._with_ports(resource, service, spec, old) if spec.get("ports") else spec.get("ports")
        if ports is not spec.get("ports"):
            spec["ports"] = ports
        return service if spec == service.get("spec") else {**service, "spec": spec}

    def _with_address(self, resource: Resource, service: Object, spec: Object, old: Mapping[str, Any]) -> Object:
        families = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
        address = spec.get("clusterIP") or old.get("clusterIP")
        if not address:
            address = self._new_address()
        elif address not in ("None", old.get("clusterIP")) and any(
            (each.get("spec") or {}).get("clusterIP") == address for each in self._others(service)
        ):
            why = f"failed to allocate IP {address}: provided IP is already allocated"
            cause = Cause.bad("spec.clusterIPs", f'[]string{{"{address}"}}', why)
            raise status.invalid(resource, service["metadata"]["name"], [cause])
        return {**families, **spec, "clusterIP": address, "clusterIPs": spec.get("clusterIPs") or [address]}

    def _new_address(self) -> str:
        self._next_address += 1
        high, low = divmod(self._next_address, 250)
        return f"10.96.{high}.{low + 1}"

    def _others(self, service: Object) -> Iterator[Mapping[str, Any]]:
        collection = self._store.existing(_SERVICES)
        for record in collection.records() if collection is not None else ():
            if record.object["metadata"]["uid"] != service["metadata"]["uid"]:
                yield record.object

    def _with_ports(self, resource: Resource, service: Object, spec: Object, old: Mapping[str, Any]) -> list[Any]:
        kept = {(each.get("name", ""), each.get("port")): each.get("nodePort") for each in old.get("ports") or ()}
        ports: list[Any] = spec["ports"]
        wants = spec.get("type") in _PORT_TYPES and spec.get("allocateLoadBalancerNodePorts", True)
        if not wants:
            stale = [each.get("nodePort") and each["nodePort"] in kept.values() for each in ports]
            if not any(stale):
                return ports
            return [{k: v for k, v in each.items() if k != "nodePort"} for each in ports]
        mine = set(kept.values())
        taken = {
            port.get("nodePort")
            for each in self._others(service)
            for port in (each.get("spec") or {}).get("ports") or ()
        }
        filled = []
        for i, port in enumerate(ports):
            number = port.get("nodePort") or kept.get((port.get("name", ""), port.get("port")))
            if number and number not in mine:
                self._check_port(resource, service, i, number, taken)
            if not number:
                number = next(each for each in range(_FIRST_PORT, _LAST_PORT + 1) if each not in taken)
            taken.add(number)
            filled.append(port if port.get("nodePort") == number else {**port, "nodePort": number})
        return ports if filled == ports else filled

    @staticmethod
    def _check_port(resource: Resource, service: Object, i: int, number: int, taken: set[Any]) -> None:
        why = ""
        if number in taken:
            why = "provided port is already allocated"
        elif not _FIRST_PORT <= number <= _LAST_PORT:
            why = f"provided port is not in the valid range. The range of valid ports is {_FIRST_PORT}-{_LAST_PORT}"
        if why:
            cause = Cause.bad(f"spec.ports[{i}].nodePort", str(number), why)
            raise status.invalid(resource, service["metadata"]["name"], [cause])

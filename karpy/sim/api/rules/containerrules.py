"""Rules of containers and volumes, with the real server's texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from karpy.quantity import Quantity
from karpy.sim.api.rules.checks import (
    Object,
    check_choice,
    check_negative,
    check_port,
    check_quantities,
    is_extended,
    nanos,
)
from karpy.sim.api.rules.validation import quoted, validate_name, wrong_label_key
from karpy.sim.api.status import Cause

__all__ = ["check_containers", "check_volumes"]

_ENVIRONMENT = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*\Z")
_ENVIRONMENT_TEXT = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start "
    "with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "
    "'[-._a-zA-Z][-._a-zA-Z0-9]*')"
)
_PORT_NAME = re.compile(r"[-a-z0-9]+\Z")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")


def check_containers(
    containers: Sequence[Object], path: str, volumes: frozenset[str], taken: frozenset[str] = frozenset()
) -> Iterator[Cause]:
    """What is wrong with a list of containers; ``taken``: names of other lists, ``volumes``: what can be mounted."""
    names = set(taken)
    ports: set[tuple[str, str, int]] = set()
    for i, container in enumerate(containers):
        where, name = f"{path}[{i}]", container.get("name", "")
        yield from _container(container, where, volumes)
        if name and name in names:
            yield Cause.duplicate(f"{where}.name", quoted(name))
        names.add(name)
        for handler in ("postStart", "preStop"):
            if (container.get("lifecycle") or {}).get(handler) is not None:
                yield from _handler(container["lifecycle"][handler], f"{where}.lifecycle.{handler}")
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(probe) is not None:
                yield from _probe(container[probe], probe, f"{where}.{probe}")
        if container.get("restartPolicy") and not path.endswith("initContainers"):
            yield Cause.forbidden(f"{where}.restartPolicy", "may not be set for non-init containers")
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                key = (port.get("protocol", ""), port.get("hostIP", ""), port["hostPort"])
                if key in ports:
                    shown = f"{key[0]}/{key[1]}/{key[2]}"
                    yield Cause.duplicate(f"{path}[{i}].ports[{j}].hostPort", quoted(shown))
                ports.add(key)


def _container(container: Object, path: str, volumes: frozenset[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield Cause.required(f"{path}.name")
    elif wrong := validate_name(name, "label"):
        yield Cause.bad(f"{path}.name", quoted(name), wrong)
    if not container.get("image"):
        yield Cause.required(f"{path}.image")
    if container.get("ports"):
        yield from _ports(container["ports"], f"{path}.ports")
    for i, variable in enumerate(container.get("env") or ()):
        yield from _variable(variable, f"{path}.env[{i}]")
    if container.get("volumeMounts"):
        yield from _mounts(container["volumeMounts"], f"{path}.volumeMounts", volumes)
    policies = ("Always", "IfNotPresent", "Never")
    yield from check_choice(container.get("imagePullPolicy"), f"{path}.imagePullPolicy", policies, needed=False)
    if container.get("resources"):
        yield from _resources(container["resources"], f"{path}.resources")


def _ports(ports: Sequence[Object], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for i, port in enumerate(ports):
        where, name = f"{path}[{i}]", port.get("name", "")
        if name:
            wrong = _wrong_port_name(name)
            if wrong:
                yield Cause.bad(f"{where}.name", quoted(name), wrong)
            elif name in names:
                yield Cause.duplicate(f"{where}.name", quoted(name))
            names.add(name)
        if not port.get("containerPort"):
            yield Cause.required(f"{where}.containerPort")
        else:
            yield from check_port(port["containerPort"], f"{where}.containerPort")
        yield from check_port(port.get("hostPort"), f"{where}.hostPort", zero=True)
        yield from check_choice(port.get("protocol"), f"{where}.protocol", ("SCTP", "TCP", "UDP"), needed=False)


def _wrong_port_name(name: str) -> str:
    if len(name) > 15:
        return "must be no more than 15 characters"
    if not _PORT_NAME.match(name):
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", name):
        return "must contain at least one letter (a-z)"
    if "--" in name:
        return "must not contain consecutive hyphens"
    return "must not begin or end with a hyphen" if "-" in (name[0], name[-1]) else ""


def _variable(variable: Object, path: str) -> Iterator[Cause]:
    name = variable.get("name", "")
    if not name:
        yield Cause.required(f"{path}.name")
    elif not _ENVIRONMENT.match(name):
        yield Cause.bad(f"{path}.name", quoted(name), _ENVIRONMENT_TEXT)
    source = variable.get("valueFrom")
    if source is None:
        return
    given = [each for each in _VALUE_SOURCES if source.get(each) is not None]
    why = ""
    if not given:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
    elif variable.get("value"):
        why = "may not be specified when `value` is not empty"
    elif len(given) > 1:
        why = "may not have more than one field specified at a time"
    if why:
        yield Cause.bad(f"{path}.valueFrom", quoted(""), why)


def _mounts(mounts: Sequence[Object], path: str, volumes: frozenset[str]) -> Iterator[Cause]:
    places: set[str] = set()
    for i, mount in enumerate(mounts):
        where, name, place = f"{path}[{i}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield Cause.required(f"{where}.name")
        if name not in volumes:
            yield Cause("FieldValueNotFound", f"Not found: {quoted(name)}", f"{where}.name")
        if not place:
            yield Cause.required(f"{where}.mountPath")
        if place in places:
            yield Cause.bad(f"{where}.mountPath", quoted(place), "must be unique")
        places.add(place)


def _resources(resources: Object, path: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name in amounts:
            yield from _resource_name(name, f"{path}.{key}[{name}]")
        yield from check_quantities(amounts, f"{path}.{key}")
    for name, request in requests.items():
        limit = limits.get(name)
        whole = is_extended(name) or name.startswith("hugepages-")
        if limit is None and whole:
            yield Cause.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif limit is not None and limit != request:
            asked, most = nanos(request), nanos(limit)
            shown = Quantity.parse(limit)
            if whole and asked != most:
                yield Cause.bad(f"{path}.requests", quoted(request), f"must be equal to {name} limit of {shown}")
            elif asked > most:
                why = f"must be less than or equal to {name} limit of {shown}"
                yield Cause.bad(f"{path}.requests", quoted(request), why)


def _resource_name(name: str, path: str) -> Iterator[Cause]:
    wrong = wrong_label_key(name)
    if wrong:
        yield Cause.bad(path, quoted(name), wrong)
    elif "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        yield Cause.bad(path, quoted(name), "must be a standard resource type or fully qualified")
        yield Cause.bad(path, quoted(name), "must be a standard resource for containers")


def _handler(handler: Object, path: str) -> Iterator[Cause]:
    given = [each for each in _HANDLERS if handler.get(each) is not None]
    if not given:
        yield Cause.required(path, "must specify a handler type")
    for each in given[1:]:
        yield Cause.forbidden(f"{path}.{each}", "may not specify more than 1 handler type")
    action = handler.get("httpGet") or handler.get("tcpSocket")
    if action is not None and given[0] in ("httpGet", "tcpSocket"):
        yield from check_port(action.get("port"), f"{path}.{given[0]}.port")


def _probe(probe: Object, kind: str, path: str) -> Iterator[Cause]:
    yield from _handler(probe, path)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        yield from check_negative(probe.get(field), f"{path}.{field}")
    if kind != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        yield Cause.bad(f"{path}.successThreshold", str(probe["successThreshold"]), "must be 1")


def check_volumes(volumes: Sequence[Object], path: str) -> Iterator[Cause]:
    """What is wrong with the volumes of a pod."""
    names: set[str] = set()
    for i, volume in enumerate(volumes):
        where, name = f"{path}[{i}]", volume.get("name", "")
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        for each in sources[1:]:
            yield Cause.forbidden(f"{where}.{each}", "may not specify more than 1 volume type")
        if not sources:
            yield Cause.required(where, "must specify a volume type")
        for source, field in (("persistentVolumeClaim", "claimName"), ("secret", "secretName"), ("configMap", "name")):
            if source in sources and not volume[source].get(field):
                yield Cause.required(f"{where}.{source}.{field}")
        if "ephemeral" in sources and not volume["ephemeral"].get("volumeClaimTemplate"):
            yield Cause.required(f"{where}.ephemeral.volumeClaimTemplate")
        if not name:
            yield Cause.required(f"{where}.name")
        elif wrong := validate_name(name, "label"):
            yield Cause.bad(f"{where}.name", quoted(name), wrong)
        if name in names:
            yield Cause.duplicate(f"{where}.name", quoted(name))
        names.add(name)

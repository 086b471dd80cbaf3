"""What a pod reserves on its node, and the most that it may use: Kubernetes' formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from karpy.errors import InvalidObject
from karpy.objects.podspec import Container, PodSpec, PodStatus
from karpy.resources import PODS, Resources

__all__ = [
    "misread",
    "pod_limits",
    "pod_requests",
    "with_default_requests",
]


def pod_requests(spec: PodSpec, status: PodStatus | None = None) -> Resources:
    """What the pod reserves on its node, with ``pods: 1``: Kubernetes' own formula.

    The greater of what all containers and sidecars need together and of what each init container needs on top of the
    sidecars started before it; pod-level requests replace that where they are set; the runtime's overhead comes on top.
    A container whose resize is under way counts with the most of what it asks for and what it was granted.

    Raises:
        InvalidObject: with the path below ``spec``.
    """
    granted = _granted(spec, status) if status is not None else {}
    needed = _together(spec, lambda container: _asked(container, granted))
    if spec.resources is not None:
        needed = Resources({**needed, **Resources.parse(spec.resources.requests or {})})
    if spec.overhead:
        needed = needed + Resources.parse(spec.overhead)
    return needed + {PODS: 1}


def pod_limits(spec: PodSpec) -> Resources:
    """The most that the pod may use, with ``pods: 1``, by the formula of `pod_requests`.

    Containers without a limit count as nothing; the runtime's overhead comes on top of what is limited.

    Raises:
        InvalidObject: with the path below ``spec``.
    """
    limits = _together(spec, lambda container: Resources.parse(container.resources.limits or {}))
    if spec.resources is not None:
        limits = Resources({**limits, **Resources.parse(spec.resources.limits or {})})
    overhead = Resources.parse(spec.overhead or {})
    return limits + {PODS: 1} + {name: amount for name, amount in overhead.items() if limits.get(name)}


def with_default_requests(spec: PodSpec) -> PodSpec:
    """The spec as the API server stores it: a limit stands in for a request that is missing.

    That is done to pods and not to the templates of workloads; who counts by a template has to do it first. A pod-level limit
    stands in only where no container asks (Kubernetes' ``SetDefaults_Pod``).
    """

    def filled(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(msgspec.structs.replace(each, resources=each.resources.defaulted) for each in containers)

    spec = msgspec.structs.replace(
        spec, containers=filled(spec.containers), init_containers=filled(spec.init_containers)
    )
    whole = spec.resources
    if whole is None or not whole.limits:
        return spec
    asked = {name for each in (*spec.containers, *spec.init_containers) for name in each.resources.requests or {}}
    unasked = {name: limit for name, limit in whole.limits.items() if name not in asked}
    return msgspec.structs.replace(
        spec, resources=msgspec.structs.replace(whole, requests={**unasked, **(whole.requests or {})})
    )


def _together(spec: PodSpec, amounts: Callable[[Container], Resources]) -> Resources:
    """What the containers come to at the worst moment: while all of them run, or while one of the init containers does."""
    running = Resources()
    for container in spec.containers:
        running = running + amounts(container)
    sidecars = Resources()
    peak = Resources()
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            sidecars = sidecars + amounts(container)
            peak = peak.maximum(sidecars)
        else:
            peak = peak.maximum(sidecars + amounts(container))
    return (running + sidecars).maximum(peak)


def _granted(spec: PodSpec, status: PodStatus) -> dict[str, Resources]:
    """By container, the most that its node holds for it now. Init containers that ran hold nothing."""
    statuses = (*status.container_statuses, *status.init_container_statuses)
    passing = {each.name for each in spec.init_containers if each.restart_policy != "Always"}
    return {
        found.name: Resources.parse(found.resources.requests or {}).maximum(
            Resources.parse(found.allocated_resources or {})
        )
        for found in statuses
        if found.resources is not None and found.name not in passing
    }


def _asked(container: Container, granted: Mapping[str, Resources]) -> Resources:
    requests = container.resources.requests
    asked = Resources.parse(requests) if requests else Resources()
    held = granted.get(container.name)
    return asked if held is None else asked.maximum(held)


def misread(spec: PodSpec, status: PodStatus) -> InvalidObject | None:
    """The first amount that cannot be read, by its whole path. Sought only once it is known that there is one."""
    for path, amounts in _amounts(spec, status):
        try:
            Resources.parse(amounts or {})
        except InvalidObject as error:
            return error.at(path=path)
    return None


def _amounts(spec: PodSpec, status: PodStatus) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Every list of resources of a pod."""
    yield "spec.overhead", spec.overhead
    for path, resources in (
        ("spec", spec.resources),
        *((f"spec.containers[{i}]", each.resources) for i, each in enumerate(spec.containers)),
        *((f"spec.initContainers[{i}]", each.resources) for i, each in enumerate(spec.init_containers)),
        *((f"status.containerStatuses[{i}]", each.resources) for i, each in enumerate(status.container_statuses)),
        *(
            (f"status.initContainerStatuses[{i}]", each.resources)
            for i, each in enumerate(status.init_container_statuses)
        ),
    ):
        if resources is not None:
            yield f"{path}.resources.requests", resources.requests
            yield f"{path}.resources.limits", resources.limits
    for path, held in (
        *((f"status.containerStatuses[{i}]", each) for i, each in enumerate(status.container_statuses)),
        *((f"status.initContainerStatuses[{i}]", each) for i, each in enumerate(status.init_container_statuses)),
    ):
        yield f"{path}.allocatedResources", held.allocated_resources

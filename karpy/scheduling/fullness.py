"""Which planned machines will not take another pod, whoever may come: they need not wait for the rest of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karpy.cloud.instancetype import Catalog, InstanceType
from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.scheduling.plan import Launch

__all__ = ["full_launches"]

_BRIM_NUMERATOR, _BRIM_DENOMINATOR = 19, 20
"""A machine counts as full from this share on: a gap so small is not worth a wait."""


def full_launches(launches: Iterable[Launch], catalog: Catalog, pods: Sequence[Pod]) -> tuple[Launch, ...]:
    """Those on which no pod would find room that is at least as large as the smallest of ``pods``, of any type on offer for them.

    A machine that may still become a larger one is not full: with the pods to come it may cost less than two.
    """
    smallest = _smallest(pods)
    types: dict[str, Mapping[str, InstanceType]] = {}

    def is_full(launch: Launch) -> bool:
        if launch.pool.name not in types:
            types[launch.pool.name] = {each.name: each for each in catalog.types.get(launch.pool.name, ())}
        known, held = types[launch.pool.name], launch.requests
        more = (held + smallest).amounts
        brim = {name: -(-amount * _BRIM_DENOMINATOR // _BRIM_NUMERATOR) for name, amount in held.items()}
        # The dearest are the largest, so the first ones looked at mostly settle it.
        offered = [known[priced.name] for priced in reversed(launch.instance_types) if priced.name in known]
        return not any(_holds(each, more) for each in offered) or not any(_holds(each, brim) for each in offered)

    return tuple(launch for launch in launches if not launch.headroom and is_full(launch))


def _smallest(pods: Sequence[Pod]) -> Resources:
    """The least of each resource that any of them asks for; what one of them does without is none."""
    if not pods:
        return Resources()
    least = pods[0].requests
    for pod in pods[1:]:
        least = least.minimum(pod.requests)
    return least


def _holds(instance_type: InstanceType, amounts: Mapping[str, int]) -> bool:
    room = instance_type.allocatable
    return all(amount <= room.get(name, 0) for name, amount in amounts.items())

"""The judge's third part: pods are with those that they must be with, and apart from those that they must be apart from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karpy.labels import normalize
from karpy.objects.pod import Pod
from karpy.objects.podspec import PodAffinityTerm
from tests.judge_around import Place, World
from tests.judge_pods import is_about, required, wants

_Placed = tuple[Place, Pod]


def together(world: World) -> Iterator[str]:
    """Each required affinity has a pod to be with, or its pod is the first of its kind; and somebody could be first.

    Pods start one after another, each when those that it must be with are there. Who never can is told.
    """
    waiting = [(place, pod) for place, pod in world.newcomers if required(pod, anti=False)]
    bound = {id(pod) for _place, pod in waiting}
    started = [(place, pod) for place, pod in world.counted if id(pod) not in bound]
    first = [(place, pod) for place, pod in started if pod not in place.newcomers]  # others may come later
    while waiting:
        candidates = [placed for placed in waiting if _can_start(world, *placed, started, first)]
        if not candidates:
            break
        # Those that begin go first: the more pods are there, the fewer may still begin.
        able = min(candidates, key=lambda placed: _is_beside_all(world, *placed, started))
        waiting.remove(able)
        started.append(able)
        first.append(able)
    for place, pod in waiting:
        yield f"{pod.key} wants to be with others, and is on {place.name} without them"


def _can_start(world: World, place: Place, pod: Pod, started: Sequence[_Placed], first: Sequence[_Placed]) -> bool:
    terms = required(pod, anti=False)
    return all(
        _is_beside(world, place, pod, term, started) or _begins(world, place, pod, term, first) for term in terms
    )


def _is_beside_all(world: World, place: Place, pod: Pod, started: Sequence[_Placed]) -> bool:
    return all(_is_beside(world, place, pod, term, started) for term in required(pod, anti=False))


def _is_beside(world: World, place: Place, pod: Pod, term: PodAffinityTerm, started: Sequence[_Placed]) -> bool:
    """Whether one whom the term is about is there, in whatever domain the machine turns out to be."""
    key = normalize(term.topology_key)
    friends = [there for there, other in started if is_about(term, pod, other, world.snapshot.namespaces)]
    settled = {value for there in friends if len(there.domains(key)) == 1 for value in there.domains(key)}
    here = place.domains(key)
    return bool(here) and (place in friends or here <= settled)


def _begins(world: World, place: Place, pod: Pod, term: PodAffinityTerm, first: Sequence[_Placed]) -> bool:
    """Whether the term is about the pod itself, and nobody is there whom it could have been with."""
    key, known = normalize(term.topology_key), world.snapshot.namespaces
    if not is_about(term, pod, pod, known) or not place.domains(key):
        return False
    friends = [there for there, other in first if is_about(term, pod, other, known)]
    return not any(wants(pod, key, value) for there in friends for value in there.domains(key))


def apart(world: World) -> Iterator[str]:
    """No required anti-affinity, of newcomers or of pods that run, is broken by this plan."""
    counted = list(world.counted)
    new = {id(pod) for _place, pod in world.newcomers}
    for place, pod in counted:
        for term in required(pod, anti=True):
            key = normalize(term.topology_key)
            for there, other in counted:
                if other is pod or not (id(pod) in new or id(other) in new):
                    continue
                if place.shares(key, there) and is_about(term, pod, other, world.snapshot.namespaces):
                    yield f"{pod.key} and {other.key} may meet by {key} on {place.name} and {there.name}"

"""What it costs to move pods, in dollars, and for how long what that saves may last."""

from __future__ import annotations

from typing import Final

import attrs

from karpy.disruption.candidates import Candidate
from karpy.disruption.cost import eviction_cost
from karpy.objects.churnrules import disruption_price
from karpy.objects.pod import Pod
from karpy.state.snapshot import NodeView

__all__ = ["OUTLOOK_S", "SWAP_OUTLOOK_S", "outlook_s", "price_of_moving"]

OUTLOOK_S: Final = 3600.0
"""Room that is given up is wanted again as demand comes and goes. So long it may be done without."""
SWAP_OUTLOOK_S: Final = 6 * 3600.0
"""That spot costs less than on-demand has little to do with demand: that lasts longer."""


def price_of_moving(candidate: Candidate, price: float, now: float) -> float:
    """Dollars. Each pod costs ``price``, or what its own annotation says, more or less by its priority and deletion cost. A pod of
    a Job begins anew, so what it has used of the machine is lost besides. Nothing costs anything where the pool has no price."""
    if not price:
        return 0.0
    load = candidate.view.derived(_load)
    lost = sum(share * _age(pod, now) for pod, share in load.jobs)
    return price * load.ordinary + load.priced + candidate.price * lost / 3600


@attrs.frozen
class _Load:
    """What a machine holds: the eviction costs of pods without a price, the dollars of those that have one, and the pods of Jobs
    with their shares of the machine."""

    ordinary: float
    priced: float
    jobs: tuple[tuple[Pod, float], ...]
    is_all_jobs: bool


def _load(view: NodeView) -> _Load:
    ordinary, priced = 0.0, 0.0
    pods = view.reschedulable_pods
    for pod in pods:
        own, cost = disruption_price(pod.metadata.annotations or {}), max(0.0, eviction_cost(pod))
        ordinary += cost if own is None else 0.0
        priced += 0.0 if own is None else own * cost
    jobs = tuple((pod, _share(pod, view)) for pod in pods if _is_of_job(pod))
    return _Load(ordinary, priced, jobs, 0 < len(jobs) == len(pods))


def _share(pod: Pod, view: NodeView) -> float:
    room = view.allocatable
    return max((amount / room[name] for name, amount in pod.requests.items() if room.get(name)), default=0.0)


def outlook_s(view: NodeView, now: float, *, is_swap: bool) -> float:
    """For how long a command about the machine may be expected to save what it saves: until demand comes back; if it has nothing
    but Jobs, as long as these will yet run; and no longer than it may live. Of a Job it is expected that half of it is done.

    ``is_swap``: what is saved is saved by buying the same as another capacity type.
    """
    claim, load = view.claim, view.derived(_load)
    needed = SWAP_OUTLOOK_S if is_swap else OUTLOOK_S
    if load.is_all_jobs:
        needed = min(needed, max(_age(pod, now) for pod, _share in load.jobs))
    if claim is not None and claim.expire_after_s is not None:
        needed = min(needed, claim.metadata.created + claim.expire_after_s - now)
    return max(0.0, needed)


def _is_of_job(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "Job"


def _age(pod: Pod, now: float) -> float:
    return max(0.0, now - pod.metadata.created)

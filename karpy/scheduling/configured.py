"""A solve as the settings of the controller have it: one place that knows which setting says what to `solve`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.objects.schedulerconfig import read_scheduler_config
from karpy.scheduling.classes import NOWHERE_SHUT, Shut
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan
from karpy.scheduling.policy import Policy
from karpy.scheduling.scheduler import solve
from karpy.scheduling.settling import settled
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["plan_as_set", "policy_as_set", "solve_as_set"]


def solve_as_set(
    settings: Settings | None,
    snapshot: Snapshot,
    catalog: Catalog,
    pods: Iterable[Pod] | None = None,
    *,
    packing: Packing | None = None,
    shut: Shut = NOWHERE_SHUT,
) -> Plan:
    """`karpy.scheduling.scheduler.solve` by these settings (None: the defaults). ``packing`` is for those to whom one is enough.

    Raises:
        InvalidObject: the scheduler's configuration in ``settings`` cannot be used.
    """
    settings = settings or Settings()
    return _solve(settings, snapshot, catalog, pods, packing, shut)


def plan_as_set(settings: Settings, snapshot: Snapshot, catalog: Catalog) -> Plan:
    """What to do for the pods that wait: `solve_as_set`, and what its machines lack that kube-scheduler will fill otherwise.

    Raises:
        InvalidObject: the scheduler's configuration in ``settings`` cannot be used.
    """
    plan = _solve(settings, snapshot, catalog, None, None)
    if not settings.foresee_placement:
        return plan

    def again(cluster: Snapshot, pods: Sequence[Pod]) -> Plan:
        return _solve(settings, cluster, catalog, pods, None)

    return settled(plan, snapshot, catalog, policy_as_set(settings), again)


def _solve(
    settings: Settings,
    snapshot: Snapshot,
    catalog: Catalog,
    pods: Iterable[Pod] | None,
    packing: Packing | None,
    shut: Shut = NOWHERE_SHUT,
) -> Plan:
    return solve(
        snapshot,
        catalog,
        pods,
        packing=packing or settings.packing or None,
        max_instance_types=settings.max_instance_types,
        respect_preferences=settings.respect_preferences,
        strict_min_values=settings.strict_min_values,
        reserved_capacity=settings.reserved_capacity,
        default_spread=read_scheduler_config(settings.scheduler_config),
        shut=shut,
    )


def policy_as_set(settings: Settings) -> Policy:
    """How a solve goes about it by these settings.

    Raises:
        InvalidObject: the scheduler's configuration in ``settings`` cannot be used.
    """
    return Policy(
        respect_preferences=settings.respect_preferences,
        strict_min_values=settings.strict_min_values,
        reserved_capacity=settings.reserved_capacity,
        default_spread=read_scheduler_config(settings.scheduler_config),
    )

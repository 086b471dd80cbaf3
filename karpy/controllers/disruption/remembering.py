"""What is remembered of commands, where a pool asks for churn control: on claims what must outlive a restart, and the rest here."""

from __future__ import annotations

from collections.abc import Mapping

from karpy.controllers.shared import Shared
from karpy.disruption.command import Command
from karpy.disruption.memory import note_failure, succession
from karpy.errors import KubeError
from karpy.objects.churnrules import ChurnRules, churn_rules
from karpy.objects.driftmode import DriftMode, drift_rule
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["remember_failure", "succession_of"]


def succession_of(shared: Shared, command: Command, snapshot: Snapshot) -> Mapping[str, str]:
    """The annotations by which the command's replacements remember whose place they take; none where no pool asks for that."""
    gone = _machines(command, snapshot)
    rules = [_rules(shared, pool) for pool in _pools(gone, snapshot).values()]
    if not any(each.no_return_s or each.cooldown_s for each in rules):
        return {}
    return succession(gone, shared.clock.now())


def remember_failure(shared: Shared, command: Command) -> None:
    """Note on the claims that stay that their replacement did not come, where their pool asks for that.

    Raises:
        KubeError: one could not be written. It is then as if this had not happened.
    """
    snapshot = shared.state.snapshot()
    gone = _machines(command, snapshot)
    pools = _pools(gone, snapshot)
    for view in gone:
        pool = pools.get(view.pool)
        if view.claim is None or pool is None or not _keeps_count(shared, pool):
            continue
        patch = {"metadata": {"annotations": dict(note_failure(view.claim, shared.clock.now()))}}
        try:
            raw = shared.kube.patch(NODE_CLAIM, view.claim.name, patch)
        except KubeError as error:
            if not error.not_found:
                raise
        else:
            shared.state.apply(WatchEvent(EventType.MODIFIED, NODE_CLAIM, raw))


def _keeps_count(shared: Shared, pool: NodePool) -> bool:
    mode = drift_rule(pool.metadata.annotations or {}).mode
    return mode is DriftMode.CANARY or _rules(shared, pool).quarantine_s > 0


def _rules(shared: Shared, pool: NodePool) -> ChurnRules:
    return churn_rules(pool.metadata.annotations or {}, shared.settings.churn_control)


def _machines(command: Command, snapshot: Snapshot) -> list[NodeView]:
    views = (snapshot.machine(claim) for claim in command.claims)
    return [view for view in views if view is not None]


def _pools(views: list[NodeView], snapshot: Snapshot) -> dict[str, NodePool]:
    names = {view.pool for view in views}
    return {pool.name: pool for pool in snapshot.pools if pool.name in names}

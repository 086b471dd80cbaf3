"""What all solves of one picture have in common, worked out once: none of them changes it.

Whatever a solve does change it keeps in a `karpy.scheduling.run.Run` of its own. So nothing has to be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.scheduling.census import Census
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import daemons_of
from karpy.scheduling.existing import existing_nodes
from karpy.scheduling.floor import Floor
from karpy.scheduling.limits import counted, remaining_limits
from karpy.scheduling.policy import Policy
from karpy.scheduling.tally import Gone
from karpy.scheduling.templates import Template, templates_for
from karpy.state.snapshot import NodeView, Snapshot
from karpy.taints import PREFER_NO_SCHEDULE

__all__ = ["Absent", "Ground"]


@attrs.frozen(eq=False)
class Absent:
    """Nodes that are there, and are left out on paper: their positions in the snapshot, and their views."""

    positions: Gone = frozenset()
    views: tuple[NodeView, ...] = ()


class Ground:
    """The compiled form of a snapshot and of what its pools can buy."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalog: Catalog,
        policy: Policy,
        moving: Iterable[Pod],
        *,
        counted_in: Snapshot | None = None,
        remaining: Mapping[str, Resources | None] | None = None,
        often: bool = False,
    ) -> None:
        """``moving`` are the pods that are about to be placed. Pods that run count for others as they are in ``counted_in``, if
        that is not ``snapshot``. ``remaining`` is what is left of limits, where that is known. ``often``: there will be many
        solves."""
        daemons = daemons_of(snapshot.daemon_sets, snapshot.daemon_pods)
        self.snapshot = snapshot
        self.catalog = catalog
        self.well_known = catalog.labels.well_known
        self.templates: tuple[Template, ...] = templates_for(
            snapshot.pools,
            catalog,
            daemons,
            strict_min_values=policy.strict_min_values,
            with_reservations=policy.reserved_capacity,
        )
        self._remaining = remaining_limits(snapshot, catalog) if remaining is None else remaining
        taints = (taint for template in self.templates for taint in template.taints)
        self._taints_may_be_preferences = any(taint.effect == PREFER_NO_SCHEDULE for taint in taints)
        self.census = Census(counted_in or snapshot, self.templates, moving)
        self.floor = Floor(existing_nodes(snapshot, daemons), often=often)
        self._ladders: dict[Constraints, tuple[Constraints, ...]] = {}

    def remaining(self, absent: Absent) -> dict[str, Resources | None]:
        """What is left of the limits of pools when some nodes are not there."""
        found = dict(self._remaining)
        for view in absent.views:
            limit = found.get(view.pool)
            if limit is not None and not view.is_leaving:
                freed = counted(view, self.catalog)
                found[view.pool] = Resources({name: left + freed.get(name, 0) for name, left in limit.items()})
        return found

    def ladder(self, constraints: Constraints) -> tuple[Constraints, ...]:
        """The constraints and all that they relax to, the strictest first."""
        found = self._ladders.get(constraints)
        if found is None:
            ladder = constraints.ladder(taints_may_be_preferences=self._taints_may_be_preferences)
            found = self._ladders[constraints] = tuple(ladder)
        return found

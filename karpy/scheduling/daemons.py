"""What DaemonSets will take on a node, before any pod that is waited for gets there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects.pod import Pod
from karpy.objects.workloads import DaemonSet
from karpy.requirements import Requirements
from karpy.resources import Resources, total
from karpy.scheduling.alike import Alike, accepts, asked_labels
from karpy.scheduling.constraints import Constraints, constraints_of
from karpy.scheduling.instances import TypeColumns
from karpy.scheduling.ports import HostPort
from karpy.state.snapshot import NodeView
from karpy.taints import Taint, untolerated

__all__ = ["Daemon", "DaemonGroup", "daemon_groups", "daemons_of", "expected_on", "expected_on_all"]


_NONE: Mapping[str, Pod] = {}


@attrs.frozen(eq=False)
class Daemon:
    """The pod of one DaemonSet, and the constraints of which one must hold for it to run."""

    pod: Pod
    constraints: tuple[Constraints, ...]


@attrs.frozen(eq=False)
class DaemonGroup:
    """Instance types (a mask) on which exactly the same daemons will run, and what these take together."""

    mask: int
    overhead: Resources
    ports: tuple[HostPort, ...] = ()


def daemons_of(daemon_sets: Iterable[DaemonSet], newest: Mapping[str, Pod] = _NONE) -> tuple[Daemon, ...]:
    """The pods that DaemonSets would put on nodes, but for those that claim devices: nobody knows which nodes have them.

    They are like the newest pod of the set (by the set's uid) where there is one, else like the template.
    """
    found = []
    for daemon_set in daemon_sets:
        template = daemon_set.to_pod()
        pod = newest.get(daemon_set.metadata.uid, template)
        if template.spec.resource_claims:
            continue
        try:
            constraints = constraints_of(_unbound(pod, template)).without_preferences()
        except InvalidObject:  # the DaemonSet controller cannot place it either
            continue
        found.append(Daemon(pod, tuple(constraints.ladder())))
    return tuple(found)


def _unbound(pod: Pod, template: Pod) -> Pod:
    """The pod with the template's affinity: its controller has bound a pod that runs to its host in this way."""
    if pod is template:
        return pod
    return Pod(pod.metadata, msgspec.structs.replace(pod.spec, affinity=template.spec.affinity), pod.status)


def daemon_groups(
    daemons: Sequence[Daemon],
    columns: TypeColumns,
    requirements: Requirements,
    taints: Sequence[Taint],
    well_known: frozenset[str],
) -> tuple[DaemonGroup, ...]:
    """Split the catalog by the set of daemons that would run on a new node of each type (core specification 3.5)."""
    groups: list[tuple[int, tuple[Daemon, ...]]] = [(columns.all, ())]
    for daemon in daemons:
        mask = _types_for(daemon, columns, requirements, taints, well_known)
        split = []
        for held, members in groups:
            split.append((held & mask, (*members, daemon)))
            split.append((held & ~mask, members))
        groups = [(held, members) for held, members in split if held]
    return tuple(_group(held, members, columns) for held, members in groups)


def _group(held: int, members: Sequence[Daemon], columns: TypeColumns) -> DaemonGroup:
    overhead = total(member.pod.requests for member in members)
    ports = tuple(port for member in members for port in member.constraints[0].ports)
    # A type that does not even hold its daemons is in no group: pods that ask for little would crowd them out.
    return DaemonGroup(held & columns.fitting_all(overhead), overhead, ports)


def _types_for(
    daemon: Daemon,
    columns: TypeColumns,
    requirements: Requirements,
    taints: Sequence[Taint],
    well_known: frozenset[str],
) -> int:
    mask = 0
    for wanted in daemon.constraints:
        tolerated = untolerated(taints, wanted.tolerations) is None
        if tolerated and requirements.compatible(wanted.requirements, well_known) is None:
            mask |= columns.allowing(wanted.requirements)
    return mask


def expected_on(view: NodeView, daemons: Sequence[Daemon]) -> Resources:
    """What daemons that are not on the node yet will still take there."""
    return (_running_on(view, daemons) - view.daemon_used).at_least_zero()


def expected_on_all(views: Sequence[NodeView], daemons: Sequence[Daemon]) -> Mapping[int, Resources]:
    """What is still expected, by the node's position, where that is anything. Nodes that are alike get the same daemons."""
    if not daemons:
        return {}
    found: dict[int, Resources] = {}
    asked = asked_labels(wanted for daemon in daemons for wanted in daemon.constraints)
    for group in Alike(views).by(asked):
        coming = _running_on(views[group[0]], daemons)
        rests: dict[Resources, Resources] = {}
        for position in group:
            there = views[position].daemon_used
            if there not in rests:
                rests[there] = (coming - there).at_least_zero()
            if any(rests[there].amounts.values()):
                found[position] = rests[there]
    return found


def _running_on(view: NodeView, daemons: Sequence[Daemon]) -> Resources:
    return total(
        daemon.pod.requests for daemon in daemons if any(accepts(view, wanted) for wanted in daemon.constraints)
    )

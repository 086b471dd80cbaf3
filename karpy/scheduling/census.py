"""Who runs where, as terms about pods see it: counted once for a picture of the cluster, and then only ever looked up.

A solve counts on from here in `karpy.scheduling.groups.Group`s of its own. Where some nodes are gone on paper, theirs is left out.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs
import msgspec

from karpy import labels
from karpy.objects.pod import Pod, PodGroup
from karpy.scheduling.alike import Alike
from karpy.scheduling.constraints import AffinityTerm, Constraints, SpreadTerm, kept_apart
from karpy.scheduling.groups import Domains, Group, GroupKind
from karpy.scheduling.running import Running, running
from karpy.scheduling.selectors import PodSelector
from karpy.scheduling.tally import Gone, Tally
from karpy.scheduling.templates import Template
from karpy.state.snapshot import Snapshot
from karpy.taints import Taint, untolerated

__all__ = ["Census"]


@attrs.frozen(eq=False)
class Brought:
    """What pods bring: all that they ask for; whom they keep away; and the groups of which the latter are the other side.

    Preferences are never turned round."""

    owned: tuple[Tally, ...]
    keeping_away: tuple[Tally, ...]
    settling: tuple[Tally, ...]


class Census:
    """The terms of all pods, counted when they are first asked about."""

    def __init__(self, snapshot: Snapshot, templates: Sequence[Template], moving: Iterable[Pod]) -> None:
        """``moving`` are about to be placed: they are counted where they will be, and not where they are."""
        self._snapshot = snapshot
        self._templates = templates
        self._moving = tuple(moving)
        self._staying = [(position, view) for position, view in enumerate(snapshot.nodes) if not view.is_leaving]
        self._alike = Alike([view for _, view in self._staying])
        self._domains: dict[str, Domains] = {}
        self._rare: dict[str, Mapping[str, int]] = {}
        self._tallies: dict[tuple[GroupKind, SpreadTerm | AffinityTerm], Tally] = {}
        self._brought: dict[Constraints, Brought] = {}
        self._keeping_away: dict[PodGroup, tuple[Tally, ...]] = {}
        self._selected: dict[PodSelector, frozenset[PodGroup]] = {}
        self._selects: dict[tuple[PodSelector, PodGroup], bool] = {}

    # What there is

    def domains(self, key: str) -> Domains:
        """Every value of ``key`` that a node may have, now or after a launch."""
        found = self._domains.get(key)
        if found is None:
            values = self._sold(key) | self._only_standing(key).keys()
            found = self._domains[key] = Domains(() if key == labels.HOSTNAME else values)
        return found

    def loses_a_domain(self, gone: Gone) -> bool:
        """Whether some value of a label that terms ask about is there on these nodes alone."""
        for key in self._domains if gone else ():
            rare = self._only_standing(key)
            if rare:
                views = (self._snapshot.nodes[position] for position in gone)
                left = Counter(view.labels.get(key) for view in views if not view.is_leaving)
                if any(value is not None and rare.get(value) == count for value, count in left.items()):
                    return True
        return False

    def _standing(self, key: str) -> Counter[str]:
        """How many nodes have each value of a label."""
        return Counter(view.labels[key] for _, view in self._staying if key in view.labels)

    def _sold(self, key: str) -> frozenset[str]:
        """The values of a label that new nodes may have."""
        return frozenset(value for template in self._templates for value in _values(template, key))

    def _only_standing(self, key: str) -> Mapping[str, int]:
        """How many nodes have each value of a label that new nodes will not have."""
        found = self._rare.get(key)
        if found is None:
            sold = self._sold(key)
            counts = {} if key == labels.HOSTNAME else self._standing(key)
            found = self._rare[key] = {value: count for value, count in counts.items() if value not in sold}
        return found

    # Terms

    def brought_by(self, constraints: Constraints) -> Brought:
        """What pods of these constraints bring."""
        found = self._brought.get(constraints)
        if found is None:
            spreads = (*constraints.spread, *constraints.soft_spread)
            affinities = (*constraints.affinity, *constraints.soft_affinity)
            antis = (*constraints.anti_affinity, *constraints.soft_anti_affinity)
            owned = [self.tally(GroupKind.SPREAD, term) for term in spreads]
            owned += [self.tally(GroupKind.AFFINITY, term) for term in affinities]
            owned += [self.tally(GroupKind.ANTI_AFFINITY, term) for term in antis]
            required = constraints.anti_affinity
            found = self._brought[constraints] = Brought(
                owned=tuple(dict.fromkeys(owned)),
                keeping_away=tuple(self.tally(GroupKind.INVERSE, term) for term in required),
                settling=tuple(self.tally(GroupKind.ANTI_AFFINITY, term) for term in required),
            )
        return found

    def tally(self, kind: GroupKind, term: SpreadTerm | AffinityTerm) -> Tally:
        """A term with all that it counts."""
        found = self._tallies.get((kind, term))
        if found is None:
            found = self._tallies[kind, term] = self._new_tally(kind, term)
            found.selected = self._selected_by(term.selector)
            if kind is GroupKind.INVERSE:
                for position, _ in self._apart.get(term, ()):
                    found.record(position, self._snapshot.nodes[position], 1)
            else:
                self._count(found)
        return found

    def _new_tally(self, kind: GroupKind, term: SpreadTerm | AffinityTerm) -> Tally:
        """The domains that exist for a term: reachable by a pool, or there already on a node that counts for it."""
        domains = self.domains(term.key)
        found = Tally(kind, term, domains, domains.all)
        if isinstance(term, SpreadTerm) and not found.is_host:
            sold = {v for t in self._templates if _bears(term, t.taints) for v in _values(t, term.key)}
            by_pools = sum(1 << domains.index[name] for name in sold if name in domains.index)
            standing_at: dict[int, int] = {}
            probe = Group(GroupKind.SPREAD, term, domains, 0)
            for alike in self._alike.by(frozenset((term.key, *(key for wanted in term.nodes for key in wanted)))):
                view = self._staying[alike[0]][1]
                bit = found.bit(view)
                if bit is None or by_pools >> bit & 1:
                    continue
                if probe.counts_node(view.requirements, view.taints, frozenset()):
                    standing_at.update((self._staying[place][0], bit) for place in alike)
            found.standing_at, found.standing = standing_at, Counter(standing_at.values())
            found.universe = by_pools | sum(1 << bit for bit in found.standing)
        return found

    def _count(self, tally: Tally) -> None:
        """Count the pods that run already."""
        probe = Group(tally.kind, tally.term, tally.domains, 0)
        nodes = self._snapshot.nodes
        passing: dict[int, bool] = {}
        for pods in tally.selected:
            for position, count in self._groups[pods]:
                if position not in passing:
                    view = nodes[position]
                    passing[position] = probe.counts_node(view.requirements, view.taints, frozenset())
                if passing[position]:
                    tally.record(position, nodes[position], count)

    def _selected_by(self, selector: PodSelector) -> frozenset[PodGroup]:
        """Those of the pods that run that a selector is about."""
        found = self._selected.get(selector)
        if found is None:
            inside = (pods for namespace in selector.namespaces for pods in self._by_namespace.get(namespace, ()))
            found = frozenset(pods for pods in inside if selector.selects(pods[0], dict(pods[1])))
            self._selected[selector] = found
        return found

    def selects(self, tally: Tally, pods: PodGroup) -> bool:
        """Whether a term is about such pods."""
        if pods in self._groups:
            return pods in tally.selected
        selector = tally.term.selector
        known = self._selects.get((selector, pods))
        if known is None:
            known = self._selects[selector, pods] = selector.selects(pods[0], dict(pods[1]))
        return known

    # Who runs

    @functools.cached_property
    def _running(self) -> Sequence[Running]:
        return tuple(running(self._snapshot.nodes, self._moving))

    @functools.cached_property
    def _groups(self) -> Mapping[PodGroup, Sequence[tuple[int, int]]]:
        """By what selectors see of pods: the positions of their nodes, each with how many there are."""
        found: dict[PodGroup, list[tuple[int, int]]] = {}
        for position, node in enumerate(self._running):
            for pods, count in node.groups.items():
                found.setdefault(pods, []).append((position, count))
        return found

    @functools.cached_property
    def _by_namespace(self) -> Mapping[str, Sequence[PodGroup]]:
        found: dict[str, list[PodGroup]] = {}
        for pods in self._groups:
            found.setdefault(pods[0], []).append(pods)
        return found

    @functools.cached_property
    def _apart(self) -> Mapping[SpreadTerm | AffinityTerm, Sequence[tuple[int, int]]]:
        """The anti-affinities of pods that run, in the order in which they are met: where each is, and at which turn."""
        met: dict[tuple[int, PodGroup], Sequence[list[tuple[int, int]]]] = {}
        known: dict[tuple[bytes, PodGroup], Sequence[list[tuple[int, int]]]] = {}
        found: dict[SpreadTerm | AffinityTerm, list[tuple[int, int]]] = {}
        turn = 0
        for position, node in enumerate(self._running):
            for pod in node.keeping_apart:
                # Pods of one workload share what they ask for, or at least ask for the same.
                own = (id(pod.spec.affinity), pod.group)
                if own not in met:
                    key = (msgspec.msgpack.encode(pod.spec.affinity, order="sorted"), pod.group)
                    if key not in known:
                        terms = kept_apart(pod, self._snapshot.namespaces).anti_affinity
                        known[key] = [found.setdefault(term, []) for term in terms]
                    met[own] = known[key]
                for at in met[own]:
                    at.append((position, turn))
                    turn += 1
        return found

    @functools.cached_property
    def _inverse(self) -> Sequence[Tally]:
        return tuple(self.tally(GroupKind.INVERSE, term) for term in self._apart)

    def keeps_apart(self, gone: Gone) -> bool:
        """Whether any pod that runs elsewhere keeps others away."""
        return any(position not in gone for at in self._apart.values() for position, _ in at)

    def keeping_away(self, pods: PodGroup, gone: Gone) -> Sequence[Tally]:
        """What, of pods that run, keeps such pods away: in the order in which it is met, node by node."""
        found = self._keeping_away.get(pods)
        if found is None:
            found = tuple(tally for tally in self._inverse if self.selects(tally, pods))
            self._keeping_away[pods] = found
        if not gone or not found:
            return found
        turns = []
        for tally in found:
            at = self._apart[tally.term]
            turn = next((turn for position, turn in at if position not in gone), None)
            if turn is not None:
                turns.append((turn, tally))
        turns.sort(key=lambda entry: entry[0])
        return [tally for _, tally in turns]


def _bears(term: SpreadTerm, taints: Sequence[Taint]) -> bool:
    return term.tolerations is None or untolerated(taints, term.tolerations) is None


def _values(template: Template, key: str) -> Iterable[str]:
    """The values of ``key`` that new nodes of a pool may have."""
    own = template.requirements.get(key)
    for held in template.columns.requirements_on(key):
        both = held if own is None else held & own
        if not both.complement:
            yield from both.values
    if own is not None and not own.complement:
        yield from own.values

"""Whatever keeps a pod out: what an explanation blames excludes the pod, none of it can be spared, and what it suggests helps.

The constraints of a case are generated one by one here, so that the test can build the same cluster with any subset of them and
ask for a new plan. Nothing of the code that finds explanations takes part in that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import attrs
from hypothesis import event, given, settings
from hypothesis import strategies as st

from karpy import labels
from karpy.scheduling.explain.conflict import Question
from karpy.scheduling.explain.explain import question_of
from karpy.scheduling.explain.explanation import ConstraintKind, Explanation
from karpy.scheduling.explain.units import Unit
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_node, make_nodepool, make_pod, selector
from tests.properties.test_plans import clusters

Json = dict[str, Any]
Kind = ConstraintKind


@attrs.frozen
class Piece:
    """One constraint of the pod, or of a pool: what it is called in an explanation, and what it adds to a manifest."""

    kind: Kind
    owner: str
    value: tuple[Any, ...]


SELECTED = st.sampled_from(
    (
        (labels.ARCH, "amd64"),
        (labels.ARCH, "arm64"),
        (labels.ZONE, "zone-b"),
        (labels.ZONE, "zone-x"),
        (labels.CAPACITY_TYPE, "spot"),
        ("team", "a"),
        ("team", "b"),
    )
)
WANTED = st.sampled_from(
    (
        (labels.ARCH, "NotIn", "arm64"),
        (labels.ZONE, "In", "zone-a", "zone-c"),
        (labels.INSTANCE_TYPE, "NotIn", "a16", "c16"),
        (labels.INSTANCE_TYPE, "In", "a8", "c8"),
        ("team", "Exists"),
        ("team", "DoesNotExist"),
        ("team", "NotIn", "a"),
    )
)
REQUESTED = st.sampled_from(
    (("cpu", "3"), ("cpu", "9"), ("cpu", "17"), ("memory", "7Gi"), ("memory", "70Gi"), ("x/y", "1"))
)
TAINTS = st.sampled_from((("gpu", "NoSchedule"), ("gpu", "NoExecute"), ("own", "NoSchedule")))
POOL_WANTED = st.sampled_from(
    (
        (labels.ARCH, "In", "amd64"),
        (labels.ARCH, "In", "mips"),
        (labels.ZONE, "NotIn", "zone-b"),
        (labels.CAPACITY_TYPE, "In", "on-demand"),
        (labels.INSTANCE_TYPE, "NotIn", "a16", "c16"),
        ("team", "In", "a", "c"),
        ("team", "NotIn", "b"),
    )
)
LIMITS = st.sampled_from((("cpu", "4"), ("cpu", "8"), ("memory", "12Gi"), ("nodes", "0"), ("nodes", "1")))


def _unique(pieces: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(pieces, max_size=most, unique_by=lambda piece: piece[0])


@st.composite
def cases(draw: st.DrawFn) -> list[Piece]:
    found = [Piece(Kind.NODE_SELECTOR, "pod", value) for value in draw(_unique(SELECTED, 3))]
    found += [Piece(Kind.NODE_AFFINITY, "pod", value) for value in draw(_unique(WANTED, 2))]
    found += [Piece(Kind.REQUEST, "pod", value) for value in draw(_unique(REQUESTED, 3))]
    for pool in ("a", "b")[: draw(st.integers(1, 2))]:
        owner = f'nodepool "{pool}"'
        found += [Piece(Kind.TAINT, owner, value) for value in draw(_unique(TAINTS, 1))]
        found += [Piece(Kind.POOL_REQUIREMENT, owner, value) for value in draw(_unique(POOL_WANTED, 2))]
        found += [Piece(Kind.POOL_LIMIT, owner, value) for value in draw(_unique(LIMITS, 1))]
        found.append(Piece(Kind.POOL_LABEL, owner, ()))
    return found


def _of(pieces: Iterable[Piece], kind: Kind, owner: str = "pod") -> list[tuple[Any, ...]]:
    return [piece.value for piece in pieces if (piece.kind, piece.owner) == (kind, owner)]


def _pod(pieces: list[Piece]) -> Json:
    terms = [selector(*value) for value in _of(pieces, Kind.NODE_AFFINITY)]
    required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    spec: Json = {"nodeSelector": dict(_of(pieces, Kind.NODE_SELECTOR))}
    if terms:
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return make_pod(requests=dict(_of(pieces, Kind.REQUEST)), spec=spec)


def _pool(name: str, pieces: list[Piece]) -> Json:
    owner = f'nodepool "{name}"'
    return make_nodepool(
        name,
        requirements=[selector(*value) for value in _of(pieces, Kind.POOL_REQUIREMENT, owner)],
        taints=[{"key": key, "effect": effect} for key, effect in _of(pieces, Kind.TAINT, owner)],
        limits=dict(_of(pieces, Kind.POOL_LIMIT, owner)) or None,
        labels=dict(value for value in _of(pieces, Kind.POOL_LABEL, owner) if value),
    )


def _plan(pieces: list[Piece]) -> Plan:
    pools = sorted({piece.owner for piece in pieces if piece.kind is Kind.POOL_LABEL})
    snapshot = Snapshot.from_objects([*(_pool(owner[-2], pieces) for owner in pools), _pod(pieces)])
    return solve(snapshot, make_catalog(snapshot))


def _told(piece: Piece) -> Callable[[str], bool]:
    """Whether a text is about this piece."""
    if piece.kind is Kind.NODE_AFFINITY:
        return lambda text: text.startswith(f"required node affinity {piece.value[0]} {piece.value[1]}")
    words = {
        Kind.NODE_SELECTOR: lambda v: f"nodeSelector {v[0]}: {v[1]}",
        Kind.REQUEST: lambda v: f"request of {v[1]} {v[0]}",
        Kind.TAINT: lambda v: f"taint {v[0]}:{v[1]}, which the pod does not tolerate",
        Kind.POOL_REQUIREMENT: lambda v: f"requirement {v[0]} {v[1]} [{' '.join(sorted(v[2:]))}]",
        Kind.POOL_LIMIT: lambda v: f"limit of {v[1]} {v[0]}",
    }
    return lambda text: text == words[piece.kind](piece.value)


def _named(explanation: Explanation, pieces: list[Piece]) -> list[list[Piece]]:
    """For each constraint of the conflict the pieces that it stands for: a taint of two pools is one constraint."""
    found = []
    for constraint in explanation.conflict:
        same = [
            piece
            for piece in pieces
            if piece.kind is constraint.kind and piece.owner in constraint.owner and _told(piece)(constraint.text)
        ]
        assert same, f"{constraint} is none of the constraints of this case"
        found.append(same)
    return found


def _is_asked_for(piece: Piece, pieces: list[Piece]) -> bool:
    """Whether the pod needs a label that only this piece's pool gives it: without the piece the pool has some other value."""
    wishes = (*_of(pieces, Kind.NODE_SELECTOR), *_of(pieces, Kind.NODE_AFFINITY))
    positive = {value[0] for value in wishes if value[1] not in ("NotIn", "DoesNotExist")}
    return piece.kind is Kind.POOL_REQUIREMENT and piece.value[0] == "team" and "team" in positive


def _with_only(kept: list[Piece], pieces: list[Piece]) -> list[Piece]:
    held = [piece for piece in pieces if piece in kept or piece.kind is Kind.POOL_LABEL]
    opened = [
        attrs.evolve(piece, value=(piece.value[0], "Exists"))
        for piece in pieces
        if piece not in held and _is_asked_for(piece, pieces)
    ]
    return held + opened


@settings(max_examples=150, deadline=None)
@given(cases())
def test_a_conflict_excludes_the_pod_and_none_of_it_can_be_spared(pieces: list[Piece]) -> None:
    plan = _plan(pieces)
    if plan.placed:
        return
    explanation = plan.explain("default/pod")
    event(f"a conflict of {len(explanation.conflict)}, and {len(explanation.also)} more")
    named = _named(explanation, pieces)
    everything = [piece for same in named for piece in same]
    assert explanation.conflict, str(explanation)
    assert not _plan(_with_only(everything, pieces)).placed, str(explanation)
    for same in named:
        rest = [piece for piece in everything if piece not in same]
        assert _plan(_with_only(rest, pieces)).placed, f"{same} could be spared: {explanation}"
    assert explanation.nearest, str(explanation)
    for miss in explanation.nearest:
        changed = pieces
        for change in miss.changes:
            changed = _changed(changed, change)
        assert _plan(changed).placed, f"{miss} does not help: {explanation}"


def _changed(pieces: list[Piece], change: str) -> list[Piece]:
    """The case after a change that is known by its words alone."""
    for pattern, make in CHANGES.items():
        found = re.fullmatch(pattern, change)
        if found is not None:
            gone, new = make(*found.groups())
            kept = [piece for piece in pieces if not gone(piece)]
            old = next(piece for piece in pieces if gone(piece))
            return kept if new is None else [*kept, attrs.evolve(old, value=new(old))]
    raise AssertionError(f"nobody knows what {change!r} means")


def _about(kind: Kind, key: str, pool: str = "") -> Callable[[Piece], bool]:
    owner = f'nodepool "{pool}"' if pool else "pod"
    return lambda piece: (piece.kind, piece.owner) == (kind, owner) and piece.value[0] == key


CHANGES: dict[str, Callable[..., tuple[Callable[[Piece], bool], Callable[[Piece], tuple[Any, ...]] | None]]] = {
    r"a request of at most (\S+) (\S+) \(.*\)": lambda most, name: (
        _about(Kind.REQUEST, name),
        lambda _piece: (name, most),
    ),
    r"no request of (\S+)": lambda name: (_about(Kind.REQUEST, name), None),
    r"nodeSelector (\S+): (\S+)(?: or .*)?": lambda key, value: (
        _about(Kind.NODE_SELECTOR, key),
        lambda _piece: (key, value),
    ),
    r"no nodeSelector (\S+)": lambda key: (_about(Kind.NODE_SELECTOR, key), None),
    r"node affinity (\S+) In (\S+)(?: or .*)?": lambda key, value: (
        _about(Kind.NODE_AFFINITY, key),
        lambda _piece: (key, "In", value),
    ),
    r"no required node affinity on (\S+)": lambda key: (_about(Kind.NODE_AFFINITY, key), None),
    r"the toleration {key: (\S+), operator: Exists, effect: (\S+)}": lambda key, effect: (
        lambda piece: piece.kind is Kind.TAINT and piece.value == (key, effect),
        None,
    ),
    r'.* more of the (\S+) limit of nodepool "(.)" \(a limit of (\S+)\)': lambda name, pool, most: (
        _about(Kind.POOL_LIMIT, name, pool),
        lambda _piece: (name, most),
    ),
    r'nodepool "(.)" allowing (\S+) (\S+)': lambda pool, key, value: (
        _about(Kind.POOL_REQUIREMENT, key, pool),
        lambda piece: (*piece.value, value),
    ),
    r'label (\S+): (\S+) on nodepool "(.)"': lambda key, value, pool: (
        lambda piece: piece.kind is Kind.POOL_LABEL and piece.owner == f'nodepool "{pool}"',
        lambda _piece: (key, value),
    ),
    r'nodepool "(.)" requiring no more than that (\S+) exists': lambda pool, key: (
        _about(Kind.POOL_REQUIREMENT, key, pool),
        lambda _piece: (key, "Exists"),
    ),
    r'nodepool "(.)" without its requirement on (\S+)': lambda pool, key: (
        _about(Kind.POOL_REQUIREMENT, key, pool),
        None,
    ),
}


SPREAD = st.builds(
    lambda key, skew, least: {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        **({"minDomains": least} if least else {}),
    },
    st.sampled_from((labels.ZONE, labels.HOSTNAME, labels.CAPACITY_TYPE)),
    st.integers(1, 2),
    st.sampled_from((None, None, 2, 5)),
)
TERM = st.builds(
    lambda key, app: {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}},
    st.sampled_from((labels.ZONE, labels.HOSTNAME)),
    st.sampled_from(("x", "y")),
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@st.composite
def sociable_pods(draw: st.DrawFn, name: str, **placed: Any) -> Json:
    kind = draw(st.sampled_from(("podAffinity", "podAntiAffinity", "podAntiAffinity")))
    terms = draw(st.lists(TERM, max_size=1))
    spec = {
        "nodeSelector": dict(draw(_unique(SELECTED, 1))),
        "topologySpreadConstraints": draw(st.lists(SPREAD, max_size=2)),
        "affinity": {kind: {REQUIRED: terms}} if terms else {},
        "tolerations": draw(st.sampled_from(([], [{"operator": "Exists"}]))),
    }
    return make_pod(
        name,
        labels={"app": draw(st.sampled_from(("x", "y")))},
        requests=dict([draw(REQUESTED)]),
        spec=spec,
        **placed,
    )


@st.composite
def crowds(draw: st.DrawFn) -> list[Json]:
    """A few nodes with pods on them, a pool or two, and pods that want to be near or far from one another."""
    objects: list[Json] = []
    for number in range(draw(st.integers(0, 4))):
        where = {labels.ZONE: draw(st.sampled_from(("zone-a", "zone-b", "zone-d")))}
        taints = draw(st.sampled_from(([], [], [{"key": "gpu", "effect": "NoSchedule"}])))
        room = {"cpu": draw(st.sampled_from(("4", "12", "20"))), "memory": "80Gi", "pods": "9"}
        objects.append(make_node(f"n{number}", labels=where, taints=taints, room=room))
        if draw(st.booleans()):
            objects.append(draw(sociable_pods(f"r{number}", node=f"n{number}")))
    for name in ("a", "b")[: draw(st.integers(0, 2))]:
        wanted = [selector(*value) for value in draw(_unique(POOL_WANTED, 1))]
        limits = dict(draw(_unique(LIMITS, 1))) or None
        taints = [{"key": key, "effect": effect} for key, effect in draw(_unique(TAINTS, 1))]
        objects.append(make_nodepool(name, requirements=wanted, limits=limits, taints=taints))
    return objects + [draw(sociable_pods(f"p{number}")) for number in range(draw(st.integers(1, 4)))]


@settings(max_examples=60, deadline=None)
@given(st.one_of(clusters(), crowds()))
def test_conflicts_among_nodes_planned_machines_and_other_pods_are_minimal_too(objects: list[Json]) -> None:
    snapshot = Snapshot.from_objects(objects)
    plan = solve(snapshot, make_catalog(snapshot))
    assert plan.aftermath is not None
    for part in plan.unschedulable:
        explanation = plan.explain(part.pods[0])
        question = question_of(plan.aftermath, part.pods[0])
        blamed = [unit for unit in question.units if unit.constraint in explanation.conflict]
        if not blamed:
            event("nobody is to blame")
            assert question.place(()) is None or question.case.place() is not None, str(explanation)
            continue
        event(" and ".join(sorted(unit.constraint.kind.value for unit in blamed)))
        _check_minimal(question, blamed)
        assert explanation.nearest, str(explanation)


def _check_minimal(question: Question, blamed: list[Unit]) -> None:
    assert question.keeping(blamed).place() is None
    for unit in blamed:
        assert question.keeping([other for other in blamed if other is not unit]).place() is not None


@settings(max_examples=60, deadline=None)
@given(crowds(), st.data())
def test_looking_only_at_what_matters_to_a_pod_changes_no_answer(objects: list[Json], data: st.DataObject) -> None:
    snapshot = Snapshot.from_objects(objects)
    plan = solve(snapshot, make_catalog(snapshot))
    assert plan.aftermath is not None
    for part in plan.unschedulable:
        question = question_of(plan.aftermath, part.pods[0])
        kept = data.draw(st.lists(st.sampled_from(question.units), unique=True)) if question.units else []
        case = question.keeping(kept)
        whole = attrs.evolve(case, aftermath=plan.aftermath)
        assert (case.place() is None) == (whole.place() is None)

"""Drift modes: replaced, told of, or tried on a few first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.clock import format_time
from karpy.disruption.command import Method
from karpy.disruption.driftmodes import WAVE, DriftState, Stage, drift_state, new_wave
from karpy.disruption.memory import FAILURE
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import NotWanted, Quarantined
from karpy.objects.nodepool import NodePool
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_machine, make_nodepool, make_pod

HOUR = 3600.0
NOW = START + 12 * HOUR
CANARY = {"drift-mode": "Canary", "drift-canaries": "2", "drift-bake": "30m"}

Json = dict[str, Any]


def machine(
    name: str, *, drifted: bool = False, created: float = START, well_since: float | None = START, failed: float = 0
) -> list[Json]:
    """``well_since`` None: it is not initialized yet."""
    conditions = [make_condition("Drifted", NOW - HOUR)] if drifted else []
    claim, node = make_machine(name, conditions=conditions)
    claim["metadata"]["creationTimestamp"] = format_time(created)
    for condition in claim["status"]["conditions"]:
        if condition["type"] == "Initialized":
            condition["status"] = "False" if well_since is None else "True"
            condition["lastTransitionTime"] = format_time(well_since or created)
    if failed:
        text = f'{{"at":"{format_time(failed)}","times":1}}'
        claim["metadata"]["annotations"] = {FAILURE: text}
    return [claim, node]


def unready(parts: list[Json]) -> list[Json]:
    parts[1]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return parts


def snapshot_of(*machines: list[Json], wave: Mapping[str, str | None] | None = None, **rules: str) -> Snapshot:
    pool = make_nodepool("default", disruption={"budgets": [{"nodes": "100%"}]})
    annotations = {f"karpy.dev/{key}": value for key, value in rules.items()}
    annotations |= {labels.NODEPOOL_HASH: "1", **{key: value for key, value in (wave or {}).items() if value}}
    pool["metadata"]["annotations"] = annotations
    pods = [make_pod(f"p-{parts[0]['metadata']['name']}", node=parts[0]["metadata"]["name"]) for parts in machines]
    return Snapshot.from_objects([pool, *(part for parts in machines for part in parts), *pods])


def state(*machines: list[Json], now: float = NOW, **more: Any) -> DriftState:
    snapshot = snapshot_of(*machines, **more)
    return drift_state(snapshot.pools[0], snapshot.nodes, now)


def begun(at: float, template: str = "1") -> dict[str, str | None]:
    """The annotation of a wave that began then."""
    snapshot = snapshot_of(machine("old", drifted=True), **CANARY)
    pool = snapshot.pools[0]
    marks = {**(pool.metadata.annotations or {}), labels.NODEPOOL_HASH: template}
    pool = attrs.evolve(
        pool, metadata=NodePool.from_dict({"metadata": {"name": "default", "annotations": marks}}).metadata
    )
    return dict(new_wave(pool, snapshot.nodes, at))


OLD = [machine("a", drifted=True), machine("b", drifted=True), machine("c", drifted=True)]


def test_without_a_mode_all_of_them_may_go() -> None:
    assert state(*OLD) == DriftState()
    assert state(*OLD).verdict(100) is None


def test_in_mode_report_none_goes() -> None:
    found = state(*OLD, **{"drift-mode": "Report"}).verdict(0)
    assert found == NotWanted('NodePool "default" only tells of drift (karpy.dev/drift-mode)')


def test_nothing_goes_before_the_wave_is_noted() -> None:
    found = state(*OLD, **CANARY)
    assert (found.stage, found.left) == (Stage.BEGINNING, 0)
    assert isinstance(found.verdict(0), Quarantined)


def test_then_the_canaries_go() -> None:
    found = state(*OLD, wave=begun(NOW), **CANARY)
    assert (found.stage, found.left) == (Stage.BAKING, 2)
    assert found.verdict(1) is None
    assert isinstance(found.verdict(2), Quarantined)


def test_each_new_node_counts_from_its_creation() -> None:
    """Whatever it was launched for: it is as the pool wants it now."""
    wave = begun(NOW - 60)
    assert state(*OLD, machine("d", created=NOW - 30, well_since=None), wave=wave, **CANARY).left == 1
    two = [machine(name, created=NOW - 30, well_since=None) for name in "de"]
    assert state(*OLD, *two, wave=wave, **CANARY).left == 0
    assert state(*OLD, machine("d", created=NOW - 90), wave=wave, **CANARY).left == 2


def test_when_they_have_done_well_for_long_enough_the_others_follow() -> None:
    wave = begun(NOW - HOUR)
    new = [machine(name, created=NOW - HOUR, well_since=NOW - 1500) for name in "de"]
    early = state(*OLD, *new, wave=wave, **CANARY)
    assert (early.stage, early.left, early.until) == (Stage.BAKING, 0, NOW + 300)
    assert early.text == "0 of 2 new nodes have done well for 30 min"
    late = state(*OLD, *new, wave=wave, now=NOW + 300, **CANARY)
    assert late.stage is Stage.PASSED
    assert late.verdict(100) is None


def test_a_new_node_that_is_not_ready_holds_the_others_up() -> None:
    wave = begun(NOW - HOUR)
    new = [machine("d", created=NOW - HOUR), unready(machine("e", created=NOW - HOUR))]
    found = state(*OLD, *new, wave=wave, **CANARY)
    assert (found.stage, found.left) == (Stage.BAKING, 0)


def test_a_replacement_that_does_not_come_stops_the_wave() -> None:
    failing = machine("a", drifted=True, failed=NOW - 60)
    found = state(failing, *OLD[1:], wave=begun(NOW - HOUR), **CANARY)
    assert (found.stage, found.left) == (Stage.FAILED, 0)
    assert found.text.startswith("The replacement of a did not come")
    # One that failed before is of another wave.
    assert state(failing, *OLD[1:], wave=begun(NOW - 30), **CANARY).stage is Stage.BAKING


@pytest.mark.parametrize(
    "change",
    [
        {"wave": begun(NOW - HOUR, template="0")},
        {"wave": {WAVE: "noon"}},
        {"wave": {WAVE: '{"began":"noon","template":"1"}'}},
    ],
)
def test_a_pool_that_was_changed_begins_anew(change: dict[str, Any]) -> None:
    assert state(*OLD, **change, **CANARY).stage is Stage.BEGINNING


def test_so_does_one_whose_new_nodes_drift() -> None:
    wave = begun(NOW - HOUR)
    assert state(*OLD, machine("d", created=NOW - 60, drifted=True), wave=wave, **CANARY).stage is Stage.BEGINNING


def test_a_wave_is_noted_when_it_begins_and_struck_off_when_it_is_over() -> None:
    snapshot = snapshot_of(*OLD, **CANARY)
    noted = new_wave(snapshot.pools[0], snapshot.nodes, NOW)
    assert set(noted) == {WAVE}
    again = snapshot_of(*OLD, wave=noted, **CANARY)
    assert new_wave(again.pools[0], again.nodes, NOW + 60) == {}
    over = snapshot_of(machine("d"), wave=noted, **CANARY)
    assert new_wave(over.pools[0], over.nodes, NOW + 60) == {WAVE: None}
    assert new_wave(snapshot_of(machine("d"), **CANARY).pools[0], (), NOW) == {}


@pytest.mark.parametrize("method", [Method.DRIFT, Method.STATIC_DRIFT])
def test_a_pass_takes_no_more_canaries_than_there_are_to_be(method: Method) -> None:
    snapshot = snapshot_of(*OLD, wave=begun(NOW), **CANARY)
    scene = Scene(snapshot, make_catalog(snapshot), now=NOW)
    taken = []
    for candidate in scene.candidates(method):
        if scene.is_allowed(candidate, method):
            scene.spend(candidate, method)
            taken.append(candidate.view.name)
    assert taken == ["a", "b"]
    assert isinstance(scene.docket.of("c")[method], Quarantined)
    assert scene.is_allowed(scene.all_candidates[2], Method.SINGLE_NODE)  # consolidation goes on

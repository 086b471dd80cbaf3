from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karpy.cli.app import run
from karpy.cli.hosting import build_world
from karpy.scenarios.catalogue import scenario_names
from karpy.settings import Settings

Captured = pytest.CaptureFixture[str]
SEEDS = ("eks-v0.25.0", "eks-v0.5.3", "aks-v0.5.1", "aks-nap")


def played(capsys: Captured, *options: str) -> str:
    assert run(["demo", "--speed", "max", *options]) == 0
    return capsys.readouterr().out


def story(capsys: Captured, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in played(capsys, "-o", "json", *options).splitlines()]


@pytest.mark.parametrize("scenario", scenario_names())
def test_every_scenario_ends_with_all_pods_served_and_no_machine_left(capsys: Captured, scenario: str) -> None:
    *events, summary = story(capsys, "--scenario", scenario)
    assert summary["event"] == "summary"
    assert summary["reachedEnd"]
    assert (summary["podsPending"], summary["nodesLeft"], summary["instancesLeft"]) == (0, 0, 0)
    assert summary["launches"] >= 2
    assert summary["cost"] > 0
    assert not [event for event in events if event["event"] == "unschedulable"]
    running = sum(event["count"] for event in events if event["event"] == "pods-running")
    assert running >= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_the_guides_manifests_run_unchanged(capsys: Captured, shared: Path, seed: str) -> None:
    *_, summary = story(capsys, "--scenario", str(shared / f"data/seeds/{seed}.yaml"))
    assert summary["reachedEnd"]
    assert summary["podsPending"] == 0
    # This one neither consolidates nor has a time for empty nodes, and so keeps what it launched.
    keeps = seed == "eks-v0.25.0"
    assert summary["instancesLeft"] == (summary["launches"] if keeps else 0)


def test_replicas_go_up_and_down(capsys: Captured) -> None:
    scaled = [event["replicas"] for event in story(capsys) if event["event"] == "scale"]
    assert scaled == [5, 40, 3, 0]


def test_a_launch_says_what_was_considered_and_why_this_was_chosen(capsys: Captured) -> None:
    first = next(event for event in story(capsys) if event["event"] == "launch-decided")
    assert first["considered"] > first["feasible"] > 0
    assert first["chosen"] in first["text"]
    assert first["pods"] == sorted(first["pods"])
    assert first["count"] == len(first["pods"]) == 5


def test_the_same_seed_gives_the_same_bytes_at_any_speed(capsys: Captured) -> None:
    at_full_speed = played(capsys, "-o", "json", "--seed", "7")
    assert played(capsys, "-o", "json", "--seed", "7") == at_full_speed
    assert run(["demo", "--speed", "5000", "-o", "json", "--seed", "7"]) == 0
    assert capsys.readouterr().out == at_full_speed


def test_other_seeds_give_other_runs(capsys: Captured) -> None:
    assert played(capsys, "-o", "json", "--seed", "1") != played(capsys, "-o", "json", "--seed", "2")


def test_events_come_in_the_order_of_time(capsys: Captured) -> None:
    times = [event["seconds"] for event in story(capsys) if "seconds" in event]
    assert times == sorted(times)


def test_until_stops_the_run_early(capsys: Captured) -> None:
    *_, summary = story(capsys, "--until", "1m")
    assert summary["virtualSeconds"] == 60
    assert not summary["reachedEnd"]
    assert summary["podsRunning"] == 5


def test_without_a_terminal_there_are_plain_lines_and_a_summary(capsys: Captured) -> None:
    lines = played(capsys).splitlines()
    assert lines[0].split()[:2] == ["00:05", "scale"]
    assert "eks, seed 0: " in lines[-5]
    assert not [line for line in lines if "\x1b" in line]


def test_manifests_without_a_deployment_get_one_and_it_is_said(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing}\n")
    events = story(capsys, "--scenario", str(path))
    assert events[0]["event"] == "note"
    assert "inflate is added" in events[0]["text"]
    # There is no NodePool, so the pods wait, and the run ends all the same.
    assert any(event["event"] == "unschedulable" for event in events)
    assert events[-1]["launches"] == 0


def test_the_record_holds_the_same_story_as_the_json_output(capsys: Captured, tmp_path: Path) -> None:
    record = tmp_path / "story.jsonl"
    shown = played(capsys, "--seed", "3", "--record", str(record))
    assert not shown.startswith("{"), "what is shown stays as it is"
    assert record.read_text() == played(capsys, "--seed", "3", "-o", "json")


def test_a_record_that_cannot_be_written_is_bad_usage(capsys: Captured, tmp_path: Path) -> None:
    assert run(["demo", "--record", str(tmp_path / "none" / "x")]) == 2
    assert "--record" in capsys.readouterr().err


BUFFER = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
  template:
    spec:
      requirements: []
      nodeClassRef: {group: sim.karpy.dev, kind: SimNodeClass, name: default}
---
apiVersion: sim.karpy.dev/v1
kind: SimNodeClass
metadata: {name: default}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: chunk}
template:
  spec:
    containers: [{name: main, image: pause, resources: {requests: {cpu: "1"}}}]
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare}
spec: {podTemplateRef: {name: chunk}, replicas: 2}
"""


@pytest.fixture
def buffer(tmp_path: Path) -> Path:
    path = tmp_path / "buffer.yaml"
    path.write_text(BUFFER)
    return path


def test_feature_gates_reach_the_controllers(capsys: Captured, buffer: Path) -> None:
    *_, plain = story(capsys, "--scenario", str(buffer))
    assert plain["instancesLeft"] == 0
    *_, kept = story(capsys, "--scenario", str(buffer), "--feature-gates", "CapacityBuffer=true")
    assert kept["reachedEnd"]
    assert kept["instancesLeft"] > 0


def test_feature_gates_reach_the_controllers_of_a_served_cluster_too(buffer: Path) -> None:
    for settings, launches in ((Settings(), False), (Settings(capacity_buffer=True), True)):
        world = build_world([buffer], actors=True, autoscaler=settings)
        world.run(60)
        assert bool(world.cloud.machines) is launches

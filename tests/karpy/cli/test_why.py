"""``karpy why`` from the outside: things and files in, answers and exit statuses out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karpy.cli.app import run

Captured = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[3]
EXAMPLE = str(ROOT / "examples/01-solve.yaml")


@pytest.fixture
def vectors(shared: Path) -> str:
    return str(shared / "data/vectors/disruption/small.jsonl")


def answers(capsys: Captured, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
    assert run(["why", *arguments, "-o", "json"]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def complaint(capsys: Captured, *arguments: str) -> str:
    assert run(["why", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.removeprefix("karpy: ").rstrip("\n")


def test_a_pod_of_a_file_is_explained(capsys: Captured) -> None:
    assert run(["why", "pod/giant", "--from", EXAMPLE]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("pod/default/giant: it waits for a node\n")
    assert "  - pod: request of 1k cpu\n" in shown


@pytest.mark.parametrize("words", [["pod/giant"], ["Pods/giant"], ["po", "giant"], ["pod", "default/giant"]])
def test_things_are_named_as_for_kubectl(capsys: Captured, words: list[str]) -> None:
    (answer,) = answers(capsys, *words, "--from", EXAMPLE)
    assert answer["asked"] == "pod/default/giant"


def test_several_things_are_answered_one_after_another(capsys: Captured, vectors: str) -> None:
    found = answers(
        capsys, "node/node-0", "nodeclaim/node-1-claim", "nodepool/default", "--from", vectors, "--line", "24"
    )
    assert [answer["asked"] for answer in found] == ["node/node-0", "nodeclaim/node-1-claim", "nodepool/default"]
    assert run(["why", "node/node-0", "node/node-1", "--from", vectors, "--line", "24"]) == 0
    assert "\n\nnode/node-1 " in capsys.readouterr().out


def test_files_may_follow_as_a_shell_puts_them_there(capsys: Captured, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("{apiVersion: v1, kind: Pod, metadata: {name: late}, spec: {containers: [{name: c}]}}")
    (answer,) = answers(capsys, "pod/late", "--from", EXAMPLE, str(more))
    assert "gets a new node" in answer["explanation"]["summary"]


def test_a_time_may_be_given(capsys: Captured, tmp_path: Path) -> None:
    windows = tmp_path / "pool.yaml"
    windows.write_text(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: web}\nspec:\n"
        '  disruption: {budgets: [{nodes: "0", schedule: "0 9 * * mon-fri", duration: 8h}]}\n'
        "  template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}\n"
    )
    at_noon = answers(capsys, "nodepool/web", "--from", str(windows), "--at", "2026-11-20T12:00:00Z")[0]
    at_night = answers(capsys, "nodepool/web", "--from", str(windows), "--at", "2026-11-20T20:00:00Z")[0]
    assert "until 2026-11-20T17:00:00Z" in at_noon["budgets"][0]["text"]
    assert "until" not in at_night["budgets"][0]["text"].partition("next:")[0]
    assert at_night["at"] == "2026-11-20T20:00:00Z"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("pod/gaint", "--from", EXAMPLE), "pod/gaint: there is no such object in this cluster (accepted: pod/giant)"),
        (
            ("node/a", "--from", EXAMPLE),
            "node/a: there is no such object in this cluster (accepted: there is no Node at all)",
        ),
        (("deployment/web", "--from", EXAMPLE), "found 'deployment/web' (accepted: node/NAME, "),
        (("pod/giant", "--from", EXAMPLE, "--at", "noon"), "--at: 'noon' is not a time (accepted: "),
        (("pod/giant", "--from", EXAMPLE, "--line", "1"), "--line: no file holds one scenario a line"),
        (("pod/giant", "--from", EXAMPLE, "--kubeconfig", "x"), "--kubeconfig: is for a live cluster"),
        (("pod/giant", "--kubeconfig", "missing"), "missing"),
    ],
)
def test_what_cannot_be_answered_is_refused(capsys: Captured, arguments: tuple[str, ...], text: str) -> None:
    notes = [line for line in complaint(capsys, *arguments).splitlines() if "note: " not in line]
    assert text in notes[0]


def test_what_is_not_there_does_not_stop_the_others(capsys: Captured) -> None:
    missing, there = answers(capsys, "node/a", "pod/giant", "--from", EXAMPLE, status=2)
    assert missing["error"].startswith("node/a: there is no such object")
    assert there["asked"] == "pod/default/giant"


def test_nothing_to_ask_about_is_bad_usage(capsys: Captured) -> None:
    assert run(["why"]) == 2
    assert "TYPE/NAME" in capsys.readouterr().err

"""``karpy demo --cloud``: karpy's provider for a real cloud at work on what stands in for it."""

from __future__ import annotations

import json
import sys

import pytest

from karpy.cli.app import run

Captured = pytest.CaptureFixture[str]


def test_on_aws_the_story_and_its_summary_are_told_as_ever(capsys: Captured) -> None:
    pytest.importorskip("moto", reason="moto is not installed: pip install 'karpy[demo]'")
    assert run(["demo", "--cloud", "aws", "--speed", "max", "--until", "50s", "-o", "json"]) == 0
    *events, summary = map(json.loads, capsys.readouterr().out.splitlines())
    launched = next(event for event in events if event["event"] == "claim-launched")
    assert launched["instanceType"].startswith(("c", "m", "r"))
    assert (summary["event"], summary["scenario"], summary["virtualSeconds"]) == ("summary", "eks", 50)
    assert (summary["launches"], summary["instancesLeft"], summary["nodesLeft"], summary["podsRunning"]) == (1, 1, 1, 5)
    assert summary["cost"] > 0


def test_without_moto_it_is_said_what_to_install(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moto.server", None)
    assert run(["demo", "--cloud", "aws"]) == 2
    assert "stood in for by moto, which is not installed" in (told := capsys.readouterr().err)
    assert "pip install 'karpy[demo]'" in told

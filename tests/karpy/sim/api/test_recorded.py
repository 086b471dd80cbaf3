"""Requests that were sent to a real API server, sent to the embedded one: every answer must be the same, or be listed here."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from karpy.clock import SystemClock
from karpy.sim.api.wire.answers import Answer
from karpy.sim.api.wire.requests import Request
from karpy.sim.api.wire.rest import Rest
from karpy.sim.apiserver import ApiServer

SCENARIOS = (
    "discovery",
    "crud",
    "conflicts",
    "patches",
    "apply",
    "deletion",
    "lists",
    "watch",
    "crd",
    "pods",
    "defaults",
)

GO_TEXT = "the message prints a structure of the Go program"
KINDS = "the recorded server serves more kinds"
DIFFERENT: dict[tuple[str, int], str] = {
    ("discovery", 0): "another program answers",
    ("discovery", 4): "the address of the recorded server",
    ("discovery", 5): KINDS,
    ("discovery", 6): KINDS,
    ("discovery", 15): KINDS,
    ("discovery", 16): KINDS,
    ("discovery", 19): KINDS,
    ("crud", 22): GO_TEXT,
    ("conflicts", 9): "the message names resource versions, and ours are lower",
    ("patches", 16): GO_TEXT,
    ("crd", 2): "the establishing controller of the real server is a client of its own and owns the status",
    ("crd", 39): "the establishing controller of the real server is a client of its own and owns the status",
    ("pods", 7): GO_TEXT,
    ("pods", 17): "the recorded server calls itself mcp, as the owner of the budget's status",
    ("defaults", 11): "service addresses are given out in order",
    ("defaults", 19): GO_TEXT,
}
"""Answers that are not equal to the letter, and why."""


def _tool(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("recorder", shared / "tools" / "apiserver" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
    return module


def _filled(value: Any, memory: dict[str, str]) -> Any:
    if isinstance(value, str) and value.startswith("$") and value[1:] in memory:
        return memory[value[1:]]
    if isinstance(value, dict):
        return {key: _filled(member, memory) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled(item, memory) for item in value]
    return value


def _answers(tool: ModuleType, steps: list[dict]) -> Iterator[tuple[int, Any, str]]:
    rest = Rest(ApiServer(SystemClock()))
    namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}}).encode()
    rest.handle(Request("POST", "/api/v1/namespaces", {}, namespace, user_agent="recorder/1"))
    memory: dict[str, str] = {}
    for step in steps:
        sent = step.get("body")
        body = (
            b""
            if sent is None
            else sent.encode()
            if isinstance(sent, str)
            else json.dumps(_filled(sent, memory)).encode()
        )
        query = _filled(step.get("query", {}), memory)
        media = step.get("contentType", "")
        request = Request(step["method"], step["path"], query, body, media, step.get("accept", ""), "recorder/1")
        answer = rest.handle(request)
        normal = tool.Normal()
        if not isinstance(answer, Answer):
            yield 200, [normal(json.loads(line)) for line in answer.lines()], ""
            continue
        try:
            parsed = json.loads(answer.body)
        except ValueError:
            yield answer.code, answer.body.decode(), ""
            continue
        for name, path in step.get("keep", {}).items():
            memory[name] = tool.get(parsed, path) or ""
        warning = f'299 - "{answer.warnings[-1]}"'.replace('"unknown', '"unknown') if answer.warnings else ""
        yield answer.code, normal(parsed), warning


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_answers_are_those_of_a_real_server(scenario: str, shared: Path) -> None:
    tool = _tool(shared)
    path = shared / "data" / "vectors" / "apiserver" / f"{scenario}.jsonl"
    steps = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    unlike: list[str] = []
    for step, (code, answer, _) in zip(steps, _answers(tool, steps), strict=True):
        place = (scenario, step["step"])
        if code != step["status"]:
            unlike.append(f"{place} {step['path']}: status {code}, not {step['status']}")
        different = list(tool.differences(step["answer"], answer))
        if different and place not in DIFFERENT:
            unlike.append(f"{place} {step['path']}: {different[0]}")
        elif not different and place in DIFFERENT:
            unlike.append(f"{place} is equal now: take it off the list")
    assert unlike == []

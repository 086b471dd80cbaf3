"""Who acts is said once, where controllers are called, and not in every line that they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karpy.controllers.base import DONE, Request, Result, Source, by_name, singleton
from karpy.controllers.turns import InTurn, TurnKeys, acting
from karpy.errors import InternalError, InvalidObject, KubeError
from karpy.objects.kinds import NODE_CLAIM, POD


class Controller:
    """Does what it is told in its turn."""

    name = "nodeclaim.test"

    def __init__(self, act: Callable[[], object], *sources: Source) -> None:
        self._act = act
        self.sources = sources

    def reconcile(self, _request: Request) -> Result:
        self._act()
        return DONE


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def error(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))


def keys(request: Request, *sources: Source, line: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a line gets that is written in a turn."""
    written: list[Any] = []
    processor = TurnKeys(lambda: "an-id")
    turn = InTurn(Controller(lambda: written.append(processor(None, "info", dict(line or {}))), *sources), Log())
    turn.reconcile(request)
    return dict(written[0])


def test_a_line_says_whose_it_is_and_about_which_object() -> None:
    assert keys(Request("default-abc"), Source(POD, singleton), Source(NODE_CLAIM, by_name)) == {
        "controller": "nodeclaim.test",
        "controllerGroup": "karpenter.sh",
        "controllerKind": "NodeClaim",
        "NodeClaim": {"name": "default-abc"},
        "namespace": "",
        "name": "default-abc",
        "reconcileID": "an-id",
    }


def test_an_object_in_a_namespace_is_named_with_it() -> None:
    assert keys(Request("web", "shop"), Source(POD, by_name))["Pod"] == {"name": "web", "namespace": "shop"}


def test_who_looks_at_everything_names_no_object() -> None:
    found = keys(Request(), Source(POD, singleton))
    assert found == {"controller": "nodeclaim.test", "namespace": "", "name": "", "reconcileID": "an-id"}


def test_what_the_line_says_itself_counts_and_comes_last() -> None:
    found = keys(Request(), line={"event": "launched", "zone": "a", "name": "its own"})
    assert list(found)[-2:] == ["event", "zone"]
    assert found["name"] == "its own"


def test_the_lines_of_one_turn_have_one_id_and_those_of_the_next_another() -> None:
    numbers = iter("abc")
    processor = TurnKeys(lambda: next(numbers))
    ids: list[str] = []

    def write() -> None:
        ids.extend(processor(None, "info", {})["reconcileID"] for _ in range(2))

    turn = InTurn(Controller(write), Log())
    turn.reconcile(Request())
    turn.reconcile(Request())
    assert ids == ["a", "a", "b", "b"]


def test_outside_of_turns_nobody_acts() -> None:
    assert acting() == ""
    assert TurnKeys()(None, "info", {"event": "starting"}) == {"event": "starting"}
    names: list[str] = []
    InTurn(Controller(lambda: names.append(acting())), Log()).reconcile(Request())
    assert names == ["nodeclaim.test"]
    assert acting() == ""


def failing(error: Exception) -> tuple[InTurn, Log]:
    def fail() -> None:
        raise error

    log = Log()
    return InTurn(Controller(fail), log), log


def test_a_turn_that_fails_is_logged_and_tried_again_by_the_loop() -> None:
    turn, log = failing(InvalidObject("found nothing"))
    with pytest.raises(InvalidObject):
        turn.reconcile(Request())
    assert log.lines == [("Reconciler error", {"error": "found nothing"})]
    assert acting() == ""


def test_that_somebody_else_was_faster_is_no_news() -> None:
    turn, log = failing(KubeError("changed meanwhile", code=409, reason="Conflict"))
    with pytest.raises(KubeError):
        turn.reconcile(Request())
    assert log.lines == []


def test_a_bug_is_left_to_whoever_catches_it() -> None:
    turn, log = failing(InternalError("impossible"))
    with pytest.raises(InternalError):
        turn.reconcile(Request())
    assert log.lines == []


def test_nobodys_turn_comes_before_all_is_known() -> None:
    class Cluster:
        is_synced = False

    cluster, acted = Cluster(), list[str]()
    turn = InTurn(Controller(lambda: acted.append(acting())), Log(), cluster)
    assert (turn.reconcile(Request()), acted) == (Result(1.0), [])
    cluster.is_synced = True
    assert (turn.reconcile(Request()), acted) == (DONE, ["nodeclaim.test"])

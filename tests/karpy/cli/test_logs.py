from __future__ import annotations

import io
import json
from typing import Any

import pytest

from karpy.cli.logs import json_logger
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.turns import InTurn
from karpy.objects.kinds import NODE_CLAIM
from karpy.testing import FakeClock


def written(level: str, *says: tuple[str, str, dict[str, Any]], turn: bool = False) -> list[dict[str, Any]]:
    """The lines that come of calls of a logger: level, message, and fields of each."""
    stream = io.StringIO()
    log = json_logger(stream, level, clock=FakeClock())

    class Controller:
        name = "nodeclaim.lifecycle"
        sources = (Source(NODE_CLAIM, by_name),)

        def reconcile(self, _request: Request) -> Result:
            for said, message, fields in says:
                getattr(log, said)(message, **fields)
            return DONE

    controller = InTurn(Controller(), log) if turn else Controller()
    controller.reconcile(Request("default-abc"))
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_karpenters_shape() -> None:
    fields = {"provider_id": "sim:///i-1", "instance_type": "m", "allocatable": {"cpu": "1"}, "Node": "n-1"}
    (line,) = written("info", ("info", "launched nodeclaim", fields), turn=True)
    identifier = line.pop("reconcileID")
    assert len(identifier) == 36
    assert list(line.items()) == [
        ("level", "INFO"),
        ("time", "2026-01-05T09:00:00.000Z"),
        ("logger", "controller"),
        ("message", "launched nodeclaim"),
        ("controller", "nodeclaim.lifecycle"),
        ("controllerGroup", "karpenter.sh"),
        ("controllerKind", "NodeClaim"),
        ("NodeClaim", {"name": "default-abc"}),
        ("namespace", ""),
        ("name", "default-abc"),
        ("provider-id", "sim:///i-1"),
        ("instance-type", "m"),
        ("allocatable", {"cpu": "1"}),
        ("Node", {"name": "n-1"}),
    ]


def test_objects_are_named_with_their_namespace_and_left_out_if_there_is_none() -> None:
    (line,) = written("info", ("info", "evicted", {"Pod": "shop/web", "Node": "", "NodePool": {"name": "p"}}))
    assert line["Pod"] == {"name": "web", "namespace": "shop"}
    assert line["NodePool"] == {"name": "p"}
    assert "Node" not in line


@pytest.mark.parametrize(
    ("level", "shown"),
    [("debug", ["DEBUG", "INFO", "ERROR"]), ("info", ["INFO", "ERROR"]), ("error", ["ERROR"])],
)
def test_what_is_below_the_level_is_not_written(level: str, shown: list[str]) -> None:
    says = [(said, "something", {}) for said in ("debug", "info", "error")]
    assert [line["level"] for line in written(level, *says)] == shown

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import InvalidObject, KubeError
from karpy.kube.crds import node_overlay_crd
from karpy.objects import kinds
from karpy.objects.nodeoverlay import NodeOverlay
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.testing import make_overlay, selector

CHECKS_RULES = importlib.util.find_spec("cel") is not None
"""Whether the package that evaluates the rules of schemas is installed."""


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(VirtualClock())
    server.install_crd(node_overlay_crd())
    return server


def written(**spec: Any) -> dict[str, Any]:
    """An overlay as a user writes it."""
    return {**make_overlay("o", **spec), "metadata": {"name": "o"}}


def test_kubectl_knows_overlays_by_a_short_name_and_prints_their_columns() -> None:
    spec = node_overlay_crd()["spec"]
    assert spec["names"]["shortNames"] == ["overlays"]
    columns = spec["versions"][0]["additionalPrinterColumns"]
    assert [(column["name"], column.get("priority", 0)) for column in columns] == [
        ("Ready", 0),
        ("Age", 0),
        ("Weight", 1),
    ]


def test_an_overlay_is_stored_and_gets_a_status(server: ApiServer) -> None:
    server.create(kinds.NODE_OVERLAY, written(price="0.25", capacity={"a.com/b": "4"}, weight=10_000))
    status = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    stored = server.patch(kinds.NODE_OVERLAY, "o", {"status": status}, subresource="status")
    assert stored["status"] == status
    assert NodeOverlay.from_dict(stored).weight == 10_000


BY_RULE = [
    ({"price": "1", "priceAdjustment": "+1"}, "cannot set both 'price' and 'priceAdjustment'"),
    ({"capacity": {"pods": "1"}}, "invalid resource restricted"),
    ({"requirements": [selector("a", "In")]}, "requirements with operator 'In' must have a value defined"),
    ({"requirements": [selector("a", "NotIn")]}, "requirements with operator 'NotIn' must have a value defined"),
    ({"requirements": [selector("a", "Gt", "-1")]}, "must have one integer of 0 or more"),
    ({"requirements": [selector("a", "Lte", "1", "2")]}, "must have one integer of 0 or more"),
]
BY_SCHEMA = [
    ({"price": "-1"}, "spec.price in body should match"),
    ({"priceAdjustment": "0.5"}, "spec.priceAdjustment in body should match"),
    ({"priceAdjustment": "-100.5%"}, "spec.priceAdjustment in body should match"),
    ({"weight": 0}, "spec.weight in body should be greater than or equal to 1"),
    ({"weight": 10_001}, "spec.weight in body should be less than or equal to 10000"),
    ({"requirements": None}, "spec.requirements: Required value"),
    ({"requirements": [selector("a", "Exists")] * 101}, "Too many: 101"),
    ({"capacity": {"a.com/b": "many"}}, "spec.capacity.a.com/b in body should match"),
]


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize(("spec", "complaint"), BY_SCHEMA)
def test_the_schema_refuses_what_the_reader_refuses(server: ApiServer, spec: dict[str, Any], complaint: str) -> None:
    with pytest.raises(KubeError, match=complaint):
        server.create(kinds.NODE_OVERLAY, written(**spec))
    with pytest.raises(InvalidObject):
        NodeOverlay.from_dict(written(**spec))


@pytest.mark.skipif(not CHECKS_RULES, reason="needs the package common-expression-language")
@pytest.mark.core("CORE-735")
@pytest.mark.parametrize(("spec", "complaint"), BY_RULE)
def test_so_do_its_rules(server: ApiServer, spec: dict[str, Any], complaint: str) -> None:
    with pytest.raises(KubeError, match=complaint):
        server.create(kinds.NODE_OVERLAY, written(**spec))
    with pytest.raises(InvalidObject):
        NodeOverlay.from_dict(written(**spec))


@pytest.mark.skipif(not CHECKS_RULES, reason="needs the package common-expression-language")
def test_the_api_server_answers_as_karpenters_definitions_make_it(server: ApiServer, shared: Path) -> None:
    lines = (shared / "data" / "vectors" / "lifecycle" / "10-validation.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case.get("object", {}).get("kind") == "NodeOverlay"]
    assert len(cases) == 14
    for number, case in enumerate(cases):
        named = {**case["object"], "metadata": {"name": f"o-{number}"}}
        code, fields = _create(server, named)
        assert code == case["code"], case["name"]
        assert fields == sorted(cause["field"] for cause in case.get("causes") or ()), case["name"]
        assert _is_readable(named) == (code == 201), case["name"]


def _create(server: ApiServer, obj: dict[str, Any]) -> tuple[int, list[str]]:
    try:
        server.create(kinds.NODE_OVERLAY, obj)
    except KubeError as error:
        return error.code, sorted(cause["field"] for cause in error.details["causes"])
    return 201, []


def _is_readable(obj: dict[str, Any]) -> bool:
    try:
        NodeOverlay.from_dict(obj)
    except InvalidObject:
        return False
    return True

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karpy import labels
from karpy.errors import InvalidObject
from karpy.requirements import Requirement
from karpy.scenarios.recorded import GROUP, is_recorded, parse_recorded, read_recorded
from karpy.scenarios.recorded_catalog import CatalogFolder, parse_catalog
from karpy.settings import Settings
from karpy.testing.builders import make_machine, make_nodepool

Json = dict[str, Any]

OFFERING: Json = {"zone": "z1", "capacityType": "reserved", "price": 0.5, "available": True}
TYPE: Json = {
    "name": "m.2",
    "requirements": [{"key": labels.ARCH, "operator": "In", "values": ["arm64"]}],
    "capacity": {"cpu": "2", "memory": "8Gi"},
    "overhead": {"cpu": "100m"},
    "offerings": [OFFERING],
}


def catalog(**changes: Any) -> bytes:
    found = {"name": "c", "wellKnownLabels": ["cloud.test/x"], "reservationIdLabel": "cloud.test/r"}
    return json.dumps({**found, "instanceTypes": [{**TYPE, **changes}]}).encode()


def test_a_scenario_is_told_from_an_object() -> None:
    assert is_recorded({"objects": []})
    assert not is_recorded({"kind": "ConfigMap", "objects": []})
    assert not is_recorded({"apiVersion": "v1", "kind": "List", "items": []})
    assert not is_recorded([])


def test_settings_say_how_to_decide_and_count_before_those_of_the_reader() -> None:
    goods, asked = parse_catalog(catalog(), "c.json"), Settings(strict_min_values=False, node_overlay=True)
    settings = {"preferencePolicy": "Ignore", "minValuesPolicy": "Strict", "reservedCapacity": False}
    found = read_recorded({"objects": [], "catalog": "c", "settings": settings}, "here")
    assert found.situation(goods, settings=asked).settings == Settings(
        respect_preferences=False, reserved_capacity=False, node_overlay=True
    )
    plain = read_recorded({"objects": [], "catalog": "c"}, "here")
    assert plain.situation(goods, settings=asked).settings == asked
    assert plain.situation(goods).settings == Settings()


OVERLAY: Json = {
    "apiVersion": "karpenter.sh/v1alpha1",
    "kind": "NodeOverlay",
    "metadata": {"name": "free"},
    "spec": {"requirements": [], "price": "0.25"},
}


def test_overlays_correct_the_catalog_behind_their_gate() -> None:
    pool = make_nodepool()
    pool["spec"]["template"]["spec"]["nodeClassRef"] = {"group": GROUP, "kind": "NodeClass", "name": "default"}
    scenario = read_recorded({"objects": [pool, OVERLAY], "catalog": "c"}, "here")

    def priced(settings: Settings) -> tuple[float, tuple[str, ...]]:
        found = scenario.situation(parse_catalog(catalog(), "c.json"), settings=settings)
        (only,) = found.catalog.types["default"]
        return only.offerings[0].price, found.notes

    assert priced(Settings(node_overlay=True)) == (0.25, ())
    assert priced(Settings()) == (0.5, ("NodeOverlays do not count: the feature gate NodeOverlay is off",))


def test_a_scenario_without_a_name_is_called_after_its_place() -> None:
    assert read_recorded({"objects": [], "catalog": "c"}, "x.jsonl: line 3").name == "x.jsonl: line 3"


def test_the_recorded_time_counts_before_the_present_one() -> None:
    goods = parse_catalog(catalog(), "c.json")
    timed = read_recorded({"objects": [], "catalog": "c", "now": "1970-01-01T00:01:00Z"}, "here")
    assert timed.situation(goods, now=5.0).now == 60.0
    assert read_recorded({"objects": [], "catalog": "c"}, "here").situation(goods, now=5.0).now == 5.0


def test_nominated_nodes_are_kept() -> None:
    objects = [make_nodepool(), *make_machine("a"), *make_machine("b")]
    found = read_recorded({"objects": objects, "catalog": "c", "nominated": ["b"]}, "here")
    nodes = found.situation(parse_catalog(catalog(), "c.json")).snapshot.nodes
    assert {view.name: view.nominated_until > 0 for view in nodes} == {"a": False, "b": True}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (b"", "here: is not JSON: "),
        (b"\xff", "here: is not JSON: "),
        (b"[" * 100_000, "here: is not JSON: "),
        (b"3", "here: found 3 (accepted: a JSON object with objects and catalog)"),
        (b"null", "here: found nothing (accepted"),
        (b'{"objects": {}, "catalog": "c"}', "here: objects: found an object (accepted: a list of Kubernetes objects)"),
        (b'{"objects": [], "catalog": 3}', "here: catalog: found 3 (accepted: the name of a catalog)"),
        (b'{"objects": [], "catalog": "c", "name": []}', "here: name: found a list (accepted: text)"),
        (b'{"objects": [], "catalog": "c", "now": 3}', "here: now: found 3 (accepted: a time)"),
        (b'{"objects": [], "catalog": "c", "nominated": "x"}', "here: nominated: found 'x' (accepted: a list of node"),
        (b'{"objects": [], "catalog": "c", "settings": 1}', "here: settings: found 1 (accepted: an object)"),
        (
            b'{"objects": [], "catalog": "c", "settings": {"reservedCapacity": "yes"}}',
            "here: settings.reservedCapacity: found 'yes' (accepted: true or false)",
        ),
        (
            b'{"objects": [], "catalog": "c", "settings": {"preferencePolicy": 1}}',
            "here: settings.preferencePolicy: found 1 (accepted: Respect or Ignore)",
        ),
        (b'{"objects": [3], "catalog": "c"}', "here: objects[0]: found 3 (accepted"),
    ],
)
def test_a_scenario_that_cannot_be_read_is_refused(document: bytes, text: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        parse_recorded(document, "here")
    assert str(refused.value).startswith(text)


def test_objects_that_cannot_be_read_are_all_named() -> None:
    nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}
    wrong = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": 3}}
    found = read_recorded({"objects": [nameless, wrong], "catalog": "c"}, "here")
    with pytest.raises(InvalidObject) as refused:
        found.situation(parse_catalog(catalog(), "c.json"))
    assert str(refused.value).splitlines() == [
        "here: objects[0]: Pod/x-: metadata.name: found nothing (accepted: text that is not empty)",
        "here: objects[1]: Node/n: spec.taints: found 3 (accepted: a list)",
    ]


def test_a_catalog_says_what_can_be_bought() -> None:
    goods = parse_catalog(catalog(offerings=[{**OFFERING, "reservationId": "r1", "reservationCapacity": 2}]), "c.json")
    (found,) = goods.types
    assert found.allocatable.to_dict() == {"cpu": "1900m", "memory": "8Gi"}
    assert found.requirements[labels.ARCH] == Requirement.in_(labels.ARCH, "arm64")
    (offering,) = found.offerings
    assert (offering.reservation_id, offering.reservation_capacity, offering.price) == ("r1", 2, 0.5)
    assert offering.requirements["cloud.test/r"] == Requirement.in_("cloud.test/r", "r1")
    assert goods.labels.well_known == {"cloud.test/x"}


def test_an_offering_without_a_reservation_denies_the_label() -> None:
    (found,) = parse_catalog(catalog(), "c.json").types
    assert found.offerings[0].requirements["cloud.test/r"] == Requirement.absent("cloud.test/r")


def test_an_offering_without_a_price_has_none() -> None:
    (found,) = parse_catalog(catalog(offerings=[{"zone": "z1", "capacityType": "spot"}]), "c.json").types
    assert not found.offerings[0].has_price


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": 3}, "c.json: instanceTypes[0].name: found 3 (accepted: text)"),
        ({"capacity": {"cpu": "much"}}, "c.json: instanceTypes[0].capacity.cpu: 'much' is not a quantity (accepted"),
        ({"overhead": {"cpu": "much"}}, "c.json: instanceTypes[0].overhead.cpu: 'much' is not a quantity (accepted"),
        ({"offerings": [{"zone": "z"}]}, "c.json: instanceTypes[0].offerings[0].capacityType: found nothing"),
        ({"requirements": [{"key": "a", "operator": "Is"}]}, "c.json: instanceTypes[0].requirements"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_refused(changes: Json, text: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        parse_catalog(catalog(**changes), "c.json")
    assert str(refused.value).startswith(text)


def test_a_folder_reads_each_catalog_once(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(catalog())
    folder = CatalogFolder(tmp_path)
    assert folder.get("c") is folder.get("c")


def test_a_folder_says_which_catalogs_it_has(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(catalog())
    with pytest.raises(InvalidObject, match=r"found 'd' \(accepted: c, as in "):
        CatalogFolder(tmp_path).get("d")
    with pytest.raises(InvalidObject, match=r"which has none; --catalogs names another folder"):
        CatalogFolder(tmp_path / "none").get("d")

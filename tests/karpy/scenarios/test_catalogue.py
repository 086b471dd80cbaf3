from __future__ import annotations

from pathlib import Path

import pytest

from karpy.errors import InvalidObject
from karpy.scenarios.catalogue import INFLATE, Scenario, load_scenario, read_files, scenario_names

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_scenarios_ship_with_karpy() -> None:
    assert scenario_names() == ("aks", "aks-nap", "eks", "eks-v0.5.3")


@pytest.mark.parametrize("name", scenario_names())
def test_a_shipped_scenario_is_found_by_name(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert {"Deployment"} <= {obj["kind"] for obj in scenario.objects}


def test_a_folder_stands_for_the_manifests_in_it_by_name(tmp_path: Path) -> None:
    write(tmp_path, "b.yml", POD.replace("NAME", "second"))
    write(tmp_path, "a.yaml", POD.replace("NAME", "first"))
    write(tmp_path, "notes.txt", "not a manifest")
    assert [obj["metadata"]["name"] for obj in load_scenario(str(tmp_path)).objects] == ["first", "second"]


def test_an_unknown_name_lists_those_that_are_known() -> None:
    with pytest.raises(InvalidObject, match=r"unknown scenario 'gke' \(accepted: aks, aks-nap, eks, eks-v0.5.3, or"):
        load_scenario("gke")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\xff\xfe", "is not text in UTF-8: invalid start byte at byte 0"),
        (b"# nothing\n", "there are no objects"),
    ],
)
def test_files_without_manifests_are_refused_by_name(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidObject, match=f"{path}: {complaint}"):
        read_files([path])


def test_problems_of_all_files_are_named_together(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, "- 1") for name in ("a.yaml", "b.yaml")]
    with pytest.raises(InvalidObject) as refused:
        read_files(paths)
    assert [line.partition(": ")[0] for line in str(refused.value).splitlines()] == [str(path) for path in paths]


def test_something_to_scale_is_added_only_where_there_is_nothing() -> None:
    bare = Scenario("bare", ())
    assert bare.with_something_to_scale().objects == (INFLATE,)
    (note,) = bare.with_something_to_scale().notes
    assert "inflate" in note
    full = Scenario("full", (INFLATE,))
    assert full.with_something_to_scale() is full

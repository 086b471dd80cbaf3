from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from karpy.errors import InvalidObject
from karpy.scenarios.recorded import Recorded
from karpy.scenarios.sources import Lines, open_sources

POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}}\n"
ALL = Lines(every=True)
SCENARIO = '{"name": "%s", "objects": [], "catalog": "c"}\n'


def names(paths: list[Path], lines: Lines = ALL) -> tuple[list[str], list[str]]:
    """Of the manifests, and of the scenarios."""
    found = open_sources(paths, lines)
    scenarios = [each.scenario for each in found.scenarios or ()]
    assert all(isinstance(each, Recorded) for each in scenarios)
    return (
        [obj["metadata"]["name"] for obj in found.manifests.objects],
        [each.name for each in scenarios if isinstance(each, Recorded)],
    )


def put(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_files_of_all_kinds_are_read_together_and_in_order(tmp_path: Path) -> None:
    paths = [
        put(tmp_path / "a.jsonl", SCENARIO % "first" + "\n" + SCENARIO % "second"),
        put(tmp_path / "b.yaml", POD % "b"),
        put(tmp_path / "c.json", SCENARIO % "third"),
        put(tmp_path / "d.yaml.gz", POD % "d"),
        put(tmp_path / "e.jsonl.gz", SCENARIO % "fourth"),
    ]
    assert names(paths, Lines(every=True)) == (["b", "d"], ["first", "second", "third", "fourth"])


def test_a_folder_stands_for_the_manifests_in_it(tmp_path: Path) -> None:
    put(tmp_path / "b.yaml", POD % "b")
    put(tmp_path / "a.yml", POD % "a")
    put(tmp_path / "notes.txt", "no manifest")
    assert names([tmp_path]) == (["a", "b"], [])


def test_a_config_map_with_objects_is_no_scenario(tmp_path: Path) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "objects": []})
    assert names([put(tmp_path / "m.json", text)]) == (["m"], [])


def test_lines_are_counted_with_blank_ones_as_editors_do(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", SCENARIO % "first" + "\n" + SCENARIO % "third")
    assert names([path], Lines(number=3)) == ([], ["third"])


def test_what_is_wrong_with_one_line_is_told_in_its_place(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", SCENARIO % "first" + "nonsense\n" + SCENARIO % "third")
    first, second, third = open_sources([path], Lines(every=True)).scenarios or ()
    assert isinstance(first.scenario, Recorded)
    assert isinstance(second.scenario, InvalidObject)
    assert str(second.scenario).startswith(f"{path}: line 2: is not JSON: ")
    assert isinstance(third.scenario, Recorded)


@pytest.mark.parametrize(
    ("name", "content", "lines", "text"),
    [
        ("a.jsonl", b"", Lines(every=True), "is empty (accepted: one JSON object a line)"),
        ("a.jsonl", b"\n \n", Lines(every=True), "is empty (accepted: one JSON object a line)"),
        ("a.jsonl", b"", Lines(number=1), "is empty (accepted: one JSON object a line)"),
        ("a.jsonl", b"{}\n{}\n", Lines(number=3), "--line: found 3 (accepted: 1 to 2)"),
        ("a.jsonl.gz", b"not packed", Lines(every=True), "cannot be read: Not a gzipped file (b'no')"),
        ("a.jsonl.gz", gzip.compress(b"{}\n" * 99, mtime=0)[:-9], Lines(number=200), "cannot be read: "),
    ],
)
def test_a_file_of_lines_that_cannot_be_used_is_refused(
    tmp_path: Path, name: str, content: bytes, lines: Lines, text: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidObject) as refused:
        list(open_sources([path], lines).scenarios or ())
    assert str(refused.value).startswith(f"{path}: {text}")


def test_every_problem_of_every_manifest_is_named(tmp_path: Path) -> None:
    paths = [put(tmp_path / "a.yaml", "- 1\n"), put(tmp_path / "b.yaml", "kind: Pod\n"), tmp_path / "missing.yaml"]
    with pytest.raises(InvalidObject) as refused:
        open_sources(paths[:2], Lines())
    assert [line.split(": ")[0] for line in str(refused.value).splitlines()] == [str(path) for path in paths[:2]]
    with pytest.raises(InvalidObject, match=r"missing\.yaml: cannot be read: No such file"):
        open_sources(paths, Lines())


def test_an_empty_list_beside_other_files_is_no_problem(tmp_path: Path) -> None:
    """As kubectl prints it where there is nothing."""
    paths = [put(tmp_path / "a.yaml", POD % "a"), put(tmp_path / "b.yaml", "{apiVersion: v1, kind: List, items: []}")]
    assert names(paths) == (["a"], [])


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="there are no objects"):
        open_sources([tmp_path], Lines())

from __future__ import annotations

from pathlib import Path

import pytest

from karpy.kube.crds import core_crds
from karpy.objects.manifest import read_manifests, schemas_of

SCHEMAS = schemas_of(core_crds())

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: web
"""


def problem(text: str) -> str:
    """The one complaint about ``text``."""
    (found,) = read_manifests(text, "file.yaml", SCHEMAS).problems
    return str(found)


def names(text: str) -> list[str]:
    read = read_manifests(text, "file.yaml", SCHEMAS)
    assert read.problems == ()
    return [obj["metadata"]["name"] for obj in read.objects]


def test_documents_are_read_in_order_and_empty_ones_are_skipped() -> None:
    assert names(f"---\n{POD}\n---\n# nothing\n---\n{POD.replace('web', 'api')}") == ["web", "api"]


def test_a_list_stands_for_its_items() -> None:
    listed = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
    assert names(listed + "- {apiVersion: v1, kind: Pod, metadata: {name: b}}") == ["a", "b"]


def test_json_is_read_too() -> None:
    assert names('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}') == ["web"]


def test_a_generated_name_is_a_name() -> None:
    text = POD.replace("name:", "generateName:")
    assert len(read_manifests(text, "file.yaml").objects) == 1


def test_times_stay_text_and_keys_become_text() -> None:
    (pod,) = read_manifests(f"{POD}  labels: {{1: b, true: 2024-01-01T00:00:00Z}}", "file.yaml").objects
    assert pod["metadata"]["labels"] == {"1": "b", "true": "2024-01-01T00:00:00Z"}


def test_a_document_that_cannot_be_used_does_not_hide_the_others() -> None:
    read = read_manifests(f"kind: Pod\n---\n{POD}\n---\n- 1", "file.yaml")
    assert [obj["metadata"]["name"] for obj in read.objects] == ["web"]
    assert len(read.problems) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1", "file.yaml: cannot be parsed: did not find expected ',' or ']'"),
        ("- 1", "file.yaml: document 1 (line 1): found a list (accepted: a YAML or JSON object with apiVersion"),
        ("kind: Pod", "file.yaml: document 1 (line 1): apiVersion: found nothing (accepted: text"),
        ("apiVersion: 1\nkind: Pod", "file.yaml: document 1 (line 1): apiVersion: found 1 (accepted: text"),
        ("apiVersion: v1\nkind: Pod", "file.yaml: document 1 (line 1): Pod: metadata: found nothing"),
        (
            f"{POD}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: ''}}",
            "file.yaml: document 2 (line 7): Pod: metadata.name: found ''",
        ),
        (
            "kind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: [a]}",
            "file.yaml: document 1 (line 1): items[0]: Pod: metadata: found a list",
        ),
        (
            f"{POD}  name: web",
            "file.yaml: document 1 (line 2): the key 'name' is written twice, the second time on line 6",
        ),
    ],
)
def test_complaints_name_file_document_object_and_field(text: str, complaint: str) -> None:
    assert problem(text).startswith(complaint)


def test_misplaced_and_misspelt_keys_are_named_with_the_place_where_they_belong() -> None:
    pool = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
limits: {cpu: 10}
spec:
  wieght: 3
  template:
    spec: {requirements: [], nodeClassRef: {group: a, kind: b, name: c}}
"""
    assert problem(pool) == (
        'file.yaml: document 1 (line 2): NodePool/default: "limits" is misplaced: it belongs at "spec.limits"; '
        '"spec.wieght" is misspelt: it belongs at "spec.weight"'
    )


def test_the_guides_manifest_as_it_was_printed_is_refused_by_name(shared: Path) -> None:
    path = shared / "data/seeds/eks-v0.5.3-as-printed.yaml"
    text = problem(path.read_text())
    for key in ("limits", "limits.resoutces", "provider", "ttlSecondsAfterEmpty"):
        right = key.replace("resoutces", "resources")
        assert f'"{key}" is ' in text
        assert f'it belongs at "spec.{right}"' in text
    assert '"limits.resoutces" is misspelt' in text


@pytest.mark.parametrize("seed", ["aks-nap", "aks-v0.5.1", "eks-v0.25.0", "eks-v0.5.3"])
def test_the_guides_other_manifests_are_read_unchanged(shared: Path, seed: str) -> None:
    read = read_manifests((shared / f"data/seeds/{seed}.yaml").read_text(), seed, SCHEMAS)
    assert read.problems == ()
    assert read.objects


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000 + "]" * 50_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        "a: " + "{b: " * 5_000,
        "- " * 5_000,
        "a: !!int x",
        "a: !!timestamp 9",
        "a: " + "9" * 5_000,
        '{"a": ' + "9" * 5_000 + "}",
        "a: &a [*a]",
        "\ud800",
        "\0",
    ],
)
def test_text_that_is_made_to_break_a_parser_is_a_problem_like_any_other(text: str) -> None:
    found = read_manifests(text, "f.yaml")
    assert found.objects == ()
    (problem,) = found.problems
    assert str(problem).startswith("f.yaml: ")
    assert len(str(problem)) < 500

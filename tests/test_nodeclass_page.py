"""The reference of EC2's node classes has every field that the API server knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from karpy_aws.crds import crds
from karpy_aws.objects.schema import Rule, integer, listing, record, text, with_rules
from tests.nodeclass_page import COMMAND, PAGE, ROOT, differences, page, rows, rules


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), f"{PAGE.relative_to(ROOT)} is stale: run `{COMMAND}`"


def test_the_site_shows_the_page() -> None:
    assert f": {PAGE.name}" in (ROOT / "mkdocs.yml").read_text()


def fields(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from fields(field, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")


@pytest.mark.parametrize("definition", crds(), ids=lambda crd: crd["metadata"]["name"])
def test_every_field_of_the_newest_version_is_there(definition: Mapping[str, Any]) -> None:
    version = next(each for each in definition["spec"]["versions"] if each["storage"])
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    told = page()
    wanted = [*fields(schema["spec"], "spec"), *fields(schema["status"], "status")]
    assert len(wanted) > 20
    assert [path for path in wanted if f"| `{path}` |" not in told] == []


DISK = record({"size": text("How large.", enum=["1", "2"]), "count": integer(minimum=1, default=1)}, required=("size",))


def test_a_row_says_what_a_field_takes() -> None:
    found = [row.cells for row in rows(record({"disks": listing(DISK, "Disks.", maxItems=2)}), "spec")]
    assert found == [
        ("`spec.disks`", "a list, at most 2", "", "Disks."),
        ("`spec.disks[].size`", "`1`, `2`", "", "**Required.** How large."),
        ("`spec.disks[].count`", "a whole number, at least 1", "`1`", ""),
    ]


def test_rules_are_told_where_they_hold() -> None:
    of_field, of_all = (
        Rule("", accepted, lambda value: "", field) for accepted, field in (("even", "count"), ("", ""))
    )
    schema = record({"disks": listing(with_rules(DISK, of_field, of_all))})
    assert list(rules(schema, "spec")) == [("spec.disks[].count", "even"), ("spec.disks[]", "")]


def test_versions_are_compared_field_by_field() -> None:
    older = record(
        {"size": text("How large.", enum=["1", "2"]), "count": integer(minimum=1, default=2), "kind": text()}
    )
    assert differences(DISK, older) == [
        ("`spec.size`", "`1`, `2`; **Required.** How large.", "`1`, `2`; How large."),
        ("`spec.count`", "a whole number, at least 1; default `1`", "a whole number, at least 1; default `2`"),
        ("`spec.kind`", "–", "a text"),
    ]

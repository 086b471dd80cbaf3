"""Node classes that Karpenter's CRD lets in or refuses: our CRD at an API server, and our reader, must judge the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from karpy.sim.api.schemas.customrules import schema_causes
from karpy.sim.api.schemas.schema import apply_defaults, prune
from karpy_aws import crds
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.schemacheck import unknown_fields, violations, with_defaults
from tests import vectors

pytest.importorskip("cel", reason="rules need the package common-expression-language")

STRICTER = {
    "alias-al2023@a@b": "such an alias ends Karpenter's process once it is used",
    "ami-tags-empty": "a term without tags matches every image",
    "subnet-tags-empty": "a term without tags matches every subnet",
    "sg-tags-empty": "a term without tags matches every group",
    "bdm-no-ebs": "an entry without a volume crashes Karpenter",
    "bdm-no-device-name": "an entry without a device crashes Karpenter",
}
MILDER = {"cr-none": "no term at all selects nothing, which is no contradiction; Karpenter trips over an empty list"}

Found = set[tuple[str, str]]


def agree(found: Found, expected: Found) -> bool:
    """The same kinds of errors at the same places; where Karpenter names a list we may name its entry or member."""

    def told(one: tuple[str, str], others: Iterable[tuple[str, str]]) -> bool:
        kind, path = one
        return any(kind == other and (path.startswith(at) or at.startswith(path)) for other, at in others)

    return all(told(one, expected) for one in found) and all(told(one, found) for one in expected)


def schema() -> Mapping[str, Any]:
    versions = crds.crds()[0]["spec"]["versions"]
    return next(each["schema"]["openAPIV3Schema"] for each in versions if each["name"] == "v1")


def at_the_door(line: Mapping[str, Any]) -> tuple[Found, bool, list[str], Any]:
    """What an API server with our CRD answers: errors, whether it skipped rules, fields it dropped, what it stores."""
    dropped: list[str] = []
    stored = apply_defaults(prune(line["nodeClass"], schema(), dropped), schema())
    causes = schema_causes(stored, line.get("old"), schema())
    skipped = any(cause.field == "<nil>" for cause in causes)
    return {(cause.reason, cause.field) for cause in causes if cause.field != "<nil>"}, skipped, dropped, stored["spec"]


@pytest.mark.aws("AWS-001", "AWS-005", "AWS-006", "AWS-018", "AWS-024", "AWS-029", "AWS-036")
def test_the_crd_judges_as_recorded(shared: Path) -> None:
    wrong, differing = [], set()
    for line in vectors.read(shared, "aws/nodeclass_validation.jsonl"):
        expect = line["expect"]
        found, skipped, dropped, stored = at_the_door(line)
        expected = {(error["type"], error["field"]) for error in expect["errors"]}
        if bool(found) != bool(expected):
            differing.add(line["name"])
            continue
        same = agree(found, expected) and skipped == expect.get("rulesSkipped", False)
        same = same and dropped == expect.get("unknownFields", [])
        if not same or (expect["valid"] and stored != expect["defaulted"]):
            wrong.append((line["name"], found, expected))
    assert wrong == []
    assert differing == {*STRICTER, *MILDER}


@pytest.mark.aws("AWS-001", "AWS-005", "AWS-006", "AWS-018", "AWS-024", "AWS-029", "AWS-036")
def test_the_reader_judges_as_recorded(shared: Path) -> None:
    wrong, differing = [], set()
    rules = ec2_node_class_spec("v1")
    for line in vectors.read(shared, "aws/nodeclass_validation.jsonl"):
        expect, spec = line["expect"], line["nodeClass"]["spec"]
        found = {(str(each.kind), each.path) for each in violations(spec, rules, "spec")}
        expected = {(error["type"], error["field"]) for error in expect["errors"]}
        if bool(found) != bool(expected):
            differing.add(line["name"])
            continue
        same = agree(found, expected) and list(unknown_fields(spec, rules, "spec")) == expect.get("unknownFields", [])
        filled = prune({"spec": with_defaults(spec, rules)}, schema())["spec"]
        if not same or (expect["valid"] and filled != expect["defaulted"]):
            wrong.append((line["name"], found, expected))
    assert wrong == []
    assert differing == {*STRICTER, *MILDER}

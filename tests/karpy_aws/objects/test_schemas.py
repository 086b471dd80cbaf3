"""One schema, two judges: what an API server makes of the CRD's rules in CEL, and what the reader makes of them in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpy.sim.api.schemas.cel import compile_problem
from karpy.sim.api.schemas.customrules import schema_causes
from karpy_aws import crds
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.nodetemplateschema import node_template_spec
from karpy_aws.objects.schema import Schema
from karpy_aws.objects.schemacheck import ViolationKind, violations

pytest.importorskip("cel", reason="rules need the package common-expression-language")

SCHEMAS: dict[tuple[str, str], Schema] = {
    ("EC2NodeClass", "v1"): ec2_node_class_spec("v1"),
    ("EC2NodeClass", "v1beta1"): ec2_node_class_spec("v1beta1"),
    ("AWSNodeTemplate", "v1alpha1"): node_template_spec(),
}
DOORS: dict[tuple[str, str], Mapping[str, Any]] = {
    (crd["spec"]["names"]["kind"], version["name"]): version["schema"]["openAPIV3Schema"]
    for crd in crds.crds()
    for version in crd["spec"]["versions"]
}

names = st.sampled_from(["", "a", "b", "self", "karpenter.sh/nodepool", "kubernetes.io/cluster/x"])
tags = st.dictionaries(names, st.sampled_from(["", "a", "*"]), max_size=3)
aliases = st.sampled_from(
    ["al2@latest", "al2023@v1", "windows2022@v1", "windows2022@latest", "debian@1", "al2", "@", ""]
)
truths = st.booleans()


def ids(prefix: str) -> st.SearchStrategy[str]:
    return st.sampled_from([f"{prefix}-1", f"{prefix}-A", "", f"x{prefix}-1"])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with any of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


def lists(of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(of, max_size=3)


interfaces = st.fixed_dictionaries(
    {
        "networkCardIndex": st.integers(-1, 1),
        "deviceIndex": st.integers(0, 1),
        "interfaceType": st.sampled_from(["interface", "efa-only"]),
    }
)
volumes = some(
    snapshotID=st.sampled_from(["", "snap-1"]),
    volumeSize=st.sampled_from(["1Gi", "59001Gi", "18Ti", "Ti", "65T", "10", "x"]),
    volumeInitializationRate=st.sampled_from([99, 100, 300, 301]),
    volumeType=st.sampled_from(["gp3", "gp9"]),
)
devices = some(deviceName=st.sampled_from(["", "/dev/xvda"]), ebs=volumes, rootVolume=truths)
images = some(alias=aliases, tags=tags, id=ids("ami"), name=names, owner=names, ssmParameter=names)
common: dict[str, st.SearchStrategy[Any]] = {
    "amiFamily": st.sampled_from(["AL2", "AL2023", "Custom", "Ubuntu", "Windows2022", "Debian"]),
    "instanceProfile": names,
    "tags": tags,
    "userData": names,
    "blockDeviceMappings": lists(devices),
    "metadataOptions": some(httpPutResponseHopLimit=st.integers(0, 65), httpTokens=st.sampled_from(["optional", "x"])),
}
node_classes = some(
    role=names,
    subnetSelectorTerms=lists(some(tags=tags, id=ids("subnet"))),
    securityGroupSelectorTerms=lists(some(tags=tags, id=ids("sg"), name=names)),
    amiSelectorTerms=lists(images),
    capacityReservationSelectorTerms=lists(
        some(
            tags=tags,
            id=ids("cr"),
            ownerID=st.sampled_from(["1" * 12, "1"]),
            instanceMatchCriteria=st.sampled_from(["open", "closed"]),
        )
    ),
    placementGroupSelector=some(name=names, id=ids("pg")),
    networkInterfaces=lists(interfaces),
    connectionTracking=some(udpTimeout=st.sampled_from([29, 30, 60, 61])),
    **common,
)


def selectors(prefix: str) -> st.SearchStrategy[dict[str, str]]:
    one, two = f"{prefix}-1", f"{prefix}-1, {prefix}-2"
    return st.dictionaries(st.sampled_from(["aws-ids", "aws::ids", "team", ""]), st.sampled_from([one, two, "x", ""]))


templates = some(
    launchTemplate=names,
    subnetSelector=selectors("subnet"),
    securityGroupSelector=selectors("sg"),
    amiSelector=selectors("ami"),
    **{**common, "blockDeviceMappings": lists(some(deviceName=st.just("/dev/xvda"), ebs=some(snapshotID=names)))},
)


def judged_alike(of: tuple[str, str], spec: dict[str, Any]) -> None:
    causes = schema_causes({"spec": spec}, None, DOORS[of])
    at_the_door = {(cause.reason, cause.field) for cause in causes if cause.field != "<nil>"}
    judged = violations(spec, SCHEMAS[of], "spec")
    # Before v1 disks may have any quantity as their size, whose bounds readers alone can check.
    skipped = (".volumeSize",) if of[1] != "v1" else ()
    read = {(str(each.kind), each.path) for each in judged if not each.path.endswith(skipped)}
    # A member of a map of text has no place of its own in a CRD.
    maps = ("subnetSelector", "securityGroupSelector", "amiSelector")
    at_maps = {(kind, next((f"spec.{name}" for name in maps if f".{name}." in path), path)) for kind, path in read}
    assert at_maps == at_the_door


@settings(max_examples=150, deadline=None)
@given(node_classes)
def test_a_node_class_is_judged_alike_by_crd_and_reader(spec: dict[str, Any]) -> None:
    judged_alike(("EC2NodeClass", "v1"), spec)
    judged_alike(("EC2NodeClass", "v1beta1"), spec)


@settings(max_examples=100, deadline=None)
@given(templates)
def test_a_node_template_is_judged_alike_by_crd_and_reader(spec: dict[str, Any]) -> None:
    judged_alike(("AWSNodeTemplate", "v1alpha1"), spec)


def rules_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from schema.get("x-kubernetes-validations", ())
    for member in schema.get("properties", {}).values():
        yield from rules_of(member)
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from rules_of(schema[name])


@pytest.mark.parametrize("of", DOORS, ids="/".join)
def test_every_rule_is_cel_and_says_what_is_accepted(of: tuple[str, str]) -> None:
    rules = list(rules_of(DOORS[of]))
    assert len(rules) > 10
    assert [(rule["rule"], compile_problem(rule["rule"])) for rule in rules if compile_problem(rule["rule"])] == []
    assert all(rule["message"].startswith("accepted: ") for rule in rules)


def test_no_word_of_karpys_own_is_left_in_a_crd() -> None:
    assert "x-karpy" not in str(crds.crds())


def test_null_counts_as_absent() -> None:
    spec = {"subnetSelectorTerms": [{"id": "subnet-1", "tags": None}], "role": None, "instanceProfile": "nodes"}
    found = violations(spec, ec2_node_class_spec("v1"), "spec")
    assert {(each.kind, each.path) for each in found} == {
        (ViolationKind.REQUIRED, "spec.securityGroupSelectorTerms"),
        (ViolationKind.REQUIRED, "spec.amiSelectorTerms"),
    }


def test_an_entry_that_is_null_counts_as_absent() -> None:
    spec = {"subnetSelector": {"team": "a", "aws-ids": None}, "securityGroupSelector": {"team": "a"}}
    assert violations(spec, node_template_spec(), "spec") == ()

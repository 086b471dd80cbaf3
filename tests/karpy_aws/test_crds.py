from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karpy_aws.model import AWSModel


def schemas(model: AWSModel) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for crd in model.crds():
        for version in crd["spec"]["versions"]:
            yield f"{crd['spec']['names']['kind']}/{version['name']}", version["schema"]["openAPIV3Schema"]


def untyped(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Paths of nodes that a structural schema must type and this one does not."""
    if "type" not in schema and not schema.get("x-kubernetes-int-or-string"):
        yield path
    for name, field in schema.get("properties", {}).items():
        yield from untyped(field, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from untyped(schema[name], f"{path}.{name}")


def test_the_schemas_are_structural(model: AWSModel) -> None:
    for name, schema in schemas(model):
        assert list(untyped(schema, name)) == []


def test_all_generations_are_served_and_one_of_each_is_stored(model: AWSModel) -> None:
    served = {}
    for crd in model.crds():
        versions = crd["spec"]["versions"]
        assert sum(version["storage"] for version in versions) == 1
        served[crd["metadata"]["name"]] = [version["name"] for version in versions]
    assert served == {
        "ec2nodeclasses.karpenter.k8s.aws": ["v1", "v1beta1"],
        "awsnodetemplates.karpenter.k8s.aws": ["v1alpha1"],
    }


def test_every_field_that_a_user_writes_is_explained(model: AWSModel) -> None:
    for name, schema in schemas(model):
        for field, described in schema["properties"]["spec"]["properties"].items():
            assert described.get("description"), f"{name}.spec.{field}"


def test_the_ready_condition_is_a_column(model: AWSModel) -> None:
    for crd in model.crds():
        for version in crd["spec"]["versions"]:
            assert [column["name"] for column in version["additionalPrinterColumns"]][:2] == ["Ready", "Age"]
            assert version["subresources"] == {"status": {}}


def test_the_definitions_are_the_callers_own(model: AWSModel) -> None:
    assert model.crds() == model.crds()
    assert model.crds()[0] is not model.crds()[0]


def test_each_version_has_the_metadata_defaults_of_its_day(model: AWSModel) -> None:
    hops = {
        name: schema["properties"]["spec"]["properties"]["metadataOptions"]
        .get("default", {})
        .get("httpPutResponseHopLimit")
        for name, schema in schemas(model)
    }
    assert hops == {"EC2NodeClass/v1": 1, "EC2NodeClass/v1beta1": 2, "AWSNodeTemplate/v1alpha1": None}

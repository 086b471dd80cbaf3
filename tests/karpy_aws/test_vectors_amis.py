"""The images that Karpenter's own code finds for node classes, what it asks AWS for that, and which image a type gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import ProviderError
from karpy.testing.clock import FakeClock
from karpy_aws.api import APIs, Request, Response, apis
from karpy_aws.errors import AWSThrottled, aws_error
from karpy_aws.imagelookup import ImageLookup, ImagesFound
from karpy_aws.images import image_of
from karpy_aws.objects import decode_ec2_node_class
from karpy_aws.objects.status import AMI
from karpy_aws.testing import FakeAWS, World
from tests.karpy_aws.vectorworld import NOW, catalog, instance_types, lines, setup

KEEPS_ITS_IMAGES = ("alias-AL2-throttled", "alias-AL2023-throttled", "alias-Bottlerocket-throttled")
"""One call that was refused must not take an image out of the class, for its nodes would drift."""
EVERY_KIND = ("alias-AL2-shared-id", "alias-AL2023-shared-id", "alias-Bottlerocket-shared-id")
"""One image for all kinds of machine is for all of them; Karpenter keeps the last kind, whichever that is."""


class Account:
    """The cloud in memory, with parameters and lists that cannot be read."""

    def __init__(self, shared: Path, world: Mapping[str, Any]) -> None:
        self.fake = FakeAWS(World.recorded(world, catalog(shared), NOW), clock=FakeClock(NOW))
        self._parameters = world.get("ssmErrors") or {}
        self._lists = world.get("describeImagesError")

    def call(self, service: str, operation: str, request: Request) -> Response:
        refusal = self._parameters.get(request.get("Name")) if operation == "GetParameter" else None
        refusal = self._lists if operation == "DescribeImages" and self._lists else refusal
        if refusal:
            self.fake.calls.append(attempt(service, operation, request))
            raise aws_error(f"{service}:{operation}", refusal["code"], refusal["message"])
        return self.fake.call(service, operation, request)

    @property
    def apis(self) -> APIs:
        return apis(self, "us-west-2")


def attempt(service: str, operation: str, request: Request) -> Any:
    from karpy_aws.testing import Call

    return Call(service, operation, dict(request), NOW)


def told(image: AMI) -> dict[str, Any]:
    requirements = {key: [each.operator.value, *sorted(each.values)] for key, each in image.requirements.items()}
    return {
        "id": image.id,
        "name": image.name,
        "requirements": requirements,
        **({"deprecated": True} if image.deprecated else {}),
    }


def unordered(queries: Any) -> set[str]:
    """Requests without the order of their filters; the same question is asked once."""
    return {
        json.dumps({**query, "Filters": sorted(query["Filters"], key=lambda each: str(each["Name"]))}, sort_keys=True)
        for query in queries
    }


@pytest.mark.aws(
    "AWS-065", "AWS-066", "AWS-091", "AWS-092", "AWS-093", "AWS-094", "AWS-095", "AWS-096", "AWS-097", "AWS-099"
)
def test_images_are_those_that_karpenter_finds(shared: Path) -> None:
    unlike: dict[str, Any] = {}
    for line in lines(shared, "amis.jsonl"):
        account, wanted = Account(shared, line["world"]), line["expect"]
        node_class = decode_ec2_node_class(line["nodeClass"])
        lookup = ImageLookup(account.apis.ec2, account.apis.ssm, FakeClock(NOW))
        if line["name"] in KEEPS_ITS_IMAGES:
            with pytest.raises(AWSThrottled):
                lookup.images(node_class, line["options"]["kubernetesVersion"])
            continue
        found: ImagesFound | None = None
        try:
            found = lookup.images(node_class, line["options"]["kubernetesVersion"])
        except ProviderError:
            assert "error" in wanted, line["name"]
        asked = {
            "describeImages": unordered(account.fake.requests("DescribeImages")) == unordered(wanted["describeImages"]),
            "ssmParameters": sorted(request["Name"] for request in account.fake.requests("GetParameter"))
            == sorted(wanted["ssmParameters"]),
        }
        problems = [name for name, alike in asked.items() if not alike]
        if found is not None:
            problems += differences(shared, line, found)
        if problems:
            unlike[line["name"]] = problems
    assert not unlike


def differences(shared: Path, line: dict[str, Any], found: ImagesFound) -> list[Any]:
    wanted, images = line["expect"], [told(image) for image in found.images]
    problems: list[Any] = []
    if line["name"] in EVERY_KIND:
        problems += [image for image in wanted["amis"] if image not in images]
    elif images != wanted["amis"]:
        problems.append((images, wanted["amis"]))
    if found.reason != wanted["condition"]["reason"]:
        problems.append(found.reason)
    minutes = {"5m0s": 300.0, "1m0s": 60.0, "0s": None}
    if found.look_again_s != minutes[wanted["requeueAfter"]]:
        problems.append(found.look_again_s)
    node_class = decode_ec2_node_class(line["nodeClass"])
    types = instance_types(shared, line["world"], setup(node_class, line["options"]))
    chosen = {each.name: image.id for each in types if (image := image_of(each, found.images)) is not None}
    if line["name"] not in EVERY_KIND and chosen != wanted.get("amiOfInstanceType", {}):
        problems.append(chosen)
    return problems

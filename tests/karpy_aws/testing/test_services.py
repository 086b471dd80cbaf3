from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.api import items
from karpy_aws.errors import AWSError
from karpy_aws.testing import FakeAWS
from tests.karpy_aws.testing.worlds import described


def test_parameters_are_there_or_not(fake: FakeAWS) -> None:
    fake.world.parameters["/image"] = "ami-1"
    assert fake.apis.ssm.get_parameter({"Name": "/image"})["Parameter"]["Value"] == "ami-1"
    with pytest.raises(AWSError, match="ssm:GetParameter of /other: ParameterNotFound"):
        fake.apis.ssm.get_parameter({"Name": "/other"})


def profile(name: str = "p") -> dict[str, str]:
    return {"InstanceProfileName": name}


def test_a_profile_holds_one_role_and_goes_when_it_holds_none(fake: FakeAWS) -> None:
    iam = fake.apis.iam
    tag = {"Key": "team", "Value": "a"}
    iam.create_instance_profile({**profile(), "Path": "/karpenter/", "Tags": [tag]})
    with pytest.raises(AWSError, match="EntityAlreadyExists"):
        iam.create_instance_profile(profile())
    iam.add_role_to_instance_profile({**profile(), "RoleName": "node"})
    found = iam.get_instance_profile(profile())["InstanceProfile"]
    assert [role["RoleName"] for role in found["Roles"]] == ["node"]
    assert found["Tags"] == [tag]
    with pytest.raises(AWSError, match="LimitExceeded"):
        iam.add_role_to_instance_profile({**profile(), "RoleName": "node"})
    with pytest.raises(AWSError, match="DeleteConflict"):
        iam.delete_instance_profile(profile())
    iam.tag_instance_profile({**profile(), "Tags": [{"Key": "team", "Value": "b"}]})
    iam.remove_role_from_instance_profile({**profile(), "RoleName": "node"})
    iam.delete_instance_profile(profile())
    with pytest.raises(AWSError, match="NoSuchEntity"):
        iam.get_instance_profile(profile())


def test_a_role_that_is_not_there_cannot_be_added(fake: FakeAWS) -> None:
    fake.apis.iam.create_instance_profile(profile())
    with pytest.raises(AWSError, match=r"NoSuchEntity: The role with name nope"):
        fake.apis.iam.add_role_to_instance_profile({**profile(), "RoleName": "nope"})


def test_profiles_are_listed_by_path_in_pages(fake: FakeAWS) -> None:
    fake.world.page_size = 1
    for name, path in (("a", "/karpenter/x/"), ("b", "/other/"), ("c", "/karpenter/y/")):
        fake.apis.iam.create_instance_profile({**profile(name), "Path": path})
    found = items(fake.apis.iam.list_instance_profiles, {"PathPrefix": "/karpenter/"}, "InstanceProfiles")
    assert [item["InstanceProfileName"] for item in found] == ["a", "c"]


def received(fake: FakeAWS, **asked: Any) -> list[dict[str, Any]]:
    url = fake.apis.sqs.get_queue_url({"QueueName": "q"})["QueueUrl"]
    answer = fake.apis.sqs.receive_message({"QueueUrl": url, "VisibilityTimeout": 20, **asked})
    return list(answer.get("Messages", ()))


def test_a_message_is_hidden_comes_again_and_goes_when_deleted(fake: FakeAWS, clock: FakeClock) -> None:
    fake.world.queues["q"] = []
    fake.world.send("q", "hello", clock.now())
    [message] = received(fake, MessageSystemAttributeNames=["SentTimestamp"])
    assert message["Body"] == "hello"
    assert int(message["Attributes"]["SentTimestamp"]) == clock.now() * 1_000
    assert received(fake) == []
    clock.advance(20)
    [again] = received(fake)
    assert again["MessageId"] == message["MessageId"]
    url = fake.apis.sqs.get_queue_url({"QueueName": "q"})["QueueUrl"]
    fake.apis.sqs.delete_message({"QueueUrl": url, "ReceiptHandle": again["ReceiptHandle"]})
    clock.advance(20)
    assert received(fake) == []


def test_a_queue_gives_ten_messages_at_most(fake: FakeAWS, clock: FakeClock) -> None:
    fake.world.queues["q"] = []
    for number in range(12):
        fake.world.send("q", str(number), clock.now())
    assert [len(received(fake, MaxNumberOfMessages=10)) for _ in range(3)] == [10, 2, 0]
    with pytest.raises(AWSError, match="MaxNumberOfMessages"):
        received(fake, MaxNumberOfMessages=11)


def test_a_missing_queue_is_told(fake: FakeAWS) -> None:
    with pytest.raises(AWSError, match=r"sqs:GetQueueUrl of q: AWS\.SimpleQueueService\.NonExistentQueue"):
        received(fake)


def products(fake: FakeAWS, **attributes: str) -> dict[str, float]:
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in attributes.items()]
    found = {}
    for text in items(fake.apis.pricing.get_products, {"ServiceCode": "AmazonEC2", "Filters": filters}, "PriceList"):
        product = json.loads(text)
        [term] = product["terms"]["OnDemand"].values()
        [dimension] = term["priceDimensions"].values()
        found[product["product"]["attributes"]["instanceType"]] = float(dimension["pricePerUnit"]["USD"])
    return found


def test_prices_are_told_by_product_family_and_tenancy(fake: FakeAWS) -> None:
    fake.world.instance_types["m5.metal"] = described("m5.metal", 96, is_metal=True)
    fake.world.on_demand_prices["m5.metal"] = 4.608
    usual: Mapping[str, str] = {
        "regionCode": "us-west-2",
        "serviceCode": "AmazonEC2",
        "preInstalledSw": "NA",
        "operatingSystem": "Linux",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    shared = products(fake, **usual, tenancy="Shared", productFamily="Compute Instance")
    assert shared == {"m5.large": 0.096, "m5.xlarge": 0.192, "m7g.large": 0.0816}
    metal = products(fake, **usual, tenancy="Dedicated", productFamily="Compute Instance (bare metal)")
    assert metal == {"m5.metal": 4.608}
    assert products(fake, regionCode="eu-west-1") == {}


def test_the_cluster_is_described(fake: FakeAWS) -> None:
    fake.world.clusters["c"] = {"version": "1.34", "endpoint": "https://c"}
    assert fake.apis.eks.describe_cluster({"name": "c"})["cluster"]["version"] == "1.34"
    with pytest.raises(AWSError, match="eks:DescribeCluster of d: ResourceNotFoundException"):
        fake.apis.eks.describe_cluster({"name": "d"})


def test_a_zonal_shift_is_told(fake: FakeAWS) -> None:
    arn = "arn:aws:eks:us-west-2:111122223333:cluster/c"
    shift = {
        "appliedStatus": "APPLIED",
        "awayFrom": "usw2-az1",
        "comment": "drill",
        "expiryTime": 1.0,
        "resourceIdentifier": arn,
        "startTime": 0.0,
        "zonalShiftId": "shift-1",
    }
    fake.world.managed_resources[arn] = {"zonalShifts": [shift]}
    found = fake.apis.zonal_shift.get_managed_resource({"resourceIdentifier": arn})
    assert found["zonalShifts"][0]["awayFrom"] == "usw2-az1"
    with pytest.raises(
        AWSError, match="arc-zonal-shift:GetManagedResource of another-cluster: ResourceNotFoundException"
    ):
        fake.apis.zonal_shift.get_managed_resource({"resourceIdentifier": "another-cluster"})

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from karpy.errors import InternalError, Throttled
from karpy.testing.clock import FakeClock
from karpy_aws.api import SERVICES, items
from karpy_aws.batching import WINDOWS, BatchedEC2, Window
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.testing import Buckets, FakeAWS, Limit
from karpy_aws.testing.cloud import _HANDLERS
from tests.karpy_aws.testing.worlds import fleet, launch_template, region


def test_every_call_that_karpy_makes_is_answered() -> None:
    asked = {
        service: {"".join(map(str.capitalize, name.split("_"))) for name in vars(protocol) if not name.startswith("_")}
        for service, protocol in SERVICES.items()
    }
    assert asked == {service: set(handlers) for service, handlers in _HANDLERS.items()}


def test_a_wrong_parameter_cannot_pass(fake: FakeAWS) -> None:
    with pytest.raises(AWSError, match=r'(?s)ec2:DescribeSubnets: InvalidRequest: .*Unknown parameter.*"SubnetId"'):
        fake.apis.ec2.describe_subnets({"SubnetId": "subnet-a"})
    with pytest.raises(AWSError, match="Missing required parameter"):
        fake.apis.ec2.create_fleet({"Type": "instant"})
    with pytest.raises(AWSError, match="The filter 'subnet' is invalid"):
        fake.apis.ec2.describe_subnets({"Filters": [{"Name": "subnet", "Values": ["subnet-a"]}]})


def test_an_answer_that_aws_would_not_give_is_found(fake: FakeAWS) -> None:
    fake.world.subnets["subnet-a"]["AvailableIpAddressCount"] = "many"
    with pytest.raises(InternalError, match="AvailableIpAddressCount"):
        fake.apis.ec2.describe_subnets({})


def test_who_asks_must_be_allowed_to(fake: FakeAWS) -> None:
    fake.world.denied = {"ec2:DescribeSubnets", "iam:GetInstanceProfile"}
    with pytest.raises(AWSError, match=r"UnauthorizedOperation: .*\(the controller's role needs ec2:DescribeSubnets\)"):
        fake.apis.ec2.describe_subnets({})
    with pytest.raises(AWSError, match=r"iam:GetInstanceProfile of p: AccessDenied: ") as caught:
        fake.apis.iam.get_instance_profile({"InstanceProfileName": "p"})
    assert caught.value.has(ErrorClass.UNAUTHORIZED)


def test_calls_can_be_made_to_fail(fake: FakeAWS) -> None:
    fake.world.fail("DescribeSubnets", "ExpiredToken", "The security token included in the request is expired", times=2)
    for _ in range(2):
        with pytest.raises(AWSError, match=r"ExpiredToken: .* valid credentials"):
            fake.apis.ec2.describe_subnets({})
    assert fake.apis.ec2.describe_subnets({})["Subnets"]


@pytest.mark.aws("AWS-250")
def test_a_dry_run_answers_with_an_error_of_its_own(fake: FakeAWS) -> None:
    launch_template(fake)
    for call, request in (
        (fake.apis.ec2.describe_instance_types, {}),
        (fake.apis.ec2.create_fleet, fleet()),
        (fake.apis.ec2.run_instances, {"MinCount": 1, "MaxCount": 1}),
    ):
        with pytest.raises(AWSError, match="DryRunOperation") as caught:
            call({**request, "DryRun": True})
        assert caught.value.has(ErrorClass.DRY_RUN_SUCCEEDED)
    assert not fake.world.instances


def test_calls_are_remembered(fake: FakeAWS, clock: FakeClock) -> None:
    fake.apis.ec2.describe_subnets({"SubnetIds": ["subnet-a"]})
    [call] = fake.calls
    assert (call.name, call.request, call.at) == ("ec2:DescribeSubnets", {"SubnetIds": ["subnet-a"]}, clock.now())
    assert fake.requests("DescribeSubnets") == [{"SubnetIds": ["subnet-a"]}]


def test_what_is_answered_is_nobodys_to_change(fake: FakeAWS) -> None:
    fake.apis.ec2.describe_subnets({})["Subnets"][0]["AvailableIpAddressCount"] = 0
    assert fake.apis.ec2.describe_subnets({})["Subnets"][0]["AvailableIpAddressCount"] == 100


def test_ec2_throttles_by_token_buckets(clock: FakeClock) -> None:
    limits = {"reads": Limit(2, 1), "changes": Limit(5, 1), "machines": Limit(10, 2)}
    fake = FakeAWS(region(clock), clock=clock, buckets=Buckets(limits))
    launch_template(fake)
    for _ in range(2):
        fake.apis.ec2.describe_subnets({})
    with pytest.raises(Throttled, match="RequestLimitExceeded"):
        fake.apis.ec2.describe_subnets({})
    clock.advance(1)
    fake.apis.ec2.describe_subnets({})
    fake.apis.ec2.create_fleet(fleet(count=9))
    with pytest.raises(Throttled):
        fake.apis.ec2.create_fleet(fleet(count=5))  # machines count, and one a second is not enough for them
    fake.apis.ec2.create_fleet(fleet(count=1))
    with pytest.raises(AWSError, match="NonExistentQueue"):
        fake.apis.sqs.get_queue_url({"QueueName": "q"})  # other services have limits of their own


def test_what_was_made_is_not_found_at_once(fake: FakeAWS, clock: FakeClock) -> None:
    fake.world.lag_s = 2
    launch_template(fake)
    with pytest.raises(AWSError, match=r"InvalidLaunchTemplateName\.NotFoundException"):
        fake.apis.ec2.create_fleet(fleet())
    clock.advance(2)
    [entry] = fake.apis.ec2.create_fleet(fleet())["Instances"]
    with pytest.raises(AWSError, match=r"InvalidInstanceID\.NotFound"):
        fake.apis.ec2.describe_instances({"InstanceIds": entry["InstanceIds"]})
    assert fake.apis.ec2.describe_instances({})["Reservations"] == []
    clock.advance(2)
    assert len(fake.apis.ec2.describe_instances({"InstanceIds": entry["InstanceIds"]})["Reservations"]) == 1


@pytest.mark.parametrize(
    ("service", "call", "request_", "member", "count"),
    [
        ("ec2", "describe_subnets", {}, "Subnets", 2),
        ("ec2", "describe_instance_types", {}, "InstanceTypes", 3),
        ("ec2", "describe_instance_type_offerings", {"LocationType": "availability-zone"}, "InstanceTypeOfferings", 6),
        ("ec2", "describe_spot_price_history", {}, "SpotPriceHistory", 6),
        ("ec2", "describe_images", {}, "Images", 2),
        ("pricing", "get_products", {"ServiceCode": "AmazonEC2"}, "PriceList", 12),
    ],
)
def test_every_list_comes_in_pages(
    fake: FakeAWS, service: str, call: str, request_: dict[str, str], member: str, count: int
) -> None:
    fake.world.page_size = 1
    found = list(items(getattr(getattr(fake.apis, service), call), {**request_, "MaxResults": 100}, member))
    assert len(found) == count
    assert len(fake.calls) == count


def test_a_token_that_was_not_given_out_is_refused(fake: FakeAWS) -> None:
    with pytest.raises(AWSError, match="InvalidNextToken"):
        fake.apis.ec2.describe_subnets({"MaxResults": 5, "NextToken": "elsewhere"})
    with pytest.raises(AWSError, match=r"Value \( 5000 \) for parameter maxResults is invalid"):
        fake.apis.ec2.describe_subnets({"MaxResults": 5_000})


@pytest.mark.aws("AWS-213", "AWS-214", "AWS-215")
def test_many_callers_at_once_are_few_calls_and_each_has_a_machine_of_its_own(fake: FakeAWS) -> None:
    """A batch closes when it is full, so that neither the number of calls nor anything else hangs on time."""
    launch_template(fake)
    callers = 50
    batches = BatchedEC2(fake.apis.ec2, windows=dict.fromkeys(WINDOWS, Window(600, 600, callers)))

    def live(_caller: int) -> str:
        [entry] = batches.create_fleet(fleet())["Instances"]
        [id_] = entry["InstanceIds"]
        [found] = batches.describe_instances({"InstanceIds": [id_]})["Reservations"]
        assert [machine["InstanceId"] for machine in found["Instances"]] == [id_]
        assert batches.terminate_instances({"InstanceIds": [id_]})["TerminatingInstances"]
        return str(id_)

    with ThreadPoolExecutor(callers) as pool:
        assert len(set(pool.map(live, range(callers)))) == callers
    assert [call.operation for call in fake.calls[1:]] == ["CreateFleet", "DescribeInstances", "TerminateInstances"]

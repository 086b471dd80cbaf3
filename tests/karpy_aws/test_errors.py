from __future__ import annotations

from pathlib import Path

import pytest

from karpy.errors import ProviderError, Throttled
from karpy_aws.errors import AWSError, ErrorClass, aws_error, classify, launch_reason, permissions, resource_named_in
from tests.vectors import read

RECORDED = {  # the names that the recorded answers have for what an error means
    "fleetUnfulfillable": ErrorClass.UNFULFILLABLE,
    "fleetInsufficientAddresses": ErrorClass.NO_ADDRESSES,
    "fleetReservationExceeded": ErrorClass.RESERVATION_EXCEEDED,
    "fleetSpreadLimit": ErrorClass.SPREAD_LIMIT,
    "fleetServiceLinkedRole": ErrorClass.NO_SERVICE_LINKED_ROLE,
    "notFound": ErrorClass.NOT_FOUND,
    "launchTemplateNotFound": ErrorClass.LAUNCH_TEMPLATE_NOT_FOUND,
    "instanceProfileNotFound": ErrorClass.INSTANCE_PROFILE_NOT_FOUND,
    "alreadyExists": ErrorClass.ALREADY_EXISTS,
    "userDataTooLarge": ErrorClass.USER_DATA_TOO_LARGE,
    "unauthorized": ErrorClass.UNAUTHORIZED,
    "rateLimited": ErrorClass.THROTTLED,
    "dryRunSuccess": ErrorClass.DRY_RUN_SUCCEEDED,
    "serverError": ErrorClass.SERVER,
}
WIDER = {  # code: what it means to karpy beside what was recorded, and why
    "AWS.SimpleQueueService.NonExistentQueue": {ErrorClass.NOT_FOUND},  # SQS's other spelling of QueueDoesNotExist
    "AccessDenied": {ErrorClass.UNAUTHORIZED},  # as IAM, SQS and EKS say UnauthorizedOperation
    "Throttling": {ErrorClass.THROTTLED},  # as IAM and SSM say RequestLimitExceeded
}


def test_every_recorded_error_means_what_was_recorded(shared: Path) -> None:
    lines = list(read(shared, "aws/error_codes.jsonl"))
    assert lines
    for line in lines:
        code, message = line["code"], line["message"]
        found = classify(code, message, 500 if line["fault"] == "server" else 400)
        expected = line["expect"]
        assert found == {RECORDED[name] for name in expected["is"]} | WIDER.get(code, set()), line["name"]
        reason = launch_reason(code, message)
        assert (reason.reason, reason.message) == (expected["reason"], expected["reasonMessage"]), line["name"]
        assert (reason.reason, reason.message) == (expected["fleetReason"], expected["fleetReasonMessage"]), line[
            "name"
        ]


@pytest.mark.aws("AWS-078")
@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("with an explicit deny in a permissions boundary", "permission boundary"),
        ("with an explicit deny in a service control policy", "service control policy"),
        ("because no identity-based policy allows the ec2:RunInstances action", "no identity-based policy"),
    ],
)
def test_a_refusal_tells_who_refused(message: str, told: str) -> None:
    reason = launch_reason("UnauthorizedOperation", f"You are not authorized to perform this operation: {message}")
    assert reason.reason == "Unauthorized"
    assert told in reason.message


def test_an_error_names_call_resource_and_permission() -> None:
    error = aws_error("ec2:TerminateInstances", "UnauthorizedOperation", "You may not.", status=403, resource="i-1")
    assert str(error) == (
        "ec2:TerminateInstances of i-1: UnauthorizedOperation: You may not. "
        "(the controller's role needs ec2:TerminateInstances)"
    )
    assert isinstance(error, ProviderError)
    assert not error.retryable


def test_launching_needs_more_than_its_own_permission() -> None:
    assert permissions("ec2:CreateFleet") == ("ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateTags", "iam:PassRole")
    assert permissions("ssm:GetParameter") == ("ssm:GetParameter",)


@pytest.mark.parametrize(
    "code", ["CredentialsMissing", "ExpiredToken", "RequestExpired", "UnrecognizedClientException"]
)
def test_an_error_of_credentials_says_where_they_come_from(code: str) -> None:
    error = AWSError("ec2:DescribeSubnets", code, "no.")
    assert "IRSA, EKS Pod Identity or an AWS profile" in str(error)
    assert error.retryable  # a token is renewed in the background


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "Throttling", "ThrottlingException"])
def test_throttling_is_the_cores_throttling(code: str) -> None:
    error = aws_error("ec2:DescribeSubnets", code)
    assert isinstance(error, Throttled)
    assert isinstance(error, AWSError)
    assert error.retryable
    assert not error.retry_after_s


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [
        ("InternalError", 500, True),
        ("Unavailable", 503, True),
        ("InsufficientInstanceCapacity", 400, True),
        ("InvalidSubnetID.NotFound", 400, False),
        ("InvalidParameterValue", 400, False),
        ("NoSuchEntity", 404, False),
        ("UnauthorizedOperation", 403, False),
    ],
)
def test_what_may_succeed_later_is_retryable(code: str, status: int, retryable: bool) -> None:
    assert aws_error("ec2:CreateFleet", code, status=status).retryable is retryable


def test_what_a_request_is_about_is_read_from_it() -> None:
    specification = {"LaunchTemplateSpecification": {"LaunchTemplateName": "karpenter.k8s.aws/1", "Version": "$Latest"}}
    assert resource_named_in({"Type": "instant", "LaunchTemplateConfigs": [specification]}) == "karpenter.k8s.aws/1"
    assert resource_named_in({"name": "my-cluster"}) == "my-cluster"
    assert resource_named_in({"Filters": [{"Name": "tag:team", "Values": ["a", "b"]}]}) == "tag:team=a|b"
    assert resource_named_in({"MaxResults": 100}) == ""

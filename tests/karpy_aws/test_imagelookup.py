from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import ProviderError
from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError, AWSThrottled
from karpy_aws.imagelookup import ImageLookup
from karpy_aws.images import parameters
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodeclass import SelectorTerm
from karpy_aws.testing import FakeAWS, World

DAY = 24 * 3600.0


def image(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "ImageId": f"ami-{number}",
        "Name": f"image-{number}",
        "Architecture": "x86_64",
        "State": "available",
        "OwnerId": "602401143452",
        "CreationDate": f"2026-01-{number:02}T00:00:00.000Z",
        **fields,
    }


def node_class(**term: str) -> NodeClass:
    return NodeClass(name="web", origin=EC2_NODE_CLASS, ami_family="AL2023", ami_selector_terms=(SelectorTerm(**term),))


ALIASED = node_class(alias="al2023@latest")
STANDARD = parameters(ALIASED, "1.34")[0].path


class Account:
    """A cloud with three images, the first of which is the family's newest."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.world = World(parameters={STANDARD: "ami-1"})
        self.world.load(images=[image(number) for number in (1, 2, 3)])
        self.fake = FakeAWS(self.world, clock=self.clock)
        self.lookup = ImageLookup(self.fake.apis.ec2, self.fake.apis.ssm, self.clock)

    def ids(self, of: NodeClass = ALIASED) -> list[str]:
        return [each.id for each in self.lookup.images(of, "1.34").images]

    def asked(self, operation: str) -> int:
        return len(self.fake.requests(operation))


@pytest.fixture
def account() -> Account:
    return Account()


@pytest.mark.aws("AWS-098")
def test_lists_are_remembered_for_a_minute_and_parameters_for_a_day(account: Account) -> None:
    assert account.ids() == ["ami-1"]
    missing = len(parameters(ALIASED, "1.34")) - 1  # what does not exist is asked for again
    account.clock.advance(59)
    assert account.ids() == ["ami-1"]
    assert (account.asked("DescribeImages"), account.asked("GetParameter")) == (1, 1 + 2 * missing)
    account.clock.advance(1)
    account.ids()
    assert (account.asked("DescribeImages"), account.asked("GetParameter")) == (2, 1 + 3 * missing)
    account.clock.advance(DAY)
    account.world.parameters[STANDARD] = "ami-2"
    assert account.ids() == ["ami-2"]


@pytest.mark.aws("AWS-098")
def test_classes_that_ask_the_same_share_the_answer(account: Account) -> None:
    for of in (node_class(id="ami-1"), node_class(id="ami-1"), node_class(name="image-2")):
        account.lookup.images(of, "1.34")
    assert account.asked("DescribeImages") == 2


def test_a_users_parameter_is_read_again_after_five_minutes(account: Account) -> None:
    account.world.parameters["/mine"] = "ami-1"
    assert account.ids(node_class(ssm_parameter="/mine")) == ["ami-1"]
    account.world.parameters["/mine"] = "ami-3"
    account.clock.advance(299)
    assert account.ids(node_class(ssm_parameter="/mine")) == ["ami-1"]
    account.clock.advance(1)
    assert account.ids(node_class(ssm_parameter="/mine")) == ["ami-3"]


@pytest.mark.aws("AWS-065", "AWS-093")
def test_a_parameter_that_cannot_be_read_keeps_its_last_value_and_says_so(account: Account) -> None:
    account.ids()
    account.clock.advance(DAY)
    account.world.fail("GetParameter", "ThrottlingException", "slow down")
    found = account.lookup.images(ALIASED, "1.34")
    assert [each.id for each in found.images] == ["ami-1"]
    (kept,) = found.kept
    assert kept.startswith(f"{STANDARD} is still taken to be ami-1: ssm:GetParameter of /aws")
    assert kept.endswith("ThrottlingException: slow down")
    account.clock.advance(1)
    assert account.lookup.images(ALIASED, "1.34").kept == ()


@pytest.mark.aws("AWS-093")
def test_what_was_never_read_is_no_reason_to_drop_an_image(account: Account) -> None:
    account.world.fail("GetParameter", "ThrottlingException", "slow down")
    with pytest.raises(AWSThrottled):
        account.ids()
    assert account.ids() == ["ami-1"]


@pytest.mark.aws("AWS-099")
def test_a_users_parameter_that_may_not_be_read_names_the_permission(account: Account) -> None:
    account.world.denied.add("ssm:GetParameter")
    with pytest.raises(AWSError, match="needs ssm:GetParameter"):
        account.ids(node_class(ssm_parameter="/mine"))


@pytest.mark.aws("AWS-065")
def test_a_parameter_that_is_gone_takes_its_image_along(account: Account) -> None:
    account.ids()
    account.clock.advance(DAY)
    account.world.parameters.clear()
    with pytest.raises(
        ProviderError, match=r"no image exists for alias al2023@latest: none of these parameters does: /aws"
    ):
        account.ids()


def test_conditions_are_karpenters(account: Account) -> None:
    found = account.lookup.images(ALIASED, "1.34")
    assert (found.reason, found.message, found.look_again_s) == ("AMIsReady", "", 300)
    none = account.lookup.images(node_class(id="ami-404"), "1.34")
    assert (none.reason, none.message, none.look_again_s) == ("AMINotFound", "AMISelector did not match any AMIs", 60)
    never = account.lookup.images(node_class(alias="al2@latest"), "1.34")
    assert (never.reason, never.look_again_s) == ("UnsupportedAlias", None)
    assert never.message == "images of AL2 end with Kubernetes 1.32, and the cluster runs 1.34: use AL2023"


@pytest.mark.aws("AWS-101")
def test_the_newest_image_is_asked_for_again_once_it_is_deprecated(account: Account) -> None:
    account.world.parameters["/mine"] = "ami-1"
    account.ids(node_class(ssm_parameter="/mine"))
    account.ids()
    assert account.lookup.forget_deprecated() == ()
    account.world.images["ami-1"]["DeprecationTime"] = "2020-01-01T00:00:00.000Z"
    account.clock.advance(60)
    assert account.lookup.forget_deprecated() == (STANDARD,)
    account.world.parameters[STANDARD] = "ami-2"
    assert account.ids() == ["ami-2"]


@pytest.mark.aws("AWS-101")
def test_pinned_images_are_not_asked_for_again(account: Account) -> None:
    pinned = node_class(alias="al2023@v20260801")
    account.world.parameters[parameters(pinned, "1.34")[0].path] = "ami-1"
    account.world.images["ami-1"]["DeprecationTime"] = "2020-01-01T00:00:00.000Z"
    assert account.ids(pinned) == ["ami-1"]
    assert account.lookup.forget_deprecated() == ()
    assert account.asked("DescribeImages") == 1

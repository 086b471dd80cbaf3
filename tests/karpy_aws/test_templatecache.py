from __future__ import annotations

import threading

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.launchtemplates import LaunchTemplate
from karpy_aws.templatecache import IDLE_S, LaunchTemplateCache
from karpy_aws.testing import FakeAWS, World


def template(name: str, node_class: str = "web", cluster: str = "shop") -> LaunchTemplate:
    tags = [
        {"Key": "eks:eks-cluster-name", "Value": cluster},
        {"Key": "karpenter.k8s.aws/ec2nodeclass", "Value": node_class},
    ]
    request = {
        "LaunchTemplateName": name,
        "LaunchTemplateData": {"ImageId": "ami-1"},
        "TagSpecifications": [{"ResourceType": "launch-template", "Tags": tags}],
    }
    return LaunchTemplate(name=name, types=(), request=request)


A, B = template("karpenter.k8s.aws/1"), template("karpenter.k8s.aws/2")


class Account:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.world = World()
        self.fake = FakeAWS(self.world, clock=self.clock)
        self.cache = self.another_life()

    def another_life(self) -> LaunchTemplateCache:
        return LaunchTemplateCache(self.fake.apis.ec2, self.clock, cluster="shop")

    def launch(self, *templates: LaunchTemplate) -> None:
        with self.cache.using(templates):
            assert all(each.name in self.world.launch_templates for each in templates)

    def calls(self, operation: str) -> int:
        return len(self.fake.requests(operation))


@pytest.fixture
def account() -> Account:
    return Account()


@pytest.mark.aws("AWS-156")
def test_a_template_is_made_once(account: Account) -> None:
    account.launch(A, B)
    account.launch(A)
    assert account.calls("CreateLaunchTemplate") == 2
    assert account.calls("DescribeLaunchTemplates") == 2


def test_one_that_is_there_already_is_found(account: Account) -> None:
    account.launch(A)
    account.cache = account.another_life()
    account.launch(A)
    assert account.calls("CreateLaunchTemplate") == 1


def test_whoever_was_faster_made_the_same_one(account: Account) -> None:
    account.world.lag_s = 5
    account.launch(A)
    account.cache = account.another_life()
    account.launch(A)  # EC2 does not find it yet, and will not have it made twice
    assert account.calls("CreateLaunchTemplate") == 2
    account.clock.advance(IDLE_S)
    assert account.cache.collect() == (A.name,)


def test_a_template_of_the_users_own_is_left_to_the_user(account: Account) -> None:
    with account.cache.using([LaunchTemplate(name="mine", types=())]):
        assert account.fake.calls == []
    account.clock.advance(2 * IDLE_S)
    assert account.cache.collect() == ()


def test_templates_are_removed_when_nobody_has_launched_from_them_for_a_while(account: Account) -> None:
    account.launch(A, B)
    account.clock.advance(IDLE_S - 1)
    account.launch(B)
    assert account.cache.collect() == ()
    account.clock.advance(1)
    assert account.cache.collect() == (A.name,)
    assert account.world.launch_templates.keys() == {B.name}
    account.launch(A)
    assert account.calls("CreateLaunchTemplate") == 3


def test_a_template_that_a_launch_is_using_is_never_removed(account: Account) -> None:
    with account.cache.using([A]):
        account.clock.advance(2 * IDLE_S)
        assert account.cache.collect() == ()
    assert account.cache.collect() == ()
    account.clock.advance(IDLE_S)
    assert account.cache.collect() == (A.name,)


def test_templates_of_an_earlier_life_are_removed_too_and_other_clusters_are_not(account: Account) -> None:
    account.launch(A, template("karpenter.k8s.aws/3", cluster="other"))
    account.cache = account.another_life()
    assert account.cache.load() == 1
    account.clock.advance(IDLE_S)
    assert account.cache.collect() == (A.name,)
    assert account.world.launch_templates.keys() == {"karpenter.k8s.aws/3"}


@pytest.mark.aws("AWS-157", "AWS-212")
def test_one_that_was_removed_behind_karpys_back_is_made_anew(account: Account) -> None:
    account.launch(A)
    account.clock.advance(60)
    account.world.launch_templates.clear()
    account.cache.forget([A.name, "karpenter.k8s.aws/unheard-of"])
    account.launch(A)
    assert account.calls("CreateLaunchTemplate") == 2


def test_one_that_ec2_does_not_find_yet_is_not_made_again(account: Account) -> None:
    account.launch(A)
    for _ in range(3):
        account.cache.forget([A.name])
        account.launch(A)
    assert (account.calls("DescribeLaunchTemplates"), account.calls("CreateLaunchTemplate")) == (1, 1)
    account.clock.advance(5)
    account.cache.forget([A.name])
    account.launch(A)
    assert account.calls("DescribeLaunchTemplates") == 2, "by now EC2 would find it"


def test_one_that_is_gone_needs_no_removing(account: Account) -> None:
    account.launch(A)
    account.world.launch_templates.clear()
    account.clock.advance(IDLE_S)
    assert account.cache.collect() == (A.name,)
    assert account.cache.collect() == ()


def test_what_ec2_would_not_remove_is_tried_again(account: Account) -> None:
    account.launch(A, B)
    account.clock.advance(IDLE_S)
    account.world.fail("DeleteLaunchTemplate", "RequestLimitExceeded")
    with pytest.raises(AWSError, match="RequestLimitExceeded"):
        account.cache.collect()
    assert account.world.launch_templates.keys() == {A.name}
    assert account.cache.collect() == (A.name,)


@pytest.mark.parametrize("operation", ["DescribeLaunchTemplates", "CreateLaunchTemplate"])
def test_a_launch_whose_template_cannot_be_made_holds_nothing(account: Account, operation: str) -> None:
    account.world.fail(operation, "InternalError", status=500)
    with pytest.raises(AWSError, match="InternalError"):
        account.launch(A, B)
    account.clock.advance(IDLE_S)
    account.cache.collect()
    assert not account.world.launch_templates


@pytest.mark.aws("AWS-087")
def test_templates_of_a_class_that_goes_away_are_removed(account: Account) -> None:
    account.launch(A, template("karpenter.k8s.aws/3", node_class="batch"))
    assert account.cache.remove_of_class("web") == (A.name,)
    assert account.world.launch_templates.keys() == {"karpenter.k8s.aws/3"}
    account.launch(A)
    assert A.name in account.world.launch_templates


def test_launches_at_once_make_one_template(account: Account) -> None:
    threads = [threading.Thread(target=account.launch, args=(A, B)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.calls("CreateLaunchTemplate") == 2

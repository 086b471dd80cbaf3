from __future__ import annotations

import attrs
import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.profiles import Profiles, WantedProfile, garbage, profile_name, role_name
from karpy_aws.testing import FakeAWS, World

WANTED = WantedProfile(class_name="default", class_uid="uid-1", role="nodes", tags={"team": "a"})
NAME = profile_name("mine", "us-west-2", WANTED)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeAWS:
    return FakeAWS(World(roles={"nodes", "others"}), clock=clock, check_answers=True)


@pytest.fixture
def profiles(fake: FakeAWS, clock: FakeClock) -> Profiles:
    return Profiles(fake.apis.iam, "mine", "us-west-2", clock=clock)


def writes(fake: FakeAWS) -> list[str]:
    """The calls since the last time that change something."""
    found = [call.operation for call in fake.calls if not call.operation.startswith(("Get", "List"))]
    fake.calls.clear()
    return found


def roles(fake: FakeAWS, name: str) -> list[str]:
    return [role["RoleName"] for role in fake.world.profiles[name]["Roles"]]


@pytest.mark.aws("AWS-071", "AWS-075", "AWS-077")
def test_a_profile_is_made_under_the_path_of_its_class(profiles: Profiles, fake: FakeAWS) -> None:
    assert profiles.ensure(WANTED) == NAME
    made = fake.world.profiles[NAME]
    assert made["Path"] == "/karpenter/us-west-2/mine/uid-1/"
    assert {tag["Key"]: tag["Value"] for tag in made["Tags"]} == {
        "team": "a",
        "kubernetes.io/cluster/mine": "owned",
        "eks:eks-cluster-name": "mine",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "topology.kubernetes.io/region": "us-west-2",
    }
    assert roles(fake, NAME) == ["nodes"]


@pytest.mark.aws("AWS-071")
def test_a_profile_that_is_right_is_left_alone(profiles: Profiles, fake: FakeAWS, clock: FakeClock) -> None:
    name = profiles.ensure(WANTED)
    writes(fake)
    clock.advance(3_600)
    assert profiles.ensure(WANTED, current=name) == name
    assert writes(fake) == []


@pytest.mark.aws("AWS-071")
def test_a_profile_without_a_role_gets_it_and_a_wrong_role_is_replaced(
    profiles: Profiles, fake: FakeAWS, clock: FakeClock
) -> None:
    profiles.ensure(WANTED)
    for instead in ("", "others"):
        fake.apis.iam.remove_role_from_instance_profile({"InstanceProfileName": NAME, "RoleName": "nodes"})
        if instead:
            fake.apis.iam.add_role_to_instance_profile({"InstanceProfileName": NAME, "RoleName": instead})
        clock.advance(900)  # for so long it is believed to be right
        assert profiles.ensure(WANTED, current=NAME) == NAME
        assert roles(fake, NAME) == ["nodes"]


@pytest.mark.aws("AWS-071")
def test_iam_is_asked_once_in_a_quarter_of_an_hour(profiles: Profiles, fake: FakeAWS, clock: FakeClock) -> None:
    name = profiles.ensure(WANTED)
    fake.calls.clear()
    clock.advance(899)
    profiles.ensure(WANTED, current=name)
    assert fake.calls == []
    clock.advance(1)
    profiles.ensure(WANTED, current=name)
    assert [call.operation for call in fake.calls] == ["GetInstanceProfile"]


@pytest.mark.aws("AWS-072", "AWS-073")
def test_another_role_is_another_profile_and_both_are_kept(profiles: Profiles, fake: FakeAWS) -> None:
    first = profiles.ensure(WANTED)
    changed = attrs.evolve(WANTED, role="others")
    second = profiles.ensure(changed, current=first)
    assert second != first
    assert roles(fake, second) == ["others"]
    assert profiles.ensure(changed, current=first) == second  # the class's status may not say so yet
    assert profiles.collect_garbage(current=(), in_use=()) == ()
    assert fake.world.profiles.keys() == {first, second}


def test_a_profile_of_another_name_stays_if_it_has_the_role(profiles: Profiles, fake: FakeAWS) -> None:
    fake.apis.iam.create_instance_profile({"InstanceProfileName": "mine_1"})
    fake.apis.iam.add_role_to_instance_profile({"InstanceProfileName": "mine_1", "RoleName": "nodes"})
    assert profiles.ensure(WANTED, current="mine_1") == "mine_1"


@pytest.mark.aws("AWS-075")
def test_classes_of_one_role_have_profiles_of_their_own(profiles: Profiles) -> None:
    assert profiles.ensure(WANTED) != profiles.ensure(attrs.evolve(WANTED, class_uid="uid-2"))


@pytest.mark.aws("AWS-073")
def test_a_profile_that_was_forgotten_is_found_again(profiles: Profiles, fake: FakeAWS, clock: FakeClock) -> None:
    """A process that dies between making a profile and writing its name down leaves none behind."""
    profiles.ensure(WANTED)
    assert Profiles(fake.apis.iam, "mine", "us-west-2", clock=clock).ensure(WANTED) == NAME
    assert fake.world.profiles.keys() == {NAME}


@pytest.mark.aws("AWS-075")
def test_what_iam_does_not_answer_is_told(profiles: Profiles, fake: FakeAWS) -> None:
    fake.world.fail("GetInstanceProfile", "ServiceFailure", status=500)
    with pytest.raises(AWSError, match=f"iam:GetInstanceProfile of {NAME}: ServiceFailure"):
        profiles.ensure(WANTED)
    assert writes(fake) == []


@pytest.mark.aws("AWS-075")
def test_a_profile_that_cannot_be_finished_is_deleted(profiles: Profiles, fake: FakeAWS) -> None:
    fake.world.denied = {"iam:AddRoleToInstanceProfile"}
    with pytest.raises(AWSError, match=r"needs iam:AddRoleToInstanceProfile and iam:PassRole"):
        profiles.ensure(WANTED)
    assert fake.world.profiles == {}
    fake.world.denied = {"iam:AddRoleToInstanceProfile", "iam:DeleteInstanceProfile"}
    with pytest.raises(AWSError, match="iam:AddRoleToInstanceProfile"):
        profiles.ensure(WANTED)


@pytest.mark.aws("AWS-076")
def test_a_role_that_is_not_there_is_asked_for_once_a_minute(
    profiles: Profiles, fake: FakeAWS, clock: FakeClock
) -> None:
    absent = attrs.evolve(WANTED, role="absent")
    for _ in range(3):
        with pytest.raises(AWSError, match="NoSuchEntity: The role with name absent"):
            profiles.ensure(absent)
    assert writes(fake).count("CreateInstanceProfile") == 1
    clock.advance(60)
    assert fake.world.roles is not None
    fake.world.roles.add("absent")
    profiles.ensure(absent)
    assert writes(fake) == ["CreateInstanceProfile", "AddRoleToInstanceProfile"]


@pytest.mark.aws("AWS-077")
def test_a_role_is_named_without_its_path(profiles: Profiles, fake: FakeAWS) -> None:
    name = profiles.ensure(attrs.evolve(WANTED, role="team/of/nodes"))
    assert (role_name("team/of/nodes"), name) == ("nodes", NAME)
    assert roles(fake, name) == ["nodes"]


@pytest.mark.aws("AWS-087")
def test_the_profiles_of_a_class_go_with_it(profiles: Profiles, fake: FakeAWS) -> None:
    profiles.ensure(WANTED)
    profiles.ensure(attrs.evolve(WANTED, role="others"))
    other = profiles.ensure(attrs.evolve(WANTED, class_uid="uid-2"))
    profiles.delete_of_class("uid-1")
    assert fake.world.profiles.keys() == {other}
    profiles.delete("mine_legacy")  # one that is not there is fine


@pytest.mark.aws("AWS-087")
def test_a_profile_that_may_not_be_deleted_is_told(profiles: Profiles, fake: FakeAWS) -> None:
    profiles.ensure(WANTED)
    fake.world.denied = {"iam:RemoveRoleFromInstanceProfile"}
    with pytest.raises(AWSError, match=f"iam:RemoveRoleFromInstanceProfile of {NAME}: AccessDenied"):
        profiles.delete(NAME)


@pytest.mark.aws("AWS-090")
def test_profiles_that_nothing_needs_are_collected(profiles: Profiles, fake: FakeAWS, clock: FakeClock) -> None:
    names = [profiles.ensure(attrs.evolve(WANTED, class_uid=f"uid-{number}")) for number in range(4)]
    assert profiles.collect_garbage((), ()) == ()  # machines may be under way with them
    clock.advance(3_600)
    profiles.ensure(attrs.evolve(WANTED, class_uid="uid-3"))
    fake.apis.iam.create_instance_profile({"InstanceProfileName": "somebody-elses", "Path": "/"})
    assert set(profiles.collect_garbage(current=names[:1], in_use=names[1:2])) == set(names[2:3])
    assert fake.world.profiles.keys() == {*names[:2], names[3], "somebody-elses"}


@pytest.mark.aws("AWS-090")
def test_one_that_cannot_be_deleted_does_not_hold_up_the_others(
    profiles: Profiles, fake: FakeAWS, clock: FakeClock
) -> None:
    for number in range(2):
        profiles.ensure(attrs.evolve(WANTED, class_uid=f"uid-{number}"))
    clock.advance(3_600)
    fake.world.fail("DeleteInstanceProfile", "ServiceFailure", status=500)
    assert len(profiles.collect_garbage((), ())) == 1
    assert len(profiles.collect_garbage((), ())) == 1
    assert fake.world.profiles == {}


@pytest.mark.aws("AWS-250")
def test_a_path_that_was_not_filtered_by_is_looked_at(fake: FakeAWS, clock: FakeClock) -> None:
    fake.apis.iam.create_instance_profile({"InstanceProfileName": "somebody-elses", "Path": "/elsewhere/"})

    class Careless:
        def __getattr__(self, name: str) -> object:
            return getattr(fake.apis.iam, name)

        def list_instance_profiles(self, request: dict[str, str]) -> dict[str, object]:
            return fake.apis.iam.list_instance_profiles({})

    profiles = Profiles(Careless(), "mine", "us-west-2", clock=clock)  # type: ignore[arg-type]  # its names are not declared
    assert profiles.collect_garbage((), ()) == ()
    assert fake.world.profiles


def test_what_is_garbage_is_what_nothing_needs() -> None:
    assert garbage(["a", "b", "c", "d"], current={"a"}, in_use={"b"}, protected={"c"}) == ("d",)

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import InstanceType
from karpy.cloud.provider import Instance
from karpy.errors import CreateFailed, InsufficientCapacity, NodeClassNotReady, ProviderError, Throttled
from karpy.objects.kinds import PROVISIONER, Kind
from karpy.objects.meta import Condition, ObjectMeta
from karpy.objects.nodeclaim import NodeClaim
from karpy.requirements import Requirement, Requirements
from karpy.testing.clock import FakeClock
from karpy_aws.api import EC2API, Request, Response, apis
from karpy_aws.batching import WINDOWS, BatchedEC2, Window
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.errors import AWSError, aws_error
from karpy_aws.fleeterrors import FleetError
from karpy_aws.instances import Instances
from karpy_aws.launching import Launcher, LaunchNotes, Machinery
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.objects.status import AMI, NodeClassStatusFields, SecurityGroup, Subnet
from karpy_aws.reservations import ReservationCounts
from karpy_aws.subnets import SubnetAddresses
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.testing import FakeAWS
from karpy_aws.unavailable import OfferingKey, UnavailableOfferings
from tests.karpy_aws.sold import built, described
from tests.karpy_aws.testing.worlds import launch_template, region

A, B = "us-west-2a", "us-west-2b"
SUBNETS = (Subnet("subnet-a", A, "usw2-az2"), Subnet("subnet-b", B, "usw2-az1"))
STATUS = NodeClassStatusFields(
    subnets=SUBNETS,
    security_groups=(SecurityGroup("sg-1"),),
    amis=(AMI(id="ami-x86_64"),),
    instance_profile="shop-profile",
)
CLASS = NodeClass(name="web", origin=EC2_NODE_CLASS, ami_family="AL2023", status=STATUS)
TYPES = tuple(built(described(name), NodeSetup(subnets=SUBNETS)) for name in ("m5.large", "m5.xlarge"))
SHOP = ClusterFacts(name="shop", endpoint="https://shop.example.com", service_cidr="10.100.0.0/16")
SOLD_OUT = "InsufficientInstanceCapacity"
MOST = Window(60.0, 60.0, 8)


def claim(name: str = "web-1", *kinds: str) -> NodeClaim:
    wanted = Requirements([Requirement.in_("karpenter.sh/capacity-type", *(kinds or ("on-demand",)))])
    return NodeClaim(
        name=name, metadata=ObjectMeta(name=name, labels={"karpenter.sh/nodepool": "web"}), requirements=wanted
    )


class Account:
    """An account with one cluster, and a karpy that launches in it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.world = region(self.clock)
        self.world.knows_every_profile = True
        self.fake = FakeAWS(self.world, clock=self.clock, check_answers=True)
        self.failures: list[tuple[str, FleetError]] = []
        self.warnings: list[str] = []
        self.start_anew()

    def start_anew(self, ec2: EC2API | None = None) -> None:
        """Another life of karpy, that knows nothing of the one before."""
        ec2 = ec2 or self.fake.apis.ec2
        self.unavailable, self.addresses = UnavailableOfferings(), SubnetAddresses()
        self.addresses.synced({subnet.id: 100 for subnet in SUBNETS})
        self.launcher = Launcher(
            Machinery(
                ec2=ec2,
                clock=self.clock,
                templates=LaunchTemplateCache(ec2, self.clock, cluster="shop"),
                instances=Instances(ec2, "shop", clock=self.clock),
                addresses=self.addresses,
                unavailable=self.unavailable,
                reservations=ReservationCounts(),
            ),
            region="us-west-2",
            notes=LaunchNotes(
                failed=lambda kind, error: self.failures.append((kind, error)),
                warned=lambda _claim, text: self.warnings.append(text),
            ),
        )

    def create(self, wanted: NodeClaim | None = None, node_class: NodeClass = CLASS, *types: InstanceType) -> Instance:
        return self.launcher.create(
            wanted or claim(), node_class, types or TYPES, cluster=SHOP, kubelet_of=lambda _type: {"maxPods": 29}
        )

    def calls(self, operation: str) -> int:
        return len(self.fake.requests(operation))

    @property
    def machines(self) -> dict[str, Mapping[str, Any]]:
        return self.world.instances

    def fails_in(self, zone: str, code: str, *, kind: str = "on-demand") -> None:
        for type_ in TYPES:
            self.world.pool_errors[kind, type_.name, zone] = (code, "sorry")


@pytest.fixture
def account() -> Account:
    return Account()


def test_a_claim_gets_the_machine_that_the_fleet_gave(account: Account) -> None:
    instance = account.create()
    [machine] = account.machines.values()
    assert instance.provider_id == f"aws:///{A}/{machine['InstanceId']}"
    assert (instance.claim, instance.image_id) == ("web-1", "ami-x86_64")
    assert instance.labels["node.kubernetes.io/instance-type"] == "m5.large"
    assert {"Key": "karpenter.sh/nodeclaim", "Value": "web-1"} in machine["Tags"]
    assert [call.operation for call in account.fake.calls] == [
        *("DescribeInstances", "DescribeLaunchTemplates", "CreateLaunchTemplate", "CreateFleet")
    ]


def test_the_next_claim_costs_one_call(account: Account) -> None:
    account.create()
    before = len(account.fake.calls)
    account.create(claim("web-2"))
    assert [call.operation for call in account.fake.calls[before:]] == ["CreateFleet"]


# Once for each claim


def test_a_claim_gets_one_machine_however_often_it_is_launched(account: Account) -> None:
    first = account.create()
    again = account.create()
    account.start_anew()
    in_another_life = account.create()
    assert first.provider_id == again.provider_id == in_another_life.provider_id
    assert again == first
    assert in_another_life.labels == first.labels
    assert len(account.machines) == 1


class Killed(BaseException):
    """karpy ends at once."""


def killed_at(account: Account, last: int, *, before: bool) -> EC2API:
    """EC2 for a life that ends with its call number ``last``: before EC2 hears of it, or before karpy hears of the answer."""
    calls = 0

    class Mortal:
        def call(self, service: str, operation: str, request: Request) -> Response:
            nonlocal calls
            calls += 1
            if calls == last and before:
                raise Killed
            try:
                return account.fake.call(service, operation, request)
            finally:
                if calls == last:
                    raise Killed

    return apis(Mortal(), "us-west-2").ec2


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("last", [1, 2, 3, 4])
def test_a_life_that_ends_at_any_call_leaves_no_second_machine(account: Account, last: int, before: bool) -> None:
    account.start_anew(killed_at(account, last, before=before))
    with pytest.raises(Killed):
        account.create()
    account.start_anew()
    account.create()
    assert len(account.machines) == 1


def answer_lost(account: Account) -> EC2API:
    """EC2 whose answer to the first fleet does not arrive."""

    class Lossy:
        def call(self, service: str, operation: str, request: Request) -> Response:
            answer = account.fake.call(service, operation, request)
            if operation == "CreateFleet" and account.calls("CreateFleet") == 1:
                raise aws_error("ec2:CreateFleet", "TimedOut", "no answer")
            return answer

    return apis(Lossy(), "us-west-2").ec2


def test_a_machine_whose_launch_was_not_answered_is_found(account: Account) -> None:
    account.start_anew(answer_lost(account))
    with pytest.raises(AWSError) as raised:
        account.create()
    assert not isinstance(raised.value, CreateFailed)  # which would say that there is no machine
    account.create()
    assert len(account.machines) == account.calls("CreateFleet") == 1


def test_a_machine_of_which_ec2_did_not_say_what_it_is_is_looked_up(account: Account) -> None:
    class Terse:
        def call(self, service: str, operation: str, request: Request) -> Response:
            answer = account.fake.call(service, operation, request)
            for entry in answer.get("Instances", ()) if operation == "CreateFleet" else ():
                entry.pop("LaunchTemplateAndOverrides")
            return answer

    account.start_anew(apis(Terse(), "us-west-2").ec2)
    with pytest.raises(ProviderError, match="did not say what it is"):
        account.create()
    assert account.create().labels["topology.kubernetes.io/zone"] == A
    assert len(account.machines) == 1


def test_a_claim_whose_machine_is_ending_gets_another(account: Account) -> None:
    account.world.shutdown_s = 60
    first = account.create()
    account.fake.apis.ec2.terminate_instances({"InstanceIds": [first.provider_id.rpartition("/")[2]]})
    assert account.create().provider_id != first.provider_id


def test_claims_that_want_the_same_at_the_same_time_share_a_fleet(account: Account) -> None:
    account.start_anew(BatchedEC2(account.fake.apis.ec2, windows={**WINDOWS, "create_fleet": MOST}))
    names = [f"web-{number}" for number in range(MOST.max_items)]
    with ThreadPoolExecutor(len(names)) as pool:
        instances = list(pool.map(lambda name: account.create(claim(name)), names))
    assert len({instance.provider_id for instance in instances}) == MOST.max_items
    assert [instance.claim for instance in instances] == names
    assert (
        account.calls("CreateFleet") == account.calls("CreateLaunchTemplate") == account.calls("DescribeInstances") == 1
    )
    assert account.create(claim(names[3])) == instances[3]


# What goes wrong, and what is learned of it


@pytest.mark.aws("AWS-146", "AWS-210")
def test_what_a_zone_is_out_of_is_marked_though_another_had_a_machine(account: Account) -> None:
    account.fails_in(A, SOLD_OUT)
    assert account.create().labels["topology.kubernetes.io/zone"] == B
    assert account.unavailable.at(account.clock.now()).offerings == {
        OfferingKey("on-demand", "m5.large", A),
    } | {OfferingKey("on-demand", error.instance_type, A) for _, error in account.failures}


@pytest.mark.aws("AWS-189", "AWS-191")
def test_a_region_that_is_out_of_everything_is_told_pool_by_pool(account: Account) -> None:
    account.fails_in(A, SOLD_OUT)
    account.fails_in(B, SOLD_OUT)
    with pytest.raises(InsufficientCapacity, match=SOLD_OUT):
        account.create()
    assert {(kind, each.code, each.zone, each.instance_type) for kind, each in account.failures} == {
        ("on-demand", SOLD_OUT, zone, type_.name) for zone in (A, B) for type_ in TYPES
    }


@pytest.mark.aws("AWS-207")
def test_after_a_launch_that_failed_all_addresses_are_free_again(account: Account) -> None:
    account.fails_in(A, SOLD_OUT)
    account.fails_in(B, SOLD_OUT)
    with pytest.raises(InsufficientCapacity):
        account.create()
    assert account.addresses.free() == {"subnet-a": 100, "subnet-b": 100}


@pytest.mark.aws("AWS-207")
def test_a_machine_takes_addresses_of_its_subnet_alone(account: Account) -> None:
    account.create()
    assert account.addresses.free() == {"subnet-a": 100 - TYPES[0].max_pods, "subnet-b": 100}


@pytest.mark.aws("AWS-207")
def test_a_subnet_without_addresses_is_marked_and_has_none(account: Account) -> None:
    account.fails_in(A, "InsufficientFreeAddressesInSubnet")
    account.create()
    assert account.unavailable.at(account.clock.now()).subnets == {"subnet-a"}
    assert account.addresses.free()["subnet-a"] == 0


@pytest.mark.aws("AWS-212")
@pytest.mark.parametrize("times", [1, 2])
def test_a_template_that_went_missing_is_made_anew_once(account: Account, times: int) -> None:
    account.create()
    account.clock.advance(60)
    account.world.launch_templates.clear()
    account.world.fail("CreateFleet", "InvalidLaunchTemplateName.NotFoundException", "gone", times=times)
    if times == 1:
        account.create(claim("web-2"))
        assert len(account.machines) == account.calls("CreateLaunchTemplate") == 2
    else:
        with pytest.raises(CreateFailed, match="Launch templates not found when creating fleet request"):
            account.create(claim("web-2"))
    assert account.calls("CreateFleet") == 3


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("CreateFleet", "Error creating fleet request: An internal error has occurred"),
        ("CreateLaunchTemplate", "Error getting launch template configs: An internal error has occurred"),
        ("DescribeLaunchTemplates", "Error getting launch template configs: An internal error has occurred"),
    ],
)
def test_a_call_that_fails_is_told_with_what_it_was_for(account: Account, operation: str, told: str) -> None:
    account.world.fail(operation, "InternalError", "oops", status=500)
    with pytest.raises(CreateFailed, match=told) as raised:
        account.create()
    assert raised.value.reason == "InternalError"
    assert f"ec2:{operation}" in str(raised.value)
    assert account.addresses.free() == {"subnet-a": 100, "subnet-b": 100}


def test_a_launch_that_ec2_slows_down_is_throttled_and_says_so(account: Account) -> None:
    account.world.fail("CreateFleet", "RequestLimitExceeded", "slow down", status=503)
    with pytest.raises(Throttled) as raised:
        account.create()
    assert isinstance(raised.value, CreateFailed)
    assert raised.value.reason == "RequestLimitExceeded"
    account.create()
    assert account.calls("DescribeInstances") == 1


@pytest.mark.aws("AWS-189")
def test_an_account_that_may_not_use_spot_is_warned_of_once(account: Account) -> None:
    account.world.has_spot_role = False
    with pytest.raises(InsufficientCapacity):
        account.create(claim("web-1", "spot"))
    code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
    assert account.warnings == [f'Attempted to launch a spot instance but failed due to "{code}"']
    assert account.unavailable.at(account.clock.now()).capacity_types == {"spot"}


@pytest.mark.aws("AWS-211")
def test_little_choice_on_demand_is_warned_of(account: Account) -> None:
    no_spot = [
        attrs.evolve(each, offerings=tuple(o for o in each.offerings if o.capacity_type != "spot")) for each in TYPES
    ]
    account.create(claim("web-1", "spot", "on-demand"), CLASS, *no_spot)
    assert "only has 2 instance type options" in account.warnings[0]


def test_a_class_without_images_says_so(account: Account) -> None:
    bare = attrs.evolve(CLASS, status=attrs.evolve(STATUS, amis=()))
    with pytest.raises(CreateFailed, match="names no image"):
        account.create(None, bare)


def test_a_machine_in_no_zone_that_the_class_has_a_subnet_in_is_none(account: Account) -> None:
    elsewhere = attrs.evolve(CLASS, status=attrs.evolve(STATUS, subnets=()))
    with pytest.raises(InsufficientCapacity, match="no capacity offerings are currently available"):
        account.create(None, elsewhere)


# Classes


@pytest.mark.aws("AWS-198")
@pytest.mark.parametrize(
    ("ready", "told"),
    [
        (Condition("Ready", "False", "SubnetsNotFound", "no subnets"), "no subnets"),
        (Condition("Ready", "False"), "web is not ready"),
        (Condition("Ready", "True", observed_generation=1), "has not been reconciled against the latest spec"),
    ],
)
def test_nothing_is_launched_from_a_class_that_is_not_ready(account: Account, ready: Condition, told: str) -> None:
    with pytest.raises(NodeClassNotReady, match=told):
        account.create(None, of_generation(2, ready))
    assert account.machines == {}


@pytest.mark.aws("AWS-198")
def test_a_class_that_may_be_ready_soon_is_waited_for(account: Account) -> None:
    with pytest.raises(CreateFailed, match="NodeClass is in Ready=Unknown") as raised:
        account.create(None, of_generation(2, Condition("Ready", "Unknown")))
    assert raised.value.reason == "NodeClassReadinessUnknown"


@pytest.mark.parametrize(
    "conditions",
    [(), (Condition("Ready", "True"),), (Condition("Ready", "True", observed_generation=2),)],
)
def test_a_class_that_is_ready_or_says_nothing_is_launched_from(
    account: Account, conditions: tuple[Condition, ...]
) -> None:
    assert account.create(None, of_generation(2, *conditions))


def of_generation(generation: int, *conditions: Condition) -> NodeClass:
    status = attrs.evolve(STATUS, conditions=conditions)
    return attrs.evolve(CLASS, metadata=ObjectMeta(name="web", generation=generation), status=status)


@pytest.mark.aws("AWS-161", "AWS-195")
@pytest.mark.parametrize("origin", [AWS_NODE_TEMPLATE, PROVISIONER])
def test_machines_of_older_generations_are_launched_and_found_again(account: Account, origin: Kind) -> None:
    older = attrs.evolve(CLASS, origin=origin, ami_family="AL2")
    instance = account.create(None, older)
    account.start_anew()
    assert account.create(None, older).provider_id == instance.provider_id


@pytest.mark.aws("AWS-184")
def test_a_template_of_the_users_own_is_used_as_it_is(account: Account) -> None:
    launch_template(account.fake, "mine", ImageId="ami-x86_64")
    before = account.calls("CreateLaunchTemplate")
    instance = account.create(None, attrs.evolve(CLASS, origin=AWS_NODE_TEMPLATE, launch_template="mine"))
    assert account.calls("CreateLaunchTemplate") == before
    assert instance.claim == "web-1"
    [machine] = account.machines.values()
    assert machine["ImageId"] == "ami-x86_64"

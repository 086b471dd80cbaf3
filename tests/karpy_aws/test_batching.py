from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import attrs
import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.api import Request, Response
from karpy_aws.batching import AT_ONCE, WINDOWS, BatchedEC2, Batcher, Pace, Window, deal_out
from karpy_aws.errors import AWSError

Answer = TypeVar("Answer")
WHEN_FULL = 3_600.0  # no test waits so long: a batch closes when the last of the callers joined


def full_at(count: int) -> dict[str, Window]:
    return {name: Window(WHEN_FULL, WHEN_FULL, count) for name in WINDOWS}


def together(*calls: Callable[[], Answer]) -> list[Answer | Exception]:
    """What each call returns or raises when all are made at the same time."""

    def outcome(call: Callable[[], Answer]) -> Answer | Exception:
        try:
            return call()
        except AWSError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(outcome, calls))


@attrs.define
class EC2:
    """Launches machines of one fleet until none are left, and knows some of them."""

    stock: int = 1_000
    errors: Sequence[dict[str, Any]] = ()
    known: set[str] = attrs.field(factory=set)
    stubborn: set[str] = attrs.field(factory=set)
    """Machines that only end when they are named alone."""
    calls: list[Request] = attrs.field(factory=list)

    def create_fleet(self, request: Request) -> Response:
        self.calls.append(request)
        wanted = request["TargetCapacitySpecification"]["TotalTargetCapacity"]
        first, launched = 1_000 - self.stock, min(wanted, self.stock)
        self.stock -= launched
        ids = [f"i-{number}" for number in range(first, first + launched)]
        instances = [{"InstanceType": "m5.large", "InstanceIds": ids}] if ids else []
        return {"FleetId": "fleet-1", "Instances": instances, "Errors": list(self.errors)}

    def describe_instances(self, request: Request) -> Response:
        self.calls.append(request)
        ids = request.get("InstanceIds") or sorted(self.known)
        if not self.known.issuperset(ids):
            raise AWSError("ec2:DescribeInstances", "InvalidInstanceID.NotFound", "no such instance")
        return {"Reservations": [{"OwnerId": "1", "Instances": [{"InstanceId": id_} for id_ in ids]}]}

    def terminate_instances(self, request: Request) -> Response:
        self.calls.append(request)
        ids = request["InstanceIds"]
        if not self.known.issuperset(ids):
            raise AWSError("ec2:TerminateInstances", "InvalidInstanceID.NotFound", "no such instance")
        left_alone = self.stubborn if len(ids) > 1 else set()
        states = {id_: "running" if id_ in left_alone else "shutting-down" for id_ in ids}
        return {"TerminatingInstances": [{"InstanceId": i, "CurrentState": {"Name": s}} for i, s in states.items()]}


def batched(ec2: EC2, count: int) -> BatchedEC2:
    return BatchedEC2(ec2, windows=full_at(count))  # type: ignore[arg-type]  # it has the three calls alone


def fleet(image: str = "ami-1", count: int = 1) -> Request:
    overrides = [{"ImageId": image, "InstanceType": "m5.large"}]
    return {
        "Type": "instant",
        "LaunchTemplateConfigs": [{"Overrides": overrides}],
        "TargetCapacitySpecification": {"TotalTargetCapacity": count, "DefaultTargetCapacityType": "spot"},
    }


def ids_of(answers: Sequence[Any]) -> list[str]:
    return sorted(id_ for answer in answers for entry in answer["Instances"] for id_ in entry["InstanceIds"])


@pytest.mark.aws("AWS-213")
def test_equal_launches_are_one_fleet() -> None:
    ec2 = EC2()
    batches = batched(ec2, 5)
    answers = together(*[lambda: batches.create_fleet(fleet())] * 5)
    assert [call["TargetCapacitySpecification"]["TotalTargetCapacity"] for call in ec2.calls] == [5]
    assert ids_of(answers) == ["i-0", "i-1", "i-2", "i-3", "i-4"]
    assert all(len(answer["Instances"]) == 1 for answer in answers if not isinstance(answer, Exception))


@pytest.mark.aws("AWS-213")
def test_launches_that_differ_are_fleets_of_their_own() -> None:
    ec2 = EC2()
    batches = batched(ec2, 2)
    together(*[lambda: batches.create_fleet(fleet("ami-1"))] * 2, *[lambda: batches.create_fleet(fleet("ami-2"))] * 2)
    assert sorted(call["LaunchTemplateConfigs"][0]["Overrides"][0]["ImageId"] for call in ec2.calls) == [
        "ami-1",
        "ami-2",
    ]


def tagged(claim: str) -> Request:
    tags = [{"Key": "karpenter.sh/nodeclaim", "Value": claim}, {"Key": "team", "Value": "a"}]
    return {**fleet(), "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}]}


@pytest.mark.aws("AWS-213")
def test_launches_for_different_claims_are_one_fleet_that_names_none() -> None:
    ec2 = EC2()
    batches = batched(ec2, 2)
    answers = together(*(partial(batches.create_fleet, tagged(claim)) for claim in ("web-1", "web-2")))
    assert ids_of(answers) == ["i-0", "i-1"]
    [request] = ec2.calls
    assert request["TagSpecifications"] == [{"ResourceType": "instance", "Tags": [{"Key": "team", "Value": "a"}]}]


def test_a_launch_that_nobody_joined_names_its_claim() -> None:
    ec2 = EC2()
    batched(ec2, 1).create_fleet(tagged("web-1"))
    assert ec2.calls == [tagged("web-1")]


@pytest.mark.aws("AWS-213")
def test_who_gets_no_machine_gets_the_fleets_errors() -> None:
    error = {"ErrorCode": "InsufficientInstanceCapacity", "ErrorMessage": "sold out"}
    batches = batched(EC2(stock=2, errors=[error]), 3)
    answers: list[Any] = together(*[lambda: batches.create_fleet(fleet())] * 3)
    assert len(ids_of(answers)) == 2
    assert [answer["Errors"] for answer in answers if not answer["Instances"]] == [[error]]


@pytest.mark.aws("AWS-213")
def test_who_gets_no_machine_and_no_error_is_told_so() -> None:
    [launched, failed] = deal_out({"FleetId": "fleet-1", "Instances": [{"InstanceIds": ["i-1"]}], "Errors": []}, 2)
    assert launched["Instances"] == [{"InstanceIds": ["i-1"]}]
    assert failed["Errors"][0]["ErrorCode"] == "TooFewInstances"


@pytest.mark.aws("AWS-213")
def test_an_error_of_the_call_is_everybodys() -> None:
    class Refusing(EC2):
        def create_fleet(self, request: Request) -> Response:
            raise AWSError("ec2:CreateFleet", "UnauthorizedOperation", "no")

    batches = batched(Refusing(), 3)
    assert [str(error)[:40] for error in together(*[lambda: batches.create_fleet(fleet())] * 3)] == [
        "ec2:CreateFleet: UnauthorizedOperation: "
    ] * 3


def test_surplus_machines_belong_to_nobody() -> None:
    [only] = deal_out({"Instances": [{"InstanceIds": ["i-1", "i-2"]}]}, 1)
    assert only["Instances"] == [{"InstanceIds": ["i-1"]}]


def test_a_fleet_of_several_machines_goes_out_by_itself() -> None:
    ec2 = EC2()
    assert ids_of([batched(ec2, 2).create_fleet(fleet(count=2))]) == ["i-0", "i-1"]


def reading(batches: BatchedEC2, id_: str, state: str = "running") -> Callable[[], Response]:
    filters = [{"Name": "instance-state-name", "Values": [state]}]
    return lambda: batches.describe_instances({"InstanceIds": [id_], "Filters": filters})


def seen(answer: Any) -> list[str]:
    return [instance["InstanceId"] for found in answer["Reservations"] for instance in found["Instances"]]


@pytest.mark.aws("AWS-214")
def test_reads_with_the_same_filters_are_one_call() -> None:
    ec2 = EC2(known={"i-1", "i-2"})
    batches = batched(ec2, 2)
    answers = together(reading(batches, "i-1"), reading(batches, "i-2"))
    assert [seen(answer) for answer in answers] == [["i-1"], ["i-2"]]
    assert len(ec2.calls) == 1
    together(*(reading(batches, id_, state) for id_ in ("i-1", "i-2") for state in ("running", "stopped")))
    assert len(ec2.calls) == 3


@pytest.mark.aws("AWS-214")
def test_an_unknown_machine_spoils_nobody_elses_read() -> None:
    ec2 = EC2(known={"i-1", "i-2"})
    batches = batched(ec2, 3)
    first, second, third = together(*(reading(batches, id_) for id_ in ("i-1", "i-2", "i-9")))
    assert seen(first) == ["i-1"]
    assert seen(second) == ["i-2"]
    assert isinstance(third, AWSError)
    assert sorted(call["InstanceIds"] for call in ec2.calls) == [["i-1"], ["i-1", "i-2", "i-9"], ["i-2"], ["i-9"]]


@pytest.mark.aws("AWS-214")
def test_a_list_of_everything_is_no_part_of_a_batch() -> None:
    assert seen(batched(EC2(known={"i-1", "i-2"}), 9).describe_instances({})) == ["i-1", "i-2"]


def ending(batches: BatchedEC2, id_: str) -> Callable[[], Response]:
    return lambda: batches.terminate_instances({"InstanceIds": [id_]})


@pytest.mark.aws("AWS-215")
def test_removals_are_one_call() -> None:
    ec2 = EC2(known={"i-1", "i-2"})
    batches = batched(ec2, 2)
    answers: list[Any] = together(ending(batches, "i-1"), ending(batches, "i-2"))
    assert [answer["TerminatingInstances"][0]["InstanceId"] for answer in answers] == ["i-1", "i-2"]
    assert [call["InstanceIds"] for call in ec2.calls] == [["i-1", "i-2"]]


@pytest.mark.aws("AWS-215")
def test_machines_that_did_not_end_are_named_alone() -> None:
    ec2 = EC2(known={"i-1", "i-2"}, stubborn={"i-2"})
    batches = batched(ec2, 2)
    answers: list[Any] = together(ending(batches, "i-1"), ending(batches, "i-2"))
    assert [answer["TerminatingInstances"][0]["CurrentState"]["Name"] for answer in answers] == ["shutting-down"] * 2
    assert [call["InstanceIds"] for call in ec2.calls] == [["i-1", "i-2"], ["i-2"]]


@pytest.mark.aws("AWS-215")
def test_an_unknown_machine_spoils_nobody_elses_removal() -> None:
    ec2 = EC2(known={"i-1"})
    batches = batched(ec2, 2)
    ended, missing = together(ending(batches, "i-1"), ending(batches, "i-9"))
    assert not isinstance(ended, Exception)
    assert isinstance(missing, AWSError)


class Joining:
    """Stands in for waiting: time passes, and at set times somebody else joins."""

    def __init__(self, clock: FakeClock, *times: float) -> None:
        self.clock = clock
        self.start = clock.now()
        self.times = list(times)
        self.join: Callable[[], object] = lambda: None

    def __call__(self, _condition: threading.Condition, seconds: float) -> None:
        due = self.start + self.times[0] if self.times else self.clock.now() + seconds
        if due - self.clock.now() >= seconds:
            self.clock.advance(seconds)
        else:
            self.clock.advance(due - self.clock.now())
            self.times.pop(0)
            self.join()


def closed_after(window: Window, *joins: float, pace: Pace | None = None) -> tuple[float, int]:
    """When a batch was answered that was joined at these times after it was opened, and how many items it had."""
    clock = FakeClock()
    wait = Joining(clock, *joins)
    batches: list[int] = []
    batcher = Batcher[int, int](
        "test", window, lambda found: batches.append(len(found)) or list(found), pace=pace, clock=clock, wait=wait
    )
    wait.join = lambda: batcher._join("key", 1)
    opened = clock.now()
    batcher.submit("key", 0)
    return round(clock.now() - opened, 6), batches[0]


@pytest.mark.aws("AWS-216")
def test_a_batch_closes_when_nobody_joined_for_a_while() -> None:
    assert closed_after(Window(0.1, 1.0, 500)) == (0.1, 1)
    assert closed_after(Window(0.1, 1.0, 500), 0.05, 0.14) == (0.24, 3)


@pytest.mark.aws("AWS-216")
def test_a_batch_that_is_joined_again_and_again_closes_at_last() -> None:
    assert closed_after(Window(0.1, 1.0, 500), *(number * 0.09 for number in range(1, 30))) == (1.0, 12)


@pytest.mark.aws("AWS-216")
def test_a_full_batch_closes_at_once() -> None:
    assert closed_after(Window(0.1, 1.0, 3), 0.01, 0.02, 0.03) == (0.02, 3)


@pytest.mark.aws("AWS-216")
def test_the_windows_are_karpenters() -> None:
    assert WINDOWS["create_fleet"] == Window(0.035, 1.0, 1_000)
    assert WINDOWS["describe_instances"] == WINDOWS["terminate_instances"] == Window(0.1, 1.0, 500)


def spent(pace: Pace, turns: int, now: float) -> Pace:
    assert [pace.claim(now) for _ in range(turns)] == [0.0] * turns
    return pace


def test_a_pace_allows_some_calls_at_once_and_then_so_many_a_second() -> None:
    pace = spent(Pace(3, 2), 3, now=100.0)
    assert pace.claim(100.0) == 0.5
    assert pace.claim(100.25) == 0.25
    assert spent(pace, 1, now=100.5).claim(100.5) == 0.5
    assert spent(pace, 3, now=200.0).claim(200.0) == 0.5


def test_a_batch_stays_open_while_it_waits_for_its_turn() -> None:
    start = FakeClock().now()
    assert closed_after(Window(0.1, 1.0, 500), 0.3, 0.45, pace=spent(Pace(1, 2), 1, start)) == (0.55, 3)
    assert closed_after(Window(0.1, 1.0, 500), pace=spent(Pace(1, 0.5), 1, start)) == (2.0, 1)


def test_a_full_batch_waits_for_its_turn_too() -> None:
    start = FakeClock().now()
    assert closed_after(Window(0.1, 1.0, 2), 0.05, pace=spent(Pace(1, 2), 1, start)) == (0.5, 2)


def test_alone_in_a_world_of_one_thread_nobody_waits() -> None:
    batches = BatchedEC2(EC2(known={"i-1"}), windows=AT_ONCE, clock=FakeClock())  # type: ignore[arg-type]
    assert seen(batches.describe_instances({"InstanceIds": ["i-1"]})) == ["i-1"]


def test_each_call_is_told_with_how_many_it_stands_for() -> None:
    told: list[tuple[str, int]] = []
    batches = BatchedEC2(
        EC2(),  # type: ignore[arg-type]
        windows=full_at(3),
        observe=lambda name, size, _seconds: told.append((name, size)),
    )
    together(*[lambda: batches.create_fleet(fleet())] * 3)
    assert told == [("create_fleet", 3)]

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.clock import parse_time
from karpy.cloud.notices import GivingNotice, Notice, NoticeKind
from karpy.errors import InvalidObject
from karpy.testing.clock import FakeClock
from karpy_aws.errors import AWSError
from karpy_aws.interruption import Event, InterruptionQueue, read_body
from karpy_aws.testing import FakeAWS, World
from tests.vectors import read

DELIBERATE = {
    "state-STOPPED": "a machine that is stopped is not one that is terminated, however the state is spelled",
}
SPOT = "EC2 Spot Instance Interruption Warning"


def event(kind: str, detail: Any, *, source: str = "aws.ec2", **more: Any) -> str:
    return json.dumps({"version": "0", "source": source, "detail-type": kind, "detail": detail, **more})


def about(id_: str, **more: str) -> dict[str, str]:
    return {"instance-id": id_, **more}


def parsed(body: str | None) -> dict[str, Any]:
    """As the recorded answers write it; what is wrong is told in other words there."""
    try:
        found = read_body(body)
    except InvalidObject:
        return {"error": True}
    return {"instanceIDs": list(found.instance_ids), "kind": found.kind.value or "no_op"}


def recorded(expected: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in expected:
        return {"error": True}
    return {"instanceIDs": list(dict.fromkeys(filter(None, expected["instanceIDs"]))), "kind": expected["kind"]}


@pytest.mark.aws("AWS-225", "AWS-226", "AWS-230")
def test_every_recorded_message_is_understood_as_recorded(shared: Path) -> None:
    lines = list(read(shared, "aws/interruption.jsonl"))
    assert lines
    for line in lines:
        found, expected = [parsed(body) for body in line["bodies"]], [*map(recorded, line["expect"]["parsed"])]
        assert (found == expected) is (line["name"] not in DELIBERATE), line["name"]


@pytest.mark.aws("AWS-225", "AWS-226")
def test_every_recorded_message_is_a_notice_and_deleted_when_dealt_with(shared: Path) -> None:
    for line in read(shared, "aws/interruption.jsonl"):
        fake, clock = FakeAWS(World(queues={"q": []}), clock=FakeClock(), check_answers=True), FakeClock()
        for body in line["bodies"]:
            fake.world.send("q", body, clock.now())
        queue = InterruptionQueue(fake.apis.sqs, "q", lambda id_: f"aws:///zone/{id_}", clock=clock)
        found = []
        while notices := queue.messages():
            found.extend(notices)
            for notice in notices:
                queue.acknowledge(notice)
        assert fake.world.queues["q"] == []
        assert len(fake.requests("DeleteMessage")) == line["expect"]["messagesDeleted"], line["name"]
        known = {claim["status"]["providerID"].rpartition("/")[2]: claim["metadata"] for claim in line["nodeClaims"]}
        given_up = {
            known[id_]["name"]
            for notice in found
            if notice.kind not in (NoticeKind.UNREADABLE, NoticeKind.REBALANCE)
            and (id_ := notice.provider_id.rpartition("/")[2]) in known
            and "deletionTimestamp" not in known[id_]
        }
        assert given_up == set(line["expect"]["nodeClaimsDeleted"]), line["name"]


@pytest.mark.aws("AWS-225")
def test_a_warning_says_when_the_machine_goes() -> None:
    found = read_body(event(SPOT, about("i-1"), time="2026-08-21T11:59:00Z"))
    assert found == Event(NoticeKind.SPOT_INTERRUPTION, ("i-1",), parse_time("2026-08-21T11:59:00Z"))
    assert found.due == parse_time("2026-08-21T12:01:00Z")
    assert (
        read_body(event("EC2 Instance Rebalance Recommendation", about("i-1"), time="2026-08-21T11:59:00Z")).due is None
    )


@pytest.mark.aws("AWS-226")
@pytest.mark.parametrize("state", ["pending", "running", "rebooting", ""])
def test_a_machine_that_boots_or_runs_is_no_news(state: str) -> None:
    body = event("EC2 Instance State-change Notification", about("i-1", state=state))
    assert read_body(body).kind is NoticeKind.UNREADABLE


@pytest.mark.aws("AWS-226")
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (None, "no body"),
        ("hello", "is no JSON"),
        ("[]", "found a list"),
        ("[" * 100_000, "is no JSON"),
        (event(SPOT, "text"), "detail: found 'text' (accepted: an object)"),
        (event(SPOT, {"instance-id": 5}), "detail.instance-id: found 5 (accepted: a text)"),
        (event(SPOT, {}, time="yesterday"), "'yesterday' is not a time"),
        (
            event("AWS Health Event", {"affectedEntities": [1]}, source="aws.health"),
            "detail.affectedEntities: found a list",
        ),
    ],
)
def test_what_cannot_be_read_is_told(body: str | None, problem: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        read_body(body)
    assert problem in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
NEARLY_EVENTS = st.fixed_dictionaries(
    {
        "version": st.just("0") | JSON,
        "source": st.sampled_from(["aws.ec2", "aws.health"]) | JSON,
        "detail-type": st.sampled_from([SPOT, "EC2 Instance State-change Notification", "AWS Health Event"]) | JSON,
        "detail": st.dictionaries(
            st.sampled_from(["instance-id", "state", "service", "eventTypeCategory", "affectedEntities"]), JSON
        )
        | JSON,
    },
    optional={"time": JSON | st.just("2026-08-21T11:59:00Z"), "id": JSON},
)


@given(st.text() | JSON.map(json.dumps) | NEARLY_EVENTS.map(json.dumps))
def test_whatever_is_in_a_queue_is_an_event_or_refused(body: str) -> None:
    try:
        found = read_body(body)
    except InvalidObject:
        return
    assert found.kind in NoticeKind
    assert all(isinstance(id_, str) and id_ for id_ in found.instance_ids)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeAWS:
    return FakeAWS(World(queues={"q": []}), clock=clock, check_answers=True)


@pytest.fixture
def queue(fake: FakeAWS, clock: FakeClock) -> InterruptionQueue:
    return InterruptionQueue(fake.apis.sqs, "q", lambda id_: f"aws:///us-west-2a/{id_}", clock=clock)


def test_a_queue_gives_notice_as_the_core_wants_it(queue: InterruptionQueue, fake: FakeAWS, clock: FakeClock) -> None:
    assert isinstance(queue, GivingNotice)
    fake.world.send("q", event(SPOT, about("i-1"), time="2026-01-05T08:59:30Z"), clock.now())
    [notice] = queue.messages()
    assert notice == Notice(
        id=f"{fake.world.queues['q'][0]['MessageId']}/0",
        kind=NoticeKind.SPOT_INTERRUPTION,
        provider_id="aws:///us-west-2a/i-1",
        sent=clock.now(),
        due=parse_time("2026-01-05T09:01:30Z"),
    )


def test_a_queue_is_asked_as_karpenter_asks(queue: InterruptionQueue, fake: FakeAWS) -> None:
    queue.messages()
    assert [call.operation for call in fake.calls] == ["GetQueueUrl", "ReceiveMessage"]
    asked = fake.requests("ReceiveMessage")[0]
    assert (asked["MaxNumberOfMessages"], asked["VisibilityTimeout"], asked["WaitTimeSeconds"]) == (10, 20, 20)


def test_a_notice_that_was_not_dealt_with_comes_again(
    queue: InterruptionQueue, fake: FakeAWS, clock: FakeClock
) -> None:
    fake.world.send("q", event(SPOT, about("i-1")), clock.now())
    [first] = queue.messages()
    assert queue.messages() == []
    clock.advance(20)
    assert queue.messages() == [first]


@pytest.mark.aws("AWS-225")
def test_a_message_about_several_machines_is_deleted_with_the_last_of_them(
    queue: InterruptionQueue, fake: FakeAWS, clock: FakeClock
) -> None:
    entities = [{"entityValue": id_} for id_ in ("i-1", "i-2", "i-1")]
    detail = {"service": "EC2", "eventTypeCategory": "scheduledChange", "affectedEntities": entities}
    fake.world.send("q", event("AWS Health Event", detail, source="aws.health"), clock.now())
    first, second = queue.messages()
    assert (first.provider_id, second.provider_id) == ("aws:///us-west-2a/i-1", "aws:///us-west-2a/i-2")
    queue.acknowledge(second)
    queue.acknowledge(second)
    assert fake.world.queues["q"]
    queue.acknowledge(first)
    assert not fake.world.queues["q"]


@pytest.mark.aws("AWS-225")
def test_many_messages_come_ten_at_a_time(queue: InterruptionQueue, fake: FakeAWS, clock: FakeClock) -> None:
    for number in range(25):
        fake.world.send("q", event(SPOT, about(f"i-{number}")), clock.now())
    assert [len(queue.messages(100)) for _ in range(4)] == [10, 10, 5, 0]


@pytest.mark.aws("AWS-228")
def test_a_missing_queue_is_named_and_found_when_it_comes(queue: InterruptionQueue, fake: FakeAWS) -> None:
    del fake.world.queues["q"]
    with pytest.raises(AWSError, match=r"sqs:GetQueueUrl of q: AWS\.SimpleQueueService\.NonExistentQueue"):
        queue.messages()
    fake.world.queues["q"] = []
    assert queue.messages() == []
    del fake.world.queues["q"]
    with pytest.raises(AWSError, match=r"sqs:ReceiveMessage of https://.*/q: "):
        queue.messages()
    fake.world.queues["q"] = []
    assert queue.messages() == []


@pytest.mark.aws("AWS-228")
def test_a_queue_that_may_not_be_read_names_the_permission(queue: InterruptionQueue, fake: FakeAWS) -> None:
    fake.world.denied = {"sqs:ReceiveMessage"}
    with pytest.raises(AWSError, match=r"AccessDenied: .*the controller's role needs sqs:ReceiveMessage"):
        queue.messages()

"""What AWS announces of machines through a queue: EventBridge's events, each in a message of SQS.

`read_body` understands one event, `InterruptionQueue` receives and deletes messages. A queue is often shared: what is about
something else, or cannot be read, is a notice of no kind, so that it is deleted and does not come again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from karpy.clock import Clock, SystemClock, parse_time
from karpy.cloud.notices import Notice, NoticeKind
from karpy.errors import InvalidObject, standing
from karpy_aws.api import SQSAPI
from karpy_aws.errors import AWSError, ErrorClass

__all__ = ["Event", "InterruptionQueue", "read_body"]

_WARNING_S: Final = 120.0
"""How long a spot machine has left when it is warned."""


@attrs.frozen
class Event:
    """What one message says. ``kind`` is UNREADABLE when it says nothing of machines that anything is done for."""

    kind: NoticeKind
    instance_ids: tuple[str, ...] = ()
    time: float | None = None
    state: str = ""

    @property
    def due(self) -> float | None:
        """When it happens, where that is known."""
        return None if self.time is None or self.kind is not NoticeKind.SPOT_INTERRUPTION else self.time + _WARNING_S


def read_body(body: str | None) -> Event:
    """The event in a message.

    Raises:
        InvalidObject: the body is no event, or one of a known kind that does not hold what it must.
    """
    if body is None:
        raise InvalidObject("the message has no body")
    if not body:
        return _NOTHING
    try:
        event = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:  # a queue that others write to may hold anything
        raise InvalidObject(f"the message's body is no JSON: {error}") from None
    if event is None:
        return _NOTHING
    if not isinstance(event, dict):
        raise InvalidObject(f"found {standing(event)}", accepted="an EventBridge event")
    version, source, kind = (_text(event, member) for member in ("version", "source", "detail-type"))
    for member in ("id", "account", "region"):
        _text(event, member)
    told = event.get("time")
    time = None if told is None else parse_time(_text(event, "time"))
    read = _READERS.get((version, source, kind))
    if read is None:
        return _NOTHING
    return attrs.evolve(read(_object(event, "detail")), time=time)


_NOTHING: Final = Event(NoticeKind.UNREADABLE)


def _text(parent: Mapping[str, Any], member: str, path: str = "") -> str:
    found = parent.get(member)
    if found is not None and not isinstance(found, str):
        raise InvalidObject(f"found {standing(found)}", path=path + member, accepted="a text")
    return found or ""


def _object(parent: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    found = parent.get(member)
    if found is not None and not isinstance(found, dict):
        raise InvalidObject(f"found {standing(found)}", path=member, accepted="an object")
    return found or {}


def _one_machine(kind: NoticeKind) -> Callable[[Mapping[str, Any]], Event]:
    def read(detail: Mapping[str, Any]) -> Event:
        return Event(kind, _ids(_text(detail, "instance-id", "detail.")))

    return read


def _ids(*ids: str) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(id_ for id_ in ids if id_))


_STATES: Final = {
    "stopping": NoticeKind.STOPPED,
    "stopped": NoticeKind.STOPPED,
    "shutting-down": NoticeKind.TERMINATED,
    "terminated": NoticeKind.TERMINATED,
}


def _state_change(detail: Mapping[str, Any]) -> Event:
    """Machines that boot and run are no news."""
    state = _text(detail, "state", "detail.").lower()
    ids = _ids(_text(detail, "instance-id", "detail."))
    return Event(_STATES[state], ids, state=state) if state in _STATES else _NOTHING


def _health(detail: Mapping[str, Any]) -> Event:
    """AWS Health tells of much; only what will be done to machines of EC2 counts."""
    service, category = (_text(detail, member, "detail.") for member in ("service", "eventTypeCategory"))
    entities = detail.get("affectedEntities") or ()
    if not isinstance(entities, list | tuple) or not all(isinstance(entity, dict) for entity in entities):
        raise InvalidObject(f"found {standing(entities)}", path="detail.affectedEntities", accepted="a list of objects")
    ids = _ids(*(_text(entity, "entityValue", "detail.affectedEntities.") for entity in entities))
    if (service, category) != ("EC2", "scheduledChange"):
        return _NOTHING
    return Event(NoticeKind.SCHEDULED_CHANGE, ids)


_READERS: Final[Mapping[tuple[str, str, str], Callable[[Mapping[str, Any]], Event]]] = {
    ("0", "aws.ec2", "EC2 Spot Instance Interruption Warning"): _one_machine(NoticeKind.SPOT_INTERRUPTION),
    ("0", "aws.ec2", "EC2 Instance Rebalance Recommendation"): _one_machine(NoticeKind.REBALANCE),
    ("0", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"): _one_machine(
        NoticeKind.RESERVATION_INTERRUPTION
    ),
    ("0", "aws.ec2", "EC2 Instance State-change Notification"): _state_change,
    ("0", "aws.health", "AWS Health Event"): _health,
}
"""By version, source and detail-type; letters count."""

_BATCH: Final = 10
_VISIBILITY_S: Final = 20
_LONG_POLL_S: Final = 20


@attrs.define
class _Pending:
    """A message of which some notices were not dealt with yet."""

    receipt: str
    left: set[str]


class InterruptionQueue:
    """The queue as `karpy.cloud.notices.GivingNotice` has it.

    A message about several machines is a notice for each, and is deleted when all of them were acknowledged. ``provider_id`` says
    what an instance id is called in the cluster: an event names no zone.
    """

    def __init__(
        self,
        sqs: SQSAPI,
        name: str,
        provider_id: Callable[[str], str],
        *,
        clock: Clock | None = None,
        wait_s: int = _LONG_POLL_S,
    ) -> None:
        self._sqs = sqs
        self._name = name
        self._provider_id = provider_id
        self._clock = clock or SystemClock()
        self._wait_s = wait_s
        self._url = ""
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()

    def messages(self, most: int = _BATCH) -> Sequence[Notice]:
        """The notices of up to ``most`` messages. Waits for some, up to twenty seconds.

        Raises:
            AWSError: naming the queue, when it is missing or the caller may not read it.
        """
        answer = self._on_queue(
            self._sqs.receive_message,
            {
                "MaxNumberOfMessages": min(most, _BATCH),
                "VisibilityTimeout": _VISIBILITY_S,
                "WaitTimeSeconds": self._wait_s,
                "MessageSystemAttributeNames": ["SentTimestamp"],
                "MessageAttributeNames": ["All"],
            },
        )
        return [notice for message in answer.get("Messages") or () for notice in self._notices(message)]

    def acknowledge(self, notice: Notice) -> None:
        """Delete the message with the last of its notices."""
        message_id = notice.id.partition("/")[0]
        with self._lock:
            pending = self._pending.get(message_id)
            if pending is None:
                return
            pending.left.discard(notice.id)
            if pending.left:
                return
            del self._pending[message_id]
        self._on_queue(self._sqs.delete_message, {"ReceiptHandle": pending.receipt})

    def _notices(self, message: Mapping[str, Any]) -> list[Notice]:
        try:
            event = read_body(message.get("Body"))
        except InvalidObject:
            event = _NOTHING
        sent = float(message.get("Attributes", {}).get("SentTimestamp", 0)) / 1_000 or event.time or self._clock.now()
        id_ = message["MessageId"]
        found = [
            Notice(
                id=f"{id_}/{number}",
                kind=event.kind,
                provider_id=self._provider_id(instance_id) if instance_id else "",
                sent=sent,
                state=event.state,
                due=event.due,
            )
            for number, instance_id in enumerate(event.instance_ids or ("",))
        ]
        with self._lock:
            self._pending[id_] = _Pending(message["ReceiptHandle"], {notice.id for notice in found})
        return found

    def _on_queue(
        self, call: Callable[[Mapping[str, Any]], dict[str, Any]], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A queue may come later, go, or be made anew: its URL is asked for again after it was not found."""
        self._url = self._url or str(self._sqs.get_queue_url({"QueueName": self._name})["QueueUrl"])
        try:
            return call({"QueueUrl": self._url, **request})
        except AWSError as error:
            if error.has(ErrorClass.NOT_FOUND):
                self._url = ""
            raise

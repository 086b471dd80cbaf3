"""Calls of many threads that ask the same of EC2 become one call.

EC2 counts calls, not machines: a hundred launches that differ in nothing cost as much as one when they go out together. A caller
that finds no batch open opens one, waits a moment for others to join, sends the call and hands out the answers; those that
joined wait for it. So there is no thread but the callers' own, and whoever calls alone waits for the idle window only.

`batched` puts this in front of an `EC2API`: every caller gets the answer that it would have got alone.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from karpy.clock import Clock, SystemClock
from karpy_aws.api import EC2API, Request, Response, items
from karpy_aws.errors import AWSError
from karpy_aws.machines import NODE_CLAIM_TAG

__all__ = [
    "AT_ONCE",
    "WINDOWS",
    "BatchedEC2",
    "Batcher",
    "Observer",
    "Wait",
    "Window",
    "deal_out",
    "find",
    "merge_fleet",
]


@attrs.frozen
class Window:
    """How long a batch stays open: until nobody joined for ``idle_s``, at the longest ``max_s``, or until it is full."""

    idle_s: float
    max_s: float
    max_items: int

    def closes_at(self, opened: float, joined: float) -> float:
        """When a batch closes that was opened then, and joined last then."""
        return min(joined + self.idle_s, opened + self.max_s)


WINDOWS: Final[Mapping[str, Window]] = {
    "create_fleet": Window(0.035, 1.0, 1_000),
    "describe_instances": Window(0.1, 1.0, 500),
    "terminate_instances": Window(0.1, 1.0, 500),
}
"""Karpenter's."""
AT_ONCE: Final[Mapping[str, Window]] = {name: Window(0.0, 0.0, 1) for name in WINDOWS}
"""For a world of one thread, where nobody could join."""
_CHANGES: Final = (40.0, 4.0)
_READS: Final = (80.0, 15.0)
"""A little below what EC2 allows at once and per second, since others call too."""


class Pace:
    """How often may be called: ``most`` times at once, and ``per_second`` after that. EC2 refuses those who call more often.

    A batch stays open while it waits for its turn, so that waiting makes calls fewer, and no caller is refused.
    """

    def __init__(self, most: float, per_second: float) -> None:
        self._most = most
        self._per_second = per_second
        self._left = most
        self._since = 0.0
        self._lock = threading.Lock()

    def claim(self, now: float) -> float:
        """Take a turn and return 0, or how long to wait before asking again."""
        with self._lock:
            left = min(self._most, self._left + (now - self._since) * self._per_second)
            if left < 1.0:
                return (1.0 - left) / self._per_second
            self._left, self._since = left - 1.0, now
            return 0.0


Wait = Callable[[threading.Condition, float], object]
"""Waits on a condition that it holds, for so many seconds at the most."""
Observer = Callable[[str, int, float], None]
"""Is told of each call: the batcher's name, how many calls it stands for, and for how many seconds it was collected."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@attrs.define(eq=False)
class _Batch(Generic[Item, Answer]):
    opened: float
    joined: float
    items: list[Item] = attrs.field(factory=list)
    is_open: bool = True
    answers: Sequence[Answer] = ()
    error: Exception | None = None
    is_done: bool = False


class Batcher(Generic[Item, Answer]):
    """Collects items by key and answers each batch of them with one call.

    ``run`` gets the items of a batch in the order in which they came, and gives one answer to each. What it raises, every
    caller of the batch gets.
    """

    def __init__(
        self,
        name: str,
        window: Window,
        run: Callable[[Sequence[Item]], Sequence[Answer]],
        *,
        pace: Pace | None = None,
        clock: Clock | None = None,
        wait: Wait = threading.Condition.wait,
        observe: Observer | None = None,
    ) -> None:
        self._name = name
        self._window = window
        self._run = run
        self._pace = pace
        self._clock = clock or SystemClock()
        self._wait = wait
        self._observe = observe
        self._open: dict[Hashable, _Batch[Item, Answer]] = {}
        self._changed = threading.Condition()

    def submit(self, key: Hashable, item: Item) -> Answer:
        """The answer to ``item``. Blocks until the batch that it joined was answered."""
        with self._changed:
            batch, is_first = self._join(key, item)
            place = len(batch.items) - 1
            if is_first:
                self._collect(key, batch)
            else:
                while not batch.is_done:
                    self._changed.wait()
        if is_first:
            self._answer(batch)
        if batch.error is not None:
            raise batch.error
        return batch.answers[place]

    def _join(self, key: Hashable, item: Item) -> tuple[_Batch[Item, Answer], bool]:
        now = self._clock.now()
        batch = self._open.get(key)
        is_first = batch is None
        if batch is None:
            batch = self._open[key] = _Batch(now, now)
        batch.joined = now
        batch.items.append(item)
        if len(batch.items) >= self._window.max_items:
            self._close(key, batch)
        return batch, is_first

    def _collect(self, key: Hashable, batch: _Batch[Item, Answer]) -> None:
        """Wait while others may join, and until it may be called."""
        while True:
            now = self._clock.now()
            left = self._window.closes_at(batch.opened, batch.joined) - now if batch.is_open else 0.0
            if left <= 0 and self._pace is not None:
                left = self._pace.claim(now)
            if left <= 0:
                break
            self._wait(self._changed, left)
        if batch.is_open:
            self._close(key, batch)

    def _close(self, key: Hashable, batch: _Batch[Item, Answer]) -> None:
        batch.is_open = False
        del self._open[key]
        self._changed.notify_all()

    def _answer(self, batch: _Batch[Item, Answer]) -> None:
        if self._observe is not None:
            self._observe(self._name, len(batch.items), self._clock.now() - batch.opened)
        try:
            batch.answers = self._run(batch.items)
        except Exception as error:  # whatever it is, nobody may wait for ever
            batch.error = error
        finally:
            with self._changed:
                batch.is_done = True
                self._changed.notify_all()


class BatchedEC2:
    """An `EC2API` that sends launches, reads and removals of single machines together. All other calls go through as they are.

    A machine that the common call did not find or not end is asked for again by its own caller, so that one unknown id spoils
    nobody else's call.
    """

    def __init__(
        self,
        ec2: EC2API,
        *,
        windows: Mapping[str, Window] = WINDOWS,
        clock: Clock | None = None,
        wait: Wait = threading.Condition.wait,
        observe: Observer | None = None,
    ) -> None:
        def batcher(name: str, run: Callable[[Sequence[Request]], Sequence[Any]], pace: Pace) -> Batcher[Request, Any]:
            window = windows[name]
            held = pace if window.max_items > 1 else None  # who calls alone cannot make calls fewer by waiting
            return Batcher(name, window, run, pace=held, clock=clock, wait=wait, observe=observe)

        changes, reads = Pace(*_CHANGES), Pace(*_READS)
        self._ec2 = ec2
        self._launches = batcher("create_fleet", self._launch, changes)
        self._reads = batcher("describe_instances", self._read, reads)
        self._removals = batcher("terminate_instances", self._remove, changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ec2, name)

    def create_fleet(self, request: Request) -> Response:
        """As EC2 answers it. Only requests for one machine are sent together, and only those that are equal but for their claims.

        Machines that are launched together are not tagged with their claims: a request has the same tags for all of them.
        """
        if request["TargetCapacitySpecification"]["TotalTargetCapacity"] != 1:
            return self._ec2.create_fleet(request)
        answer: Response = self._launches.submit(_key(_without_claim(request)), request)
        return answer

    def describe_instances(self, request: Request) -> Response:
        """As EC2 answers it. Only requests for one machine are sent together, with those that filter alike."""
        if len(request.get("InstanceIds", ())) != 1:
            return self._ec2.describe_instances(request)
        rest = {member: value for member, value in request.items() if member != "InstanceIds"}
        answer: Response | None = self._reads.submit(_key(rest), request)
        return self._ec2.describe_instances(request) if answer is None else answer

    def terminate_instances(self, request: Request) -> Response:
        """As EC2 answers it. Only requests to end one machine are sent together."""
        if len(request["InstanceIds"]) != 1:
            return self._ec2.terminate_instances(request)
        rest = {member: value for member, value in request.items() if member != "InstanceIds"}
        answer: Response | None = self._removals.submit(_key(rest), request)
        return self._ec2.terminate_instances(request) if answer is None else answer

    def _launch(self, requests: Sequence[Request]) -> Sequence[Response]:
        if len(requests) == 1:
            return deal_out(self._ec2.create_fleet(requests[0]), 1)
        return deal_out(self._ec2.create_fleet(merge_fleet(_without_claim(requests[0]), len(requests))), len(requests))

    def _read(self, requests: Sequence[Request]) -> Sequence[Response | None]:
        ids = [request["InstanceIds"][0] for request in requests]
        merged = {**requests[0], "InstanceIds": sorted(set(ids))}
        try:
            found = find(items(self._ec2.describe_instances, merged, "Reservations"))
        except AWSError:
            if len(ids) == 1:
                raise
            return [None] * len(ids)
        return [found.get(id_) for id_ in ids]

    def _remove(self, requests: Sequence[Request]) -> Sequence[Response | None]:
        ids = [request["InstanceIds"][0] for request in requests]
        try:
            answer = self._ec2.terminate_instances({**requests[0], "InstanceIds": sorted(set(ids))})
        except AWSError:
            if len(ids) == 1:
                raise
            return [None] * len(ids)
        ended = {
            change["InstanceId"]: {"TerminatingInstances": [change]}
            for change in answer.get("TerminatingInstances", ())
            if change["CurrentState"]["Name"] in _ENDING
        }
        return [ended.get(id_) for id_ in ids]


_ENDING: Final = frozenset({"shutting-down", "terminated"})


def _key(request: Request) -> str:
    """Equal for requests that mean the same."""
    return json.dumps(request, sort_keys=True, default=str)


def _without_claim(request: Request) -> Request:
    """The request without the tag that names the claim."""
    return {
        **request,
        "TagSpecifications": [
            {**specification, "Tags": [tag for tag in specification["Tags"] if tag["Key"] != NODE_CLAIM_TAG]}
            for specification in request.get("TagSpecifications", ())
        ],
    }


def merge_fleet(request: Request, count: int) -> Request:
    """The request for one machine as one for ``count`` of them."""
    capacity = {**request["TargetCapacitySpecification"], "TotalTargetCapacity": count}
    return {**request, "TargetCapacitySpecification": capacity}


_TOO_FEW: Final = {
    "ErrorCode": "TooFewInstances",
    "ErrorMessage": "too few instances were launched, and no reason was given",
}


def deal_out(answer: Response, count: int) -> list[Response]:
    """A fleet's reply, told to each of ``count`` callers as if it had asked alone.

    Machines go to callers in the order of the reply. Those that get none get the fleet's errors, and one of our own when there
    are none. Machines beyond ``count`` belong to nobody and are collected as garbage.
    """
    machines = list(_single_machines(answer.get("Instances", ())))
    common = {member: value for member, value in answer.items() if member != "Instances"}
    dealt = [{**common, "Instances": [machine]} for machine in machines[:count]]
    failed = {**common, "Errors": answer.get("Errors") or [dict(_TOO_FEW)], "Instances": []}
    return [*dealt, *(dict(failed) for _ in range(count - len(dealt)))]


def _single_machines(entries: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        for id_ in entry.get("InstanceIds", ()):
            yield {**entry, "InstanceIds": [id_]}


def find(reservations: Iterator[Mapping[str, Any]]) -> dict[str, Response]:
    """By instance id, the answer that would have come for that instance alone."""
    return {
        instance["InstanceId"]: {"Reservations": [{**reservation, "Instances": [instance]}]}
        for reservation in reservations
        for instance in reservation.get("Instances", ())
    }

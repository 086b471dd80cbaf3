from __future__ import annotations

from karpy.cloud.notices import Notice, NoticeKind
from karpy.sim.region.notices import HIDDEN_S, KEPT_S, Delivery, NoticeQueue

INTERRUPTED = NoticeKind.SPOT_INTERRUPTION


def queue_with(count: int, delivery: Delivery | None = None, seed: int = 0) -> NoticeQueue:
    queue = NoticeQueue(delivery, seed)
    for number in range(count):
        queue.send(INTERRUPTED, f"machine-{number}", 0.0, due=120.0)
    return queue


def machines(notices: tuple[Notice, ...]) -> list[str]:
    return [notice.provider_id for notice in notices]


def test_notices_are_received_in_order_some_at_a_time() -> None:
    queue = queue_with(12)
    assert len(queue.receive(0.0)) == 10
    assert machines(queue.receive(0.0)) == ["machine-10", "machine-11"]
    assert queue.receive(0.0) == ()


def test_what_is_not_acknowledged_comes_again() -> None:
    queue = queue_with(2)
    first, second = queue.receive(0.0)
    queue.acknowledge(first)
    queue.acknowledge(first)
    assert queue.receive(HIDDEN_S - 1) == ()
    assert queue.receive(HIDDEN_S) == (second,)


def test_what_nobody_reads_is_forgotten() -> None:
    queue = queue_with(2)
    assert len(queue.receive(KEPT_S, most=1)) == 1
    assert queue.receive(KEPT_S + HIDDEN_S) == ()


def test_a_notice_of_what_is_to_come_is_there_when_it_has_come() -> None:
    queue = NoticeQueue()
    queue.send(NoticeKind.TERMINATED, "machine", 50.0, state="terminated")
    assert queue.receive(49.0) == ()
    assert [notice.state for notice in queue.receive(50.0)] == ["terminated"]


def test_delivery_may_be_late_lossy_and_repetitive_by_the_seed() -> None:
    late = queue_with(20, Delivery(late_s=(5.0, 30.0)))
    assert late.receive(4.9, most=99) == ()
    assert 0 < len(late.receive(15.0, most=99)) < 20
    assert len(queue_with(200, Delivery(lost=0.25)).receive(0.0, most=999)) in range(120, 180)
    assert queue_with(10, Delivery(lost=1.0)).receive(0.0) == ()
    twice = machines(queue_with(3, Delivery(repeated=1.0)).receive(0.0))
    assert twice == ["machine-0", "machine-0", "machine-1", "machine-1", "machine-2", "machine-2"]

    def survivors(seed: int) -> list[str]:
        return machines(queue_with(50, Delivery(lost=0.5), seed).receive(0.0, most=99))

    assert survivors(1) == survivors(1) != survivors(2)


def test_other_peoples_notices_come_too_and_some_cannot_be_read() -> None:
    queue = NoticeQueue(Delivery(foreign_per_hour=3600.0))
    found = queue.receive(200.0, most=999)
    assert 150 < len(found) < 250
    assert {notice.kind for notice in found} >= {INTERRUPTED, NoticeKind.UNREADABLE}
    assert all(notice.provider_id.startswith("foreign:///") or not notice.kind for notice in found)


def test_clearing_up_makes_it_reliable() -> None:
    queue = NoticeQueue(Delivery(lost=1.0, foreign_per_hour=3600.0))
    queue.clear_up()
    queue.send(INTERRUPTED, "machine", 10.0)
    assert machines(queue.receive(20.0)) == ["machine"]

from __future__ import annotations

from typing import Any

from karpy.sim.scheduler.queue import GIVE_UP_WAITING_S, PodQueue, WaitingPod

FIT = frozenset({"NodeResourcesFit"})


def pod(name: str, priority: int = 0, created: str = "2026-01-05T09:00:00Z") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name, "creationTimestamp": created}, "spec": {"priority": priority}}


def queue_of(*pods: dict[str, Any]) -> PodQueue:
    queue = PodQueue()
    for each in pods:
        queue.put(("", each["metadata"]["name"]), each, 0.0)
    return queue


def popped(queue: PodQueue) -> WaitingPod:
    waiting = queue.pop()
    assert waiting is not None
    return waiting


def anyone(_: WaitingPod) -> bool:
    return True


def test_higher_priority_comes_first_then_older_then_earlier_seen() -> None:
    later = "2026-01-05T09:00:05Z"
    queue = queue_of(pod("young", created=later), pod("old"), pod("vip", 10, later), pod("old-too"))
    assert [popped(queue).key[1] for _ in range(4)] == ["vip", "old", "old-too", "young"]
    assert queue.pop() is None


def test_a_parked_pod_waits_for_a_change_and_for_its_back_off() -> None:
    queue = queue_of(pod("a"))
    queue.park(popped(queue), FIT, now=100.0)
    queue.flush(150.0)
    assert queue.pop() is None
    queue.stir(anyone, now=100.2)
    assert not queue.has_active
    assert queue.next_time() == 101.0
    queue.flush(101.0)
    assert popped(queue).attempts == 2


def test_the_back_off_doubles_up_to_ten_seconds() -> None:
    queue, now, delays = queue_of(pod("a")), 0.0, []
    for _ in range(6):
        waiting = popped(queue)
        queue.park(waiting, FIT, now)
        delays.append(waiting.not_before - now)
        now = waiting.not_before
        queue.stir(anyone, now)
    assert delays == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_only_pods_that_the_change_could_help_are_stirred() -> None:
    queue = queue_of(pod("a"), pod("b"))
    queue.park(popped(queue), FIT, now=0.0)
    queue.park(popped(queue), frozenset({"InterPodAffinity"}), now=0.0)
    queue.stir(lambda waiting: "InterPodAffinity" in waiting.plugins, now=5.0)
    assert popped(queue).key == ("", "b")
    assert queue.pop() is None


def test_after_five_minutes_a_parked_pod_is_tried_anyway() -> None:
    queue = queue_of(pod("a"))
    queue.park(popped(queue), FIT, now=0.0)
    assert queue.next_time() == GIVE_UP_WAITING_S
    queue.flush(GIVE_UP_WAITING_S)
    assert queue.has_active


def test_a_pod_that_is_gone_is_not_tried() -> None:
    queue = queue_of(pod("a"))
    queue.remove(("", "a"))
    assert queue.pop() is None
    assert len(queue) == 0


def test_a_new_pod_of_the_same_name_starts_afresh() -> None:
    queue = queue_of(pod("a"))
    queue.park(popped(queue), FIT, now=0.0)
    successor = pod("a")
    successor["metadata"]["uid"] = "other"
    queue.put(("", "a"), successor, 0.0)
    assert popped(queue).attempts == 1


def test_a_parked_pod_that_asks_for_something_else_is_tried_again() -> None:
    queue = queue_of(pod("a"))
    queue.park(popped(queue), FIT, now=0.0)
    changed = pod("a")
    changed["spec"]["tolerations"] = [{"operator": "Exists"}]
    queue.put(("", "a"), changed, 5.0)
    assert popped(queue).pod is changed


def test_of_equals_the_one_that_failed_last_is_tried_last() -> None:
    queue = queue_of(pod("a"), pod("b"))
    first, second = popped(queue), popped(queue)
    queue.park(second, FIT, now=1.0)
    queue.park(first, FIT, now=2.0)
    queue.stir(anyone, now=20.0)
    assert [popped(queue).key[1] for _ in range(2)] == ["b", "a"]


def test_news_of_a_parked_pod_that_change_nothing_for_it_do_not_hurry_it() -> None:
    queue = queue_of(pod("a"))
    queue.park(popped(queue), FIT, now=0.0)
    queue.put(("", "a"), pod("a"), 5.0)
    assert queue.pop() is None

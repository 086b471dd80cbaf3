from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.kube.client import RawObject
from karpy.kube.leader import ELECTION_NAME, ELECTION_NAMESPACE, LeaderElector
from karpy.objects.kinds import LEASE, Kind
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.testing import START


class Server:
    """The API server as one candidate reaches it: its answers may be late, or not come."""

    def __init__(self, api: ApiServer, clock: VirtualClock) -> None:
        self.api = api
        self.clock = clock
        self.late_s = 0.0
        self.fails = False

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject:
        return self._answer(self.api.get(kind, name, namespace))

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject:
        return self._answer(self.api.create(kind, obj, namespace))

    def replace(self, kind: Kind, obj: RawObject) -> RawObject:
        return self._answer(self.api.replace(kind, obj))

    def _answer(self, answer: RawObject) -> RawObject:
        self.clock.set(self.clock.now() + self.late_s)
        if self.fails:
            raise KubeError("out of reach", code=503, reason="ServiceUnavailable")
        return answer


class Hall:
    """Where candidates meet."""

    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        self.api = ApiServer(self.clock)
        self.servers: dict[str, Server] = {}

    def candidate(self, name: str) -> LeaderElector:
        server = self.servers[name] = Server(self.api, self.clock)
        kube: Any = server
        return LeaderElector(kube, self.clock, name)

    def pass_time(self, seconds: float) -> None:
        self.clock.set(self.clock.now() + seconds)

    @property
    def lease(self) -> RawObject:
        return self.api.get(LEASE, ELECTION_NAME, ELECTION_NAMESPACE)


@pytest.fixture
def hall() -> Hall:
    return Hall()


def test_the_first_to_come_leads_and_the_others_wait(hall: Hall) -> None:
    first, second = hall.candidate("a"), hall.candidate("b")
    assert (first.attend(), second.attend()) == (True, False)
    assert hall.lease["spec"]["holderIdentity"] == "a"
    assert hall.lease["spec"]["leaseTransitions"] == 0


def test_who_renews_keeps_it(hall: Hall) -> None:
    first, second = hall.candidate("a"), hall.candidate("b")
    for _ in range(30):
        assert (first.attend(), second.attend()) == (True, False)
        hall.pass_time(2)


def test_nothing_is_asked_before_it_is_due(hall: Hall) -> None:
    first = hall.candidate("a")
    first.attend()
    before = hall.api.store.revision
    hall.pass_time(1)
    first.attend()
    assert hall.api.store.revision == before
    assert first.next_at == START + 2


def test_who_cannot_renew_stops_before_another_may_take_over(hall: Hall) -> None:
    first, second = hall.candidate("a"), hall.candidate("b")
    first.attend()
    second.attend()
    hall.servers["a"].fails = True
    for second_passed in range(1, 20):
        hall.pass_time(1)
        assert first.attend() == (second_passed < 10)
        assert second.attend() == (second_passed >= 16)  # looks every two seconds
    assert hall.lease["spec"]["holderIdentity"] == "b"
    assert hall.lease["spec"]["leaseTransitions"] == 1


def test_a_late_answer_makes_nobody_believe_that_the_lease_is_old(hall: Hall) -> None:
    """What it says may have been written a moment before it came."""
    first, second = hall.candidate("a"), hall.candidate("b")
    first.attend()
    hall.servers["b"].late_s = 14.0
    second.attend()
    hall.servers["b"].late_s = 0.0
    hall.pass_time(2)
    assert not second.attend()


def test_the_time_of_a_slow_renewal_counts_from_its_beginning(hall: Hall) -> None:
    first = hall.candidate("a")
    first.attend()
    hall.pass_time(2)
    hall.servers["a"].late_s = 5.5  # twice: a get and a replace
    assert not first.attend()


def test_of_two_that_want_the_same_old_lease_one_gets_it(hall: Hall) -> None:
    hall.candidate("a").attend()
    second, third = hall.candidate("b"), hall.candidate("c")
    second.attend()
    third.attend()
    hall.pass_time(15)
    assert [second.attend(), third.attend()] == [True, False]

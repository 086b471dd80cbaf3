from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.notices import Notice, NoticeKind
from karpy.errors import ProviderError
from karpy.objects import kinds
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, apps, intercept, pool, taint_keys

SPOT = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}]


def stage(replicas: int = 1) -> Stage:
    it = Stage(pool(requirements=SPOT), settings=Settings(capacity_buffer=False))
    it.grown(apps("web", replicas, "100m"))
    return it


def events(it: Stage, kind: str) -> dict[str, str]:
    """What was told about objects of a kind, by reason."""
    return {
        event["reason"]: event["message"] for event in it.all(kinds.EVENT) if event["involvedObject"]["kind"] == kind
    }


def announce(it: Stage, kind: NoticeKind, provider_id: str | None = None) -> list[Notice]:
    """Put one notice of this kind into the queue; returns where those go that were acknowledged."""
    (machine,) = it.cloud.machines
    now = it.clock.now()
    waiting = [Notice("n-1", kind, machine.provider_id if provider_id is None else provider_id, now)]
    done: list[Notice] = []

    def messages(_real: Any, most: int = 10) -> list[Notice]:
        return waiting[:most]

    def acknowledge(_real: Any, notice: Notice) -> None:
        waiting.remove(notice)
        done.append(notice)

    intercept(it.cloud, "messages", messages)
    intercept(it.cloud, "acknowledge", acknowledge)
    return done


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (NoticeKind.SPOT_INTERRUPTION, "SpotInterrupted"),
        (NoticeKind.SCHEDULED_CHANGE, "InstanceUnhealthy"),
        (NoticeKind.STOPPED, "InstanceStopping"),
        (NoticeKind.TERMINATED, "InstanceTerminating"),
        (NoticeKind.RESERVATION_INTERRUPTION, "CapacityReservationInstanceInterrupted"),
    ],
)
def test_a_machine_that_is_taken_away_is_given_up_at_once_and_its_pods_get_another(
    kind: NoticeKind, reason: str
) -> None:
    it = stage()
    (old,) = it.names(kinds.NODE_CLAIM)
    done = announce(it, kind)
    it.run(5)
    assert it.kube.get(kinds.NODE_CLAIM, old)["metadata"].get("deletionTimestamp")
    assert all("karpenter.sh/disrupted" in taint_keys(node) for node in it.nodes if old in str(node))
    assert reason in events(it, "NodeClaim")
    assert (
        events(it, "NodeClaim")["TerminatingOnInterruption"] == "Interruption triggered termination for the NodeClaim"
    )
    assert events(it, "Node")["TerminatingOnInterruption"] == "Interruption triggered termination for the Node"
    assert [notice.kind for notice in done] == [kind]
    it.run(120)
    (new,) = it.names(kinds.NODE_CLAIM)
    assert (new != old, it.running("web")) == (True, 1)


def test_of_a_likely_interruption_is_only_told() -> None:
    it = stage()
    done = announce(it, NoticeKind.REBALANCE)
    it.run(30)
    assert "deletionTimestamp" not in it.claims[0]["metadata"]
    assert events(it, "NodeClaim")["SpotRebalanceRecommendation"] == "Spot rebalance recommendation was triggered"
    assert len(done) == 1


@pytest.mark.parametrize(
    ("kind", "provider_id"), [(NoticeKind.UNREADABLE, ""), (NoticeKind.TERMINATED, "foreign:///i-1")]
)
def test_what_is_about_no_machine_of_ours_is_acknowledged_and_nothing_else(kind: NoticeKind, provider_id: str) -> None:
    it = stage()
    done = announce(it, kind, provider_id)
    it.run(30)
    assert len(done) == 1
    assert "deletionTimestamp" not in it.claims[0]["metadata"]
    assert "TerminatingOnInterruption" not in events(it, "NodeClaim")


def test_a_notice_that_cannot_be_dealt_with_comes_again() -> None:
    it = stage()
    done = announce(it, NoticeKind.SPOT_INTERRUPTION)
    failures = iter([ProviderError("no answer")])

    def delete(real: Any, kind: Any, name: str, *arguments: Any, **options: Any) -> Any:
        for failure in failures:
            raise failure
        return real(kind, name, *arguments, **options)

    it.kube.through("delete", delete)
    it.run(30)
    assert len(done) == 1
    assert it.running("web") == 1


def test_a_queue_that_cannot_be_read_is_asked_again() -> None:
    it = stage()
    done = announce(it, NoticeKind.SPOT_INTERRUPTION)
    failures = iter([ProviderError("throttled"), ProviderError("throttled")])
    real = it.cloud.messages

    def messages(_real: Any, most: int = 10) -> Any:
        for failure in failures:
            raise failure
        return real(most)

    intercept(it.cloud, "messages", messages)
    it.run(30)
    assert len(done) == 1


def test_what_was_taken_back_is_not_asked_for_again_at_once() -> None:
    it = stage()
    (machine,) = it.cloud.machines
    taken = machine.offering_key
    it.cloud.befall(machine.provider_id, "interruption")
    it.run(60)
    assert [other.offering_key for other in it.cloud.machines if other.terminating_since is None] != [taken]

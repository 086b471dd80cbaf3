"""Machines without a claim and claims without a machine are ended, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from karpy.cloud.provider import Instance
from karpy.errors import NodeClaimNotFound, ProviderError
from karpy.metrics import NODECLAIMS_DISRUPTED
from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps, conditions, intercept, refusal
from tests.karpy.sim.manifests import NODE_CLASS

ROUND_S = 130.0


def grown(machines: int = 1) -> Stage:
    """Machines with a pod each, that have been there for a while."""
    stage = Stage()
    stage.world.apply([apps("a", machines, "20")])
    stage.run(300)
    assert len(stage.nodes) == machines
    return stage


def ids(stage: Stage) -> list[str]:
    return [machine.provider_id for machine in stage.cloud.machines]


def unlisted(stage: Stage, *missing: str) -> None:
    """The cloud leaves these machines out of its list."""
    intercept(stage.cloud, "list", lambda real: [each for each in real() if each.provider_id not in missing])


def unknown(stage: Stage) -> None:
    """The cloud denies every single machine."""

    def get(_real: Any, provider_id: str) -> Instance:
        raise NodeClaimNotFound(provider_id)

    intercept(stage.cloud, "get", get)


def lose(stage: Stage) -> None:
    """All machines fall silent, and the cloud knows none of them any more."""
    unlisted(stage, *ids(stage))
    unknown(stage)
    for provider_id in ids(stage):
        stage.cloud.kill(provider_id)


def collected(stage: Stage) -> int:
    return sum(told["reason"] == "garbage_collected" for _, told in stage.metrics.told(NODECLAIMS_DISRUPTED))


@pytest.mark.core("CORE-674")
@pytest.mark.parametrize("machines", [1, 3])
def test_claims_whose_machines_vanished_go_and_pods_get_others(machines: int) -> None:
    stage = grown(machines)
    old = stage.names(kinds.NODE_CLAIM)
    lose(stage)
    stage.run(2 * ROUND_S)
    assert collected(stage) == machines
    assert not set(old) & set(stage.names(kinds.NODE_CLAIM))
    stage.run(600)
    assert stage.running("a") == machines
    said = stage.log.said("garbage collecting nodeclaim with no cloudprovider representation")
    assert sorted(each["NodeClaim"]["name"] for each in said) == sorted(old)


@pytest.mark.core("CORE-674")
def test_a_node_that_is_ready_vetoes() -> None:
    stage = grown()
    unlisted(stage, *ids(stage))
    unknown(stage)
    stage.run(10 * ROUND_S)
    assert collected(stage) == 0
    assert stage.running("a") == 1


@pytest.mark.core("CORE-674")
def test_a_machine_that_is_merely_not_in_the_list_is_asked_for_by_itself() -> None:
    """Lists may be old; a node that is silent for a moment is no reason to believe one."""
    stage = grown()
    unlisted(stage, *ids(stage))
    stage.cloud.kill(ids(stage)[0])
    stage.run(10 * ROUND_S)
    assert conditions(stage.nodes[0])["Ready"] == "Unknown"
    assert collected(stage) == 0


@pytest.mark.core("CORE-674")
def test_a_claim_whose_node_is_missing_goes_if_it_was_registered() -> None:
    stage = grown()
    (name,) = stage.names(kinds.NODE_CLAIM)
    stage.cloud.vanish(ids(stage)[0])
    stage.api.patch(kinds.NODE, name, {"metadata": {"finalizers": None}})
    stage.api.delete(kinds.NODE, name)
    stage.run(ROUND_S)
    assert name not in stage.names(kinds.NODE_CLAIM)
    assert collected(stage) == 1


@pytest.mark.core("CORE-674")
def test_a_claim_that_never_registered_is_left_to_its_time_out() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    unlisted(stage, *ids(stage))
    unknown(stage)
    stage.run(5 * ROUND_S)
    assert collected(stage) == 0


@pytest.mark.core("CORE-674")
def test_machines_that_are_there_are_kept() -> None:
    stage = grown(3)
    before = stage.names(kinds.NODE_CLAIM)
    stage.run(10 * ROUND_S)
    assert stage.names(kinds.NODE_CLAIM) == before
    assert collected(stage) == 0


def leave_behind(stage: Stage, name: str = "ghost") -> str:
    """A machine that carries the mark of this claim, but is not its own."""
    instance = stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS)

    def marked(real: Any) -> Sequence[Instance]:
        return [attrs.evolve(each, claim=name) if each.provider_id == instance.provider_id else each for each in real()]

    intercept(stage.cloud, "list", marked)
    return instance.provider_id


def test_a_machine_whose_claim_is_gone_is_ended_when_it_is_old_enough() -> None:
    stage = grown()
    ghost = leave_behind(stage)
    stage.run(50)
    assert ghost in ids(stage)
    stage.run(2 * ROUND_S)
    assert ghost not in ids(stage)
    assert stage.running("a") == 1


def test_of_two_machines_with_one_name_the_one_that_is_not_the_claims_is_ended() -> None:
    stage = grown()
    (name,), (own,) = stage.names(kinds.NODE_CLAIM), ids(stage)
    double = leave_behind(stage, name)
    stage.run(2 * ROUND_S)
    assert ids(stage) == [own]
    assert double != own


def test_a_machine_that_was_not_marked_yet_is_ended_if_no_claim_has_it() -> None:
    stage = grown()
    (own,) = ids(stage)
    orphan = stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS).provider_id
    intercept(stage.cloud, "list", lambda real: [attrs.evolve(each, claim="", is_unmarked=True) for each in real()])
    stage.run(50)
    assert orphan in ids(stage)
    stage.run(2 * ROUND_S)
    assert ids(stage) == [own]
    assert stage.running("a") == 1


def test_a_machine_of_somebody_else_is_left_alone() -> None:
    stage = grown()
    stranger = stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS).provider_id
    stage.run(10 * ROUND_S)
    assert stranger in ids(stage)


def test_a_list_that_fails_ends_nothing_and_is_asked_for_again_soon() -> None:
    stage = grown()
    lose(stage)
    failed: list[float] = []

    def fails_at_first(real: Any) -> Any:
        if len(failed) < 3:
            failed.append(stage.clock.now())
            raise ProviderError("out of order")
        return real()

    intercept(stage.cloud, "list", fails_at_first)
    stage.until(lambda: len(failed) == 1)
    for number in range(20):  # whatever happens to claims meanwhile
        (name,) = stage.names(kinds.NODE_CLAIM)
        stage.api.patch(kinds.NODE_CLAIM, name, {"metadata": {"annotations": {"touched": str(number)}}})
        stage.run(1)
    assert len(failed) == 1
    stage.run(2 * ROUND_S)
    assert len(failed) == 3
    assert failed[-1] - failed[0] < 70
    assert collected(stage) == 1


def test_one_that_cannot_be_ended_holds_up_no_other() -> None:
    stage = grown(3)
    lose(stage)
    stuck = stage.names(kinds.NODE_CLAIM)[0]

    def delete(real: Any, kind: Any, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and name == stuck:
            raise refusal(500)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", delete)
    stage.run(2 * ROUND_S)
    assert collected(stage) == 2
    assert stuck in stage.names(kinds.NODE_CLAIM)

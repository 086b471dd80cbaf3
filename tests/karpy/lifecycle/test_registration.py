from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.liveness import TimeLimits
from karpy.lifecycle.registration import (
    PendingHook,
    awaiting_hooks,
    is_unprotected,
    registration_patch,
    sync_patch,
)
from karpy.lifecycle.step import GiveUp, Wait
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import START, make_machine

BOOT = {"key": "boot", "effect": "NoSchedule"}
DEDICATED = {"key": "dedicated", "value": "a", "effect": "NoExecute"}
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}


def patch(node_taints: list[dict[str, str]] | None = None, *, node_labels: Any = None, **claim: Any) -> dict[str, Any]:
    owned, node = make_machine(
        "m", reached=("Launched",), taints=node_taints or [], node_labels=node_labels or {}, **claim
    )
    node["metadata"]["finalizers"] = ["other/finalizer"]
    return registration_patch(NodeClaim.from_dict(owned), Node.from_dict(node))


@pytest.mark.core("CORE-648")
def test_the_claim_owns_the_node_and_holds_it() -> None:
    metadata = patch()["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "name": "m",
            "uid": "m-uid",
            "blockOwnerDeletion": True,
        }
    ]
    assert metadata["finalizers"] == ["karpenter.sh/termination", "other/finalizer"]
    assert metadata["resourceVersion"] == "1"


@pytest.mark.core("CORE-649")
def test_the_node_is_marked_as_registered_and_opened() -> None:
    found = patch([UNREGISTERED])
    assert found["metadata"]["labels"]["karpenter.sh/registered"] == "true"
    assert found["spec"]["taints"] == []


@pytest.mark.core("CORE-651")
def test_labels_and_annotations_of_the_claim_win() -> None:
    raw = {"annotations": {"note": "claim"}, "labels": {"team": "claim"}}
    metadata = patch(node_labels={"team": "kubelet"}, metadata=raw)["metadata"]
    assert metadata["labels"]["team"] == "claim"
    assert metadata["annotations"] == {"note": "claim"}


@pytest.mark.core("CORE-652")
def test_taints_of_the_claim_are_put_on_once() -> None:
    spec = {"taints": [DEDICATED], "startupTaints": [BOOT]}
    own = {"key": "dedicated", "value": "kubelet", "effect": "NoExecute"}
    assert patch([UNREGISTERED, own], spec=spec)["spec"]["taints"] == [own, BOOT]


@pytest.mark.core("CORE-652")
@pytest.mark.parametrize(("value", "taints"), [("true", []), ("false", [DEDICATED])])
def test_a_node_may_keep_its_own_taints(value: str, taints: list[dict[str, str]]) -> None:
    label = {"karpenter.sh/do-not-sync-taints": value}
    assert patch([UNREGISTERED], node_labels=label, spec={"taints": [DEDICATED]})["spec"]["taints"] == taints


def joined(*, owned: bool = False, **claim: Any) -> tuple[NodeClaim, Node]:
    """A claim that was launched, and the node that joined for it, which karpy has ``owned`` since its last visit."""
    made, node = make_machine("m", reached=("Launched",), **claim)
    if owned:
        owner = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "m", "uid": "m-uid"}
        node["metadata"]["ownerReferences"] = [owner]
    return NodeClaim.from_dict(made), Node.from_dict(node)


@pytest.mark.core("CORE-648")
def test_other_owners_stay_and_the_claim_is_there_once() -> None:
    claim, node = joined(owned=True)
    others = [{"apiVersion": "v1", "kind": "Rack", "name": "r", "uid": "r-uid"}]
    raw = Node.from_dict(
        {"metadata": {"name": "m", "ownerReferences": [*others, {"kind": "NodeClaim", "name": "m", "uid": "m-uid"}]}}
    )
    for owned in (node, raw):
        uids = [owner["uid"] for owner in registration_patch(claim, owned)["metadata"]["ownerReferences"]]
        assert uids.count("m-uid") == 1
    assert [owner["uid"] for owner in registration_patch(claim, raw)["metadata"]["ownerReferences"]] == [
        "r-uid",
        "m-uid",
    ]


@pytest.mark.core("CORE-653")
def test_a_start_up_taint_that_was_taken_off_does_not_come_back() -> None:
    claim, node = joined(owned=True, spec={"startupTaints": [BOOT]})
    assert registration_patch(claim, node)["spec"]["taints"] == []


@pytest.mark.core("CORE-650")
@pytest.mark.parametrize(
    ("taints", "owned", "unprotected"),
    [([], False, True), ([UNREGISTERED], False, False), ([], True, False)],
    ids=["without the taint", "with it", "after the first visit"],
)
def test_a_node_that_joins_without_the_taint_is_unprotected(
    taints: list[dict[str, str]], owned: bool, unprotected: bool
) -> None:
    assert is_unprotected(*joined(taints=taints, owned=owned)) is unprotected


@pytest.mark.core("CORE-655")
def test_a_node_that_waits_for_hooks_gets_everything_but_stays_closed() -> None:
    claim, node = joined(taints=[UNREGISTERED], spec={"startupTaints": [BOOT]}, labels={"team": "a"})
    found = sync_patch(claim, node)
    assert found is not None
    assert found["spec"]["taints"] == [UNREGISTERED, BOOT]
    assert found["metadata"]["labels"]["team"] == "a"
    assert "karpenter.sh/registered" not in found["metadata"]["labels"]
    assert found["metadata"]["finalizers"] == ["karpenter.sh/termination"]


def test_a_node_that_has_everything_is_not_written_again() -> None:
    assert sync_patch(*joined(owned=True)) is None


@pytest.mark.core("CORE-655")
def test_all_hooks_that_are_waited_for_are_named_and_the_shortest_wish_counts() -> None:
    claim, _node = joined()
    hooks = [PendingHook("disks", 30.0), PendingHook("agent"), PendingHook("dns", 10.0)]
    found = awaiting_hooks(claim, hooks, TimeLimits(300.0, 900.0), now=START)
    assert found == Wait("Registered", "RegistrationHookPending", "disks, agent, dns", 10.0)


def test_a_hook_is_not_waited_for_longer_than_a_node_may_take_to_join() -> None:
    claim, _node = joined()
    late = awaiting_hooks(claim, [PendingHook("disks", 30.0)], TimeLimits(300.0, 900.0), now=START + 890)
    assert isinstance(late, Wait)
    assert late.retry_after_s == 10.0
    over = awaiting_hooks(claim, [PendingHook("disks")], TimeLimits(300.0, 900.0), now=START + 900)
    assert over == GiveUp("registration_timeout", 900.0)

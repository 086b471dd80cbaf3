from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.registration import registration_patch
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import make_machine

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

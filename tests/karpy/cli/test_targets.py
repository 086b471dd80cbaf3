from __future__ import annotations

from pathlib import Path

import pytest

from karpy.cli.bad_input import BadInput
from karpy.cli.targets import Target, read_targets
from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_POOL, POD, Kind


def target(*words: str, namespace: str = "") -> Target:
    (found,), files = read_targets(words, namespace)
    assert files == ()
    return found


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *((word, NODE) for word in ("node", "nodes", "no", "Node", "NODES", "nodes.v1")),
        *((word, POD) for word in ("pod", "pods", "po", "Pod")),
        *((word, NODE_CLAIM) for word in ("nodeclaim", "nodeclaims", "NodeClaim", "nodeclaims.karpenter.sh")),
        *((word, NODE_CLAIM) for word in ("nodeclaims.v1.karpenter.sh", "machine", "machines")),
        *((word, NODE_POOL) for word in ("nodepool", "NodePools", "nodepool.karpenter.sh", "provisioner")),
    ],
)
def test_kinds_are_named_as_for_kubectl(word: str, kind: Kind) -> None:
    assert target(f"{word}/a") == Target(kind, "a")
    assert target(word, "a") == Target(kind, "a")


def test_pods_are_in_a_namespace() -> None:
    assert target("pod/shop/cart") == target("pod", "shop/cart") == Target(POD, "cart", "shop")
    assert target("pod/cart", namespace="shop") == Target(POD, "cart", "shop")
    assert target("node/cart", namespace="shop") == Target(NODE, "cart")
    assert str(target("pod/shop/cart")) == "pod/shop/cart"


def test_several_things_and_files_may_stand_together(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.touch()
    targets, files = read_targets(["node/a", str(file), "pod", "b", "-"])
    assert targets == (Target(NODE, "a"), Target(POD, "b"))
    assert files == (file, Path("-"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["deployment/web"], "found 'deployment/web'"),
        (["web"], "found 'web'"),
        (["node"], "found 'node'"),
        (["node/"], "found 'node/'"),
        (["node/a/b"], "found 'node/a/b'"),
        (["pod/a/b/c"], "found 'pod/a/b/c'"),
        (["nodes.apps/a"], "found 'nodes.apps/a'"),
        (["missing.yaml", "node/a"], "found 'missing.yaml'"),
        (["-"], "what about?"),
    ],
)
def test_what_is_nothing_that_can_be_asked_about_is_refused(words: list[str], complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_targets(words)
    assert str(caught.value).startswith(f"{complaint} (accepted: node/NAME, ")


def test_one_namespace_is_enough() -> None:
    with pytest.raises(BadInput, match="accepted: one of the two"):
        read_targets(["pod/shop/cart"], "other")

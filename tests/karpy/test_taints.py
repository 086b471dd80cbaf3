from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from karpy.taints import DISRUPTED, UNREGISTERED, Taint, Toleration, is_ephemeral, merge_taints, untolerated
from tests.vectors import read

GPU = Taint("gpu", "a100", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "bears"),
    [
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", value="a100"), True),
        (Toleration(key="gpu", operator="Equal", value="a100", effect="NoSchedule"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", value="h100"), False),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(key="gpu", operator="Near", value="a100"), False),
    ],
)
def test_a_toleration_bears_the_taints_that_it_names(toleration: Toleration, bears: bool) -> None:
    assert toleration.tolerates(GPU) is bears


@pytest.mark.parametrize(
    ("operator", "wanted", "found", "bears"),
    [("Gt", "5", "6", True), ("Gt", "5", "5", False), ("Lt", "5", "4", True), ("Gt", "05", "6", False)],
)
def test_numbers_are_compared_where_both_are_plain_integers(
    operator: str, wanted: str, found: str, bears: bool
) -> None:
    toleration = Toleration(key="sla", operator=operator, value=wanted)
    assert toleration.tolerates(Taint("sla", found, "NoSchedule")) is bears


def test_the_first_taint_that_nothing_bears_is_told() -> None:
    other = Taint("team", effect="NoExecute")
    assert untolerated([GPU, other], [Toleration(key="gpu", operator="Exists")]) == other
    assert untolerated([GPU, other], [Toleration(operator="Exists")]) is None


def test_a_taint_prints_as_kubectl_writes_it() -> None:
    assert [str(taint) for taint in (GPU, DISRUPTED)] == ["gpu=a100:NoSchedule", "karpenter.sh/disrupted:NoSchedule"]


def test_merging_keeps_what_has_the_same_key_and_effect() -> None:
    rival, beside = Taint("gpu", "h100", "NoSchedule"), Taint("gpu", "h100", "NoExecute")
    assert merge_taints([GPU], [rival, beside, beside]) == (GPU, beside)


@pytest.mark.core("CORE-740")
@pytest.mark.parametrize(
    ("taint", "passes"),
    [
        (Taint("node.kubernetes.io/not-ready", effect="NoExecute"), True),
        (Taint("readiness.k8s.io/network", effect="PreferNoSchedule"), True),
        (Taint("my.readiness.k8s.io/network", effect="NoSchedule"), False),
        (UNREGISTERED, True),
        (DISRUPTED, False),
    ],
)
def test_ephemeral_taints_are_those_that_go_while_a_node_starts(taint: Taint, passes: bool) -> None:
    assert is_ephemeral(taint) is passes


def test_tolerations_agree_with_karpenter(shared: Path) -> None:
    for line in read(shared, "algebra/tolerations.jsonl"):
        taints = msgspec.convert(line["taints"], list[Taint])
        tolerations = msgspec.convert(line["tolerations"], list[Toleration])
        expect = line["expect"]
        left = untolerated(taints, tolerations)
        assert (left is None) == expect["tolerates"], line
        assert left is None or f"did not tolerate taint (taint={left})" in expect["errors"], line
        assert [is_ephemeral(taint) for taint in taints] == expect["knownEphemeral"], line

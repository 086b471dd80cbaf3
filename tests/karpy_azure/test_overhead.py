from __future__ import annotations

import pytest

from karpy_azure.overhead import node_overhead, usable_memory

MIB = 2**20


@pytest.mark.parametrize(
    ("vcpus", "gib", "cpu_milli", "memory_mib", "usable"),
    [
        (2, 4, 100, 1_024, 3_972_844_748),
        (2, 8, 100, 1_843, 7_945_689_497),
        (4, 16, 140, 2_662, 15_891_378_995),
        (8, 32, 180, 3_645, 31_782_757_990),
        (16, 64, 260, 5_611, 63_565_515_980),
        (16, 128, 260, 9_543, 127_131_031_961),
        (64, 256, 740, 12_165, 254_262_063_923),
        (96, 384, 1_060, 14_786, 381_393_095_884),
    ],
)
def test_what_aks_reserves_and_leaves(vcpus: int, gib: int, cpu_milli: int, memory_mib: int, usable: int) -> None:
    kept = node_overhead(vcpus, gib)
    assert kept.kube_reserved["cpu"] == cpu_milli
    assert kept.kube_reserved["memory"] == memory_mib * MIB
    assert kept.eviction_threshold["memory"] == 750 * MIB
    assert usable_memory(gib) == usable


def test_a_fraction_of_a_gib_is_not_counted() -> None:
    assert usable_memory(3.5) == usable_memory(3)

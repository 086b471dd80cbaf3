from __future__ import annotations

import pytest

from karpy.cloud.instancetype import Overhead
from karpy.errors import InvalidObject
from karpy.resources import Resources
from karpy_aws.kubeletnumbers import KubeletNumbers
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.overhead import node_overhead

MIB = 2**20
GIB = 2**30


def overhead(
    *, vcpus: int = 2, pods: int = 29, memory: int = 8 * GIB, storage: int = 20 * GIB, **said: str
) -> Overhead:
    """With eviction thresholds by signal, their dots and dashes written as underscores."""
    hard = {signal.replace("_", "."): text for signal, text in said.items()}
    kubelet = KubeletNumbers(eviction_hard=tuple(hard.items()))
    return node_overhead(vcpus=vcpus, pods=pods, memory=memory, storage=storage, kubelet=kubelet)


@pytest.mark.aws("AWS-114")
@pytest.mark.parametrize(("vcpus", "milli"), [(1, 60), (2, 70), (4, 80), (8, 90), (96, 310)])
def test_the_kubelets_share_of_cores_falls(vcpus: int, milli: int) -> None:
    assert overhead(vcpus=vcpus).kube_reserved["cpu"] == milli


@pytest.mark.aws("AWS-114")
def test_each_pod_costs_11_mib() -> None:
    few, many = (overhead(pods=pods).kube_reserved["memory"] for pods in (10, 11))
    assert many - few == 11 * MIB


@pytest.mark.aws("AWS-114")
def test_what_the_user_reserves_replaces_the_default_of_that_resource() -> None:
    said = KubeletNumbers.of(
        Kubelet.from_dict({"kubeReserved": {"cpu": "500m"}, "systemReserved": {"memory": "100Mi"}})
    )
    kept = node_overhead(vcpus=2, pods=29, memory=8 * GIB, storage=20 * GIB, kubelet=said)
    assert kept.kube_reserved == Resources({"cpu": 500, "memory": 574 * MIB, "ephemeral-storage": GIB})
    assert kept.system_reserved == Resources({"memory": 100 * MIB})


@pytest.mark.aws("AWS-114")
def test_the_system_reserves_nothing_by_itself() -> None:
    assert not overhead().system_reserved


@pytest.mark.aws("AWS-115")
def test_a_tenth_of_the_storage_is_kept_free_rounded_up() -> None:
    assert overhead(storage=101).eviction_threshold["ephemeral-storage"] == 11


@pytest.mark.aws("AWS-115")
@pytest.mark.parametrize(
    ("said", "kept"), [("", 100 * MIB), ("1Gi", GIB), ("5%", 50), ("33.3%", 333), ("0%", 0), ("0", 0), ("100%", 0)]
)
def test_a_memory_threshold_is_a_quantity_or_a_share_of_what_there_is(said: str, kept: int) -> None:
    thresholds = {"memory_available": said} if said else {}
    assert overhead(memory=1_000, **thresholds).eviction_threshold["memory"] == kept


@pytest.mark.aws("AWS-115")
def test_thresholds_of_other_signals_keep_nothing() -> None:
    assert overhead(imagefs_available="15%", pid_available="10%").eviction_threshold == overhead().eviction_threshold


def test_a_threshold_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match=r"spec.kubelet.evictionHard\[memory.available\]: 'plenty' is no threshold"):
        overhead(memory_available="plenty")


def test_a_reservation_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match=r"spec.kubelet.kubeReserved\.?cpu"):
        KubeletNumbers.of(Kubelet.from_dict({"kubeReserved": {"cpu": "lots"}}))

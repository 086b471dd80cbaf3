from __future__ import annotations

import pytest

from karpy_aws.descriptions import Network, NetworkCard, TypeDescription
from karpy_aws.overhead import eni_limited_pods, node_overhead


@pytest.mark.parametrize(("vcpus", "milli"), [(1, 60), (2, 70), (4, 80), (8, 90), (96, 310)])
def test_the_kubelets_share_of_cores_falls(vcpus: int, milli: int) -> None:
    assert node_overhead(vcpus=vcpus, pods=29, storage=0).kube_reserved["cpu"] == milli


def test_each_pod_costs_11_mib() -> None:
    few, many = (node_overhead(vcpus=2, pods=pods, storage=0).kube_reserved["memory"] for pods in (10, 11))
    assert many - few == 11 * 2**20


def test_what_the_user_reserves_replaces_the_default_of_that_resource() -> None:
    kept = node_overhead(vcpus=2, pods=29, storage=0, kube_reserved={"cpu": 500}).kube_reserved
    assert kept["cpu"] == 500
    assert kept["memory"] == 574 * 2**20


def test_a_tenth_of_the_storage_is_kept_free_rounded_up() -> None:
    assert node_overhead(vcpus=2, pods=29, storage=101).eviction_threshold["ephemeral-storage"] == 11


def described(*cards: NetworkCard, default: int = 0) -> TypeDescription:
    network = Network(default_network_card_index=default, ipv4_addresses_per_interface=10, network_cards=cards)
    return TypeDescription("m5.large", network_info=network)


def test_pods_share_the_addresses_of_the_default_card() -> None:
    cards = (NetworkCard(0, 3), NetworkCard(1, 15))
    assert eni_limited_pods(described(*cards)) == 3 * 9 + 2
    assert eni_limited_pods(described(*cards, default=1)) == 15 * 9 + 2


def test_reserved_interfaces_hold_no_pods() -> None:
    assert eni_limited_pods(described(NetworkCard(0, 3)), reserved_enis=1) == 2 * 9 + 2
    assert eni_limited_pods(described(NetworkCard(0, 3)), reserved_enis=3) == 0
    assert eni_limited_pods(described()) == 0

from __future__ import annotations

from typing import Any

import pytest

from karpy_aws.compatibility import incompatibility
from karpy_aws.descriptions import Efa, NetworkCard, PlacementGroups, Processor
from karpy_aws.families import FAMILIES
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.nodeclass import NetworkInterface
from karpy_aws.objects.status import PlacementGroup
from tests.karpy_aws.sold import SUBNETS, book, described, market, network

PLAIN = NetworkInterface(0, 0)
EFA = NetworkInterface(0, 1, "efa-only")


def why(setup: NodeSetup, name: str = "m5.large", **fields: Any) -> str:
    return incompatibility(described(name, **fields), setup)


def test_a_plain_class_runs_on_everything() -> None:
    assert not why(NodeSetup())


@pytest.mark.aws("AWS-127")
@pytest.mark.parametrize("family", FAMILIES)
def test_only_al2023_does_not_run_on_a1(family: str) -> None:
    assert bool(why(NodeSetup(family=FAMILIES[family]), "a1.large")) == (family == "AL2023")


@pytest.mark.aws("AWS-128")
@pytest.mark.parametrize(
    ("interfaces", "problem"),
    [
        ((PLAIN,), ""),
        ((PLAIN, EFA), ""),
        ((PLAIN, NetworkInterface(1, 1)), ""),
        ((PLAIN, NetworkInterface(2, 1)), "no network card 2"),
        ((PLAIN, NetworkInterface(0, 3)), "takes 3 interfaces"),
        ((PLAIN, EFA, NetworkInterface(1, 1, "efa-only")), "takes 1 EFA interfaces"),
    ],
)
def test_the_interfaces_of_a_class_have_to_fit(interfaces: tuple[NetworkInterface, ...], problem: str) -> None:
    cards = network(NetworkCard(0, 3), NetworkCard(1, 3), efa_info=Efa(1))
    found = why(NodeSetup(interfaces=interfaces), network_info=cards)
    assert problem in found if problem else not found


@pytest.mark.aws("AWS-128")
def test_interfaces_need_an_elastic_network_adapter() -> None:
    cards = network(NetworkCard(0, 3), ena_support="unsupported")
    assert "elastic network adapter" in why(NodeSetup(interfaces=(PLAIN,)), network_info=cards)
    assert not why(NodeSetup(), network_info=cards)


@pytest.mark.aws("AWS-128")
def test_prefixes_take_the_place_of_addresses() -> None:
    assert not why(NodeSetup(ip_prefix_count=9))
    assert "10 address prefixes" in why(NodeSetup(ip_prefix_count=10))


@pytest.mark.aws("AWS-129")
def test_a_type_has_to_support_the_strategy_of_the_placement_group() -> None:
    setup = NodeSetup(placement_group=PlacementGroup("pg-1", strategy="cluster"))
    assert not why(setup)
    assert "strategy cluster" in why(setup, placement_group_info=PlacementGroups(("spread",)))


@pytest.mark.aws("AWS-130")
def test_nested_virtualization_is_a_feature_of_the_processor() -> None:
    nesting = NodeSetup(nests_virtualization=True)
    assert "nested virtualization" in why(nesting)
    assert not why(nesting, processor_info=Processor(supported_features=("nested-virtualization",)))


@pytest.mark.aws("AWS-131")
@pytest.mark.parametrize(("hypervisor", "fits"), [("nitro", True), ("xen", False), ("", False)])
def test_connection_tracking_is_nitros(hypervisor: str, fits: bool) -> None:
    assert bool(why(NodeSetup(tracks_connections=True), hypervisor=hypervisor)) != fits


@pytest.mark.aws("AWS-142")
def test_a_type_that_does_not_fit_stays_listed_with_nothing_to_be_had() -> None:
    (found,) = book((described("a1.large"),)).instance_types(NodeSetup(subnets=SUBNETS), market())
    assert found.offerings
    assert not any(offering.available for offering in found.offerings)

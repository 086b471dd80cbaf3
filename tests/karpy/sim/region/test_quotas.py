from __future__ import annotations

from karpy.resources import Resources
from karpy.sim.region.quotas import Quota, Quotas
from karpy.sim.region.where import Where

ON_DEMAND = ("c-4x-amd64", "sim-1a", "on-demand")
SPOT = ("c-4x-amd64", "sim-1a", "spot")
MEMORY = ("m-4x-amd64", "sim-1b", "on-demand")
FOUR = Resources({"cpu": 4000})


def test_without_quotas_everything_may_be_had() -> None:
    assert Quotas().refusal(ON_DEMAND, FOUR) == ""


def test_vcpus_are_counted_by_family_and_capacity_type() -> None:
    quotas = Quotas([Quota(Where("c-*|s-*", capacity_type="on-demand"), vcpus=8)])
    quotas.count(ON_DEMAND, FOUR, by=1)
    assert quotas.refusal(ON_DEMAND, FOUR) == ""
    quotas.count(ON_DEMAND, FOUR, by=1)
    assert quotas.refusal(ON_DEMAND, FOUR) == "VcpuLimitExceeded"
    assert quotas.refusal(SPOT, FOUR) == quotas.refusal(MEMORY, FOUR) == ""


def test_what_is_given_back_may_be_had_again() -> None:
    quotas = Quotas([Quota(Where(capacity_type="spot"), vcpus=4)])
    quotas.count(SPOT, FOUR, by=1)
    assert quotas.refusal(SPOT, FOUR) == "MaxSpotInstanceCountExceeded"
    quotas.count(SPOT, FOUR, by=-1)
    assert quotas.refusal(SPOT, FOUR) == ""


def test_a_smaller_machine_may_still_fit() -> None:
    quotas = Quotas([Quota(vcpus=5)])
    quotas.count(SPOT, FOUR, by=1)
    assert quotas.refusal(ON_DEMAND, Resources({"cpu": 1000})) == ""
    assert quotas.refusal(ON_DEMAND, Resources({"cpu": 1500})) == "VcpuLimitExceeded"


def test_machines_of_a_region_are_counted_whatever_they_are() -> None:
    quotas = Quotas([Quota(machines=2)])
    quotas.count(SPOT, FOUR, by=1)
    quotas.count(MEMORY, FOUR, by=1)
    assert quotas.refusal(ON_DEMAND, FOUR) == "InstanceLimitExceeded"
    quotas.clear_up()
    assert quotas.refusal(ON_DEMAND, FOUR) == ""

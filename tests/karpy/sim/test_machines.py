from __future__ import annotations

import pytest

from karpy.sim.generic import GenericModel
from karpy.sim.machines import Bill, Machine, Machines


def test_a_bill_grows_with_time_at_the_rate_of_the_moment() -> None:
    bill = Bill(now=0.0)
    bill.change(2.0, now=0.0)
    bill.change(1.0, now=3600.0)
    bill.change(-3.0, now=7200.0)
    assert bill.total(1800.0 + 7200.0) == pytest.approx(2.0 + 3.0)
    assert bill.per_hour == 0.0


def test_asking_does_not_change_the_bill() -> None:
    bill = Bill(now=0.0)
    bill.change(6.0, now=0.0)
    assert bill.total(600.0) == bill.total(600.0) == pytest.approx(1.0)


def machine(lag_s: float = 0.0) -> Machine:
    instance_type = GenericModel().instance_types()[0]
    return Machine(
        serial=1,
        model="generic",
        provider_id="sim:///sim-1a/i-00000001",
        node_name="node",
        claim="claim",
        instance_type=instance_type,
        offering=instance_type.offerings[0],
        labels={},
        taints=(),
        price=1.0,
        created=100.0,
        joins_at=130.0,
        ready_at=140.0,
        lag_s=lag_s,
    )


def test_the_clouds_api_tells_how_a_machine_was_some_seconds_ago() -> None:
    it = machine(lag_s=10.0)
    it.terminating_since, it.gone_at = 200.0, 205.0
    told = {at: it.seen(at) for at in (109.9, 110.0, 209.9, 210.0, 214.9, 215.0)}
    seen = {at: instance and instance.is_terminating for at, instance in told.items()}
    assert seen == {109.9: None, 110.0: False, 209.9: False, 210.0: True, 214.9: True, 215.0: None}


def test_machines_that_are_gone_are_remembered_until_the_api_has_forgotten_them() -> None:
    machines, it = Machines(), machine(lag_s=10.0)
    machines.add(it)
    it.terminating_since = it.gone_at = 200.0
    assert machines.get(it.provider_id, 200.0) is None
    assert machines.remembered(it.provider_id, 209.9) is it
    machines.prune(209.9)
    assert list(machines) == [it]
    machines.prune(210.0)
    assert list(machines) == []
    assert machines.remembered(it.provider_id, 210.0) is None


def test_a_claim_has_the_machine_that_was_launched_for_it_last_and_stays() -> None:
    machines, old, new = Machines(), machine(), machine()
    new.provider_id = "sim:///sim-1a/i-00000002"
    machines.add(old)
    assert machines.of_claim("claim", 100.0) is old
    old.terminating_since, old.gone_at = 150.0, 155.0
    assert machines.of_claim("claim", 150.0) is None
    machines.add(new)
    machines.prune(155.0)
    assert machines.of_claim("claim", 155.0) is new

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.ports import HostPort, clash
from karpy.testing import make_claim, make_daemon_set, make_node, make_nodepool, make_pod
from tests.judge import plan_of


def taking(port: int, *, protocol: str = "TCP", ip: str = "") -> dict[str, Any]:
    given = {"containerPort": port, "hostPort": port, "protocol": protocol, "hostIP": ip}
    return {"containers": [{"name": "main", "image": "pause", "ports": [given]}]}


@pytest.mark.core("CORE-741")
@pytest.mark.parametrize(
    ("other", "clashes"),
    [
        (HostPort(80), True),
        (HostPort(81), False),
        (HostPort(80, "UDP"), False),
        (HostPort(80, ip="10.0.0.1"), True),
        (HostPort(80, ip="::"), True),
    ],
)
def test_a_port_on_every_address_clashes_with_that_port_on_any(other: HostPort, clashes: bool) -> None:
    for ip in ("", "0.0.0.0", "::"):
        assert clash([HostPort(80, ip=ip)], [other]) == clash([other], [HostPort(80, ip=ip)]) == clashes


@pytest.mark.core("CORE-741")
def test_one_address_clashes_with_itself_and_not_with_another() -> None:
    assert HostPort(80, ip="10.0.0.1").clashes(HostPort(80, ip="10.0.0.1"))
    assert not HostPort(80, ip="10.0.0.1").clashes(HostPort(80, ip="10.0.0.2"))


@pytest.mark.core("CORE-097")
def test_pods_that_take_one_port_get_a_machine_each() -> None:
    pods = [make_pod(f"p{n}", spec=taking(80)) for n in range(3)]
    assert [len(launch.pods) for launch in plan_of(make_nodepool(), *pods).launches] == [1, 1, 1]


def test_pods_that_take_different_ports_share_one() -> None:
    pods = [make_pod(f"p{n}", spec=taking(80 + n)) for n in range(3)]
    pods.append(make_pod("udp", spec=taking(80, protocol="UDP")))
    assert [len(launch.pods) for launch in plan_of(make_nodepool(), *pods).launches] == [4]


@pytest.mark.core("CORE-097")
def test_a_port_that_is_taken_on_a_node_sends_the_pod_elsewhere() -> None:
    running = make_pod("r", node="a", spec=taking(80))
    nodes = [make_node("a"), make_node("b")]
    plan = plan_of(make_nodepool(), *nodes, running, *(make_pod(f"p{n}", spec=taking(80)) for n in range(2)))
    assert [(nomination.node, len(nomination.pods)) for nomination in plan.nominations] == [("b", 1)]
    assert len(plan.launches) == 1


def test_machines_on_their_way_have_their_ports_free() -> None:
    claim = make_claim("c", instance_type="c4", reached=("Launched",))
    plan = plan_of(make_nodepool(), claim, *(make_pod(f"p{n}", spec=taking(80)) for n in range(2)))
    assert [nomination.node for nomination in plan.nominations] == ["c"]
    assert len(plan.launches) == 1


@pytest.mark.core("CORE-338")
def test_a_port_that_a_daemon_takes_is_to_be_had_only_where_the_daemon_does_not_run() -> None:
    pod = make_pod(spec=taking(80))
    assert plan_of(make_nodepool(), make_daemon_set(spec=taking(80)), pod).launches == ()
    on_arm = {**taking(80), "nodeSelector": {labels.ARCH: "arm64"}}
    (launch,) = plan_of(make_nodepool(), make_daemon_set(spec=on_arm), pod).launches
    assert {priced.name[0] for priced in launch.instance_types} == {"c"}


@pytest.mark.core("CORE-357")
@pytest.mark.parametrize(
    "away",
    [
        {"nodeSelector": {labels.ARCH: "mips"}},
        {"nodeSelector": {"team": "other"}},
        {"nodeSelector": {labels.ZONE: "elsewhere"}},
    ],
)
def test_a_port_of_a_daemon_that_runs_nowhere_here_is_to_be_had(away: dict[str, Any]) -> None:
    daemon = make_daemon_set(spec={**taking(80), **away})
    assert plan_of(make_nodepool(), daemon, make_pod(spec=taking(80))).placed == 1


@pytest.mark.core("CORE-357")
def test_a_port_of_a_daemon_that_the_pools_taint_keeps_out_is_to_be_had() -> None:
    pool = make_nodepool(taints=[{"key": "gpu", "effect": "NoSchedule"}])
    bears = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
    assert plan_of(pool, make_daemon_set(spec=taking(80)), make_pod(spec={**taking(80), **bears})).placed == 1
    assert (
        plan_of(pool, make_daemon_set(spec={**taking(80), **bears}), make_pod(spec={**taking(80), **bears})).placed == 0
    )

from __future__ import annotations

import pytest

from tests.karpy.sim.scheduler.scenes import Scene, node, pod

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def test_a_cordoned_node_is_refused_unless_the_cordon_is_tolerated() -> None:
    scene = Scene(node("n1", unschedulable=True))
    assert scene.message(pod()) == "0/1 nodes are available: 1 node(s) were unschedulable."
    bearing = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    assert scene.best(pod(tolerations=bearing)) == ("n1",)


def test_a_taint_is_named_with_its_value() -> None:
    scene = Scene(node("n1", taints=[TAINT]))
    assert scene.message(pod()) == "0/1 nodes are available: 1 node(s) had untolerated taint {team: a}."
    assert scene.best(pod(tolerations=[{"key": "team", "operator": "Exists"}])) == ("n1",)


def test_a_preference_against_pods_does_not_refuse_them() -> None:
    assert Scene(node("n1", taints=[{**TAINT, "effect": "PreferNoSchedule"}])).best(pod()) == ("n1",)


@pytest.mark.parametrize(
    "wish",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
                        ]
                    }
                }
            }
        },
    ],
)
def test_node_selector_and_affinity_are_one_rule(wish: dict[str, object]) -> None:
    scene = Scene(node("n1"), node("n2", labels={"disk": "ssd"}))
    assert scene.best(pod(**wish)) == ("n2",)
    message = Scene(node("n1")).message(pod(**wish))
    assert message == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."


def test_every_lacking_resource_is_named() -> None:
    scene = Scene(node("n1", cpu="1", memory="1Gi", pods="1")).holds("n1", pod(cpu="500m"))
    wanted = pod(cpu="600m", memory="1Gi", requests={"nvidia.com/gpu": "1"})
    assert scene.message(wanted) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu, "
        "1 Too many pods."
    )


def test_a_host_port_is_free_only_once() -> None:
    scene = Scene(node("n1"), node("n2")).holds("n1", pod(hostPort=443))
    assert scene.best(pod(hostPort=443)) == ("n2",)
    scene.holds("n2", pod(hostPort=443))
    assert scene.message(pod(hostPort=443)) == (
        "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
    )
    assert scene.best(pod(hostPort=80)) == ("n1", "n2")


def test_a_changed_node_is_looked_at_anew() -> None:
    scene = Scene(node("n1", taints=[TAINT]))
    assert scene.best(pod()) == ()
    scene.nodes.describe(node("n1"))
    assert scene.best(pod()) == ("n1",)


def port(number: int, ip: str = "", protocol: str = "TCP") -> dict[str, object]:
    made = pod()
    bound = {"containerPort": 80, "hostPort": number, "protocol": protocol, **({"hostIP": ip} if ip else {})}
    made["spec"]["containers"][0]["ports"] = [bound]
    return made


@pytest.mark.parametrize(
    ("held", "wanted", "fits"),
    [
        (port(80, "10.0.0.1"), port(80, "10.0.0.2"), True),
        (port(80, "10.0.0.1"), port(80, "10.0.0.1"), False),
        (port(80, "10.0.0.1"), port(80), False),  # all addresses include every one
        (port(80), port(80, "10.0.0.1"), False),
        (port(80), port(80, protocol="UDP"), True),
    ],
)
def test_ports_clash_by_address_and_protocol(held: dict[str, object], wanted: dict[str, object], fits: bool) -> None:
    scene = Scene(node("n1")).holds("n1", held)
    assert bool(scene.best(wanted)) is fits


def test_room_is_needed_for_sidecars_for_what_starts_first_and_for_the_runtime() -> None:
    def starting(cpu: str, **more: object) -> dict[str, object]:
        return {"name": f"i{cpu}", "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}

    scene = Scene(node("n1", cpu="4"))
    assert scene.best(pod(cpu="1", initContainers=[starting("4")])) == ("n1",)
    assert scene.best(pod(cpu="1", initContainers=[starting("4100m")])) == ()
    sidecar = starting("1", restartPolicy="Always")
    assert scene.best(pod(cpu="3", initContainers=[sidecar])) == ("n1",)
    assert scene.best(pod(cpu="3100m", initContainers=[sidecar])) == ()
    assert scene.best(pod(cpu="1", initContainers=[sidecar, starting("3100m")])) == ()
    assert scene.best(pod(cpu="1", initContainers=[starting("3100m"), sidecar])) == ("n1",)
    assert scene.best(pod(cpu="3900m", overhead={"cpu": "200m"})) == ()


def test_what_was_found_out_about_a_node_does_not_hold_for_the_next_of_its_name() -> None:
    scene = Scene(node("n1", taints=[TAINT]))
    assert not scene.place(pod()).best
    scene.nodes.remove("n1")
    scene.nodes.describe(node("n1"))
    assert scene.best(pod()) == ("n1",)

from __future__ import annotations

from karpy import labels
from tests.karpy.sim.scheduler.scenes import Scene, node, pod, spread

ZONE, HOST = labels.ZONE, labels.HOSTNAME


def two_zones() -> Scene:
    return Scene(node("a1", "a"), node("a2", "a"), node("b1", "b"))


def test_a_domain_may_not_lead_by_more_than_the_skew() -> None:
    scene = two_zones().holds("a1", pod())
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE)])) == ("b1",)


def test_pods_that_are_going_and_pods_of_other_namespaces_do_not_count() -> None:
    wanted = pod(topologySpreadConstraints=[spread(ZONE)])
    assert len(two_zones().holds("a1", pod(), is_deleting=True).best(wanted)) > 1
    assert len(two_zones().holds("a1", pod(namespace="other")).best(wanted)) > 1


def test_when_every_domain_is_full_the_rule_is_named() -> None:
    scene = Scene(node("a1", "a"), node("b1", "b", unschedulable=True)).holds("a1", pod())
    assert scene.message(pod(topologySpreadConstraints=[spread(ZONE)])) == (
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) were unschedulable."
    )


def test_a_node_without_the_key_is_refused_for_good() -> None:
    scene, wanted = Scene(node("n1")), pod(topologySpreadConstraints=[spread(ZONE)])
    assert "didn't match pod topology spread constraints (missing required label)" in scene.message(wanted)
    assert "1 Preemption is not helpful for scheduling" in scene.room_for(wanted).message


def test_a_cordoned_nodes_domain_counts_unless_taints_are_honoured() -> None:
    tainted = node("b1", "b", taints=[{"key": "k", "effect": "NoSchedule"}])
    scene = Scene(node("a1", "a"), tainted).holds("a1", pod())
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE)])) == ()
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE, nodeTaintsPolicy="Honor")])) == ("a1",)


def test_domains_that_the_pod_cannot_use_do_not_count_unless_it_says_so() -> None:
    scene = Scene(node("a1", "a", labels={"disk": "ssd"}), node("b1", "b")).holds("a1", pod())
    chosen = {"nodeSelector": {"disk": "ssd"}}
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE)], **chosen)) == ("a1",)
    ignoring = spread(ZONE, nodeAffinityPolicy="Ignore")
    assert scene.best(pod(topologySpreadConstraints=[ignoring], **chosen)) == ()


def test_with_fewer_domains_than_asked_for_the_least_is_zero() -> None:
    scene = Scene(node("a1", "a")).holds("a1", pod())
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE)])) == ("a1",)
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE, minDomains=2)])) == ()


def test_a_wish_to_spread_prefers_the_emptier_domain() -> None:
    scene = Scene(node("a1", "a"), node("b1", "b")).holds("a1", pod()).holds("b1", pod(app="other"))
    assert scene.best(pod(topologySpreadConstraints=[spread(ZONE, action="ScheduleAnyway")])) == ("b1",)


def test_a_wish_to_spread_over_hosts_counts_per_node() -> None:
    scene = two_zones().holds("a1", pod()).holds("a2", pod(app="other")).holds("b1", pod())
    assert scene.best(pod(topologySpreadConstraints=[spread(HOST, action="ScheduleAnyway")])) == ("a2",)


def test_label_keys_count_only_pods_of_the_same_revision() -> None:
    held = Scene(node("a1", "a"), node("b1", "b"))
    old = pod(app="x")
    old["metadata"]["labels"]["v"] = "1"
    held.holds("a1", old, old)
    new = pod(topologySpreadConstraints=[spread(ZONE, matchLabelKeys=["v"])])
    assert held.best(new) == ("b1",)
    new["metadata"]["labels"]["v"] = "2"
    assert held.place(new).refusals == {}

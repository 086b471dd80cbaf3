from __future__ import annotations

from typing import Any

from karpy import labels
from tests.karpy.sim.scheduler.scenes import Scene, affinity, node, pod

ZONE, HOST = labels.ZONE, labels.HOSTNAME


def scene() -> Scene:
    return Scene(node("a1", "a"), node("a2", "a"), node("b1", "b"))


def test_a_pod_goes_where_the_wanted_pods_are() -> None:
    assert scene().holds("a1", pod(app="db")).best(pod(affinity=affinity("db", ZONE))) == ("a2",)
    assert scene().holds("a1", pod(app="db")).best(pod(affinity=affinity("db", HOST))) == ("a1",)


def test_without_a_match_the_rule_is_named_and_final() -> None:
    wanted = pod(affinity=affinity("db", ZONE))
    assert scene().message(wanted) == "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
    assert scene().room_for(wanted).message == ("0/3 nodes are available: 3 Preemption is not helpful for scheduling.")


def test_the_first_of_a_group_that_wants_itself_may_start_it() -> None:
    wanted = pod(app="db", affinity=affinity("db", ZONE))
    assert scene().best(wanted) == ("a1", "a2", "b1")
    assert scene().holds("b1", pod(app="db")).best(wanted) == ("b1",)


def test_a_pod_stays_away_from_what_it_shuns() -> None:
    assert scene().holds("a1", pod(app="db")).best(pod(affinity=affinity("db", ZONE, anti=True))) == ("b1",)


def test_pods_that_run_keep_others_away_too() -> None:
    shy = pod(app="shy", affinity=affinity("x", ZONE, anti=True))
    assert scene().holds("a1", shy).best(pod()) == ("b1",)
    full = scene().holds("a1", shy).holds("b1", shy)
    assert full.message(pod()) == (
        "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules."
    )


def test_affinity_stays_within_the_namespace_unless_it_names_others() -> None:
    held = scene().holds("a1", pod(app="db", namespace="other"))
    assert held.best(pod(affinity=affinity("db", ZONE))) == ()
    assert held.best(pod(affinity=affinity("db", HOST, namespaces=["other"]))) == ("a1",)
    assert held.best(pod(affinity=affinity("db", HOST, namespaceSelector={}))) == ("a1",)


def test_namespaces_are_chosen_by_their_labels() -> None:
    nodes = (node("a1", "a"), node("b1", "b"))
    held = Scene(*nodes, namespaces={"other": {"team": "t"}}).holds("a1", pod(app="db", namespace="other"))
    chosen = {"matchLabels": {"team": "t"}}
    assert held.best(pod(affinity=affinity("db", HOST, namespaceSelector=chosen))) == ("a1",)
    assert held.best(pod(affinity=affinity("db", HOST, namespaceSelector={"matchLabels": {"team": "u"}}))) == ()


def test_wishes_attract_and_repel() -> None:
    held = Scene(node("a1", "a"), node("b1", "b")).holds("a1", pod(app="db")).holds("b1", pod(app="other"))
    assert held.best(pod(affinity=affinity("db", ZONE, weight=100))) == ("a1",)
    assert held.best(pod(affinity=affinity("db", ZONE, weight=100, anti=True))) == ("b1",)


def test_what_a_running_pod_requires_or_wishes_attracts_too() -> None:
    for wish in (affinity("x", ZONE), affinity("x", ZONE, weight=1)):
        lonely = pod(app="lonely", affinity=wish)
        held = Scene(node("a1", "a"), node("b1", "b")).holds("a1", lonely).holds("b1", pod(app="other"))
        assert held.best(pod()) == ("a1",)


def test_label_keys_narrow_a_term_to_pods_like_this_one_or_unlike_it() -> None:
    held = Scene(node("a1", "a"), node("b1", "b"))
    first, second = pod(app="x"), pod(app="x")
    first["metadata"]["labels"]["v"], second["metadata"]["labels"]["v"] = "1", "2"
    held.holds("a1", first).holds("b1", second)

    def wanted(**keys: list[str]) -> dict[str, Any]:
        made = pod(app="x", affinity=affinity("x", HOST, **keys))
        made["metadata"]["labels"]["v"] = "1"
        return made

    assert held.best(wanted()) == ("a1", "b1")
    assert held.best(wanted(matchLabelKeys=["v"])) == ("a1",)
    assert held.best(wanted(mismatchLabelKeys=["v"])) == ("b1",)


def test_a_label_without_a_value_is_a_domain_and_no_label_is_none() -> None:
    held = Scene(node("n1", labels={"rack": ""}), node("n2", labels={"rack": ""}), node("n3"))
    held.holds("n1", pod(app="db", cpu="100m")).holds("n3", pod(cpu="100m"))
    assert held.best(pod(affinity=affinity("db", "rack", weight=100))) == ("n2",)
    held.holds("n2", pod(cpu="3"))
    assert held.best(pod(affinity=affinity("db", "rack", weight=100))) == ("n1",)

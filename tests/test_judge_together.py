"""The judge of affinities is judged: who is with nobody, and who could never be first, must not pass."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.testing import make_instance_type, make_pod
from tests.test_judge_around import Case

Json = dict[str, Any]

ZONE, HOST = labels.ZONE, labels.HOSTNAME
both_keys = pytest.mark.parametrize("key", [ZONE, HOST])


def fond(name: str, of: str, key: str, *, app: str = "", **spec: Any) -> Json:
    """A pod that must be with pods of an app."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": of}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}, **spec.pop("affinity", {})}
    return make_pod(name, labels={"app": app} if app else None, spec={"affinity": affinity, **spec})


def plain(name: str, app: str, **pod: Any) -> Json:
    return make_pod(name, labels={"app": app}, **pod)


def lonely(found: list[str]) -> list[str]:
    """Who is told to be without others."""
    return sorted(text.split()[0].removeprefix("default/") for text in found if "without them" in text)


@both_keys
def test_pods_that_want_each_other_and_are_apart_are_found(key: str) -> None:
    case = Case(*(fond(name, "web", key, app="web") for name in "pq"))
    assert case.put(a=["p", "q"]) == []
    assert len(lonely(case.put(a=["p"], b=["q"]))) == 1  # one of them may begin, but the other had to follow


@both_keys
def test_who_begins_though_others_of_its_kind_run_elsewhere_is_found(key: str) -> None:
    case = Case(plain("r", "web", node="a"), fond("p", "web", key, app="web"))
    assert case.put(a=["p"]) == []
    assert lonely(case.put(b=["p"])) == ["p"]


def test_who_may_not_go_to_where_others_are_may_begin() -> None:
    case = Case(plain("r", "web", node="a"), fond("p", "web", ZONE, app="web", nodeSelector={ZONE: "zone-b"}))
    assert case.put(b=["p"]) == []


@both_keys
def test_pods_of_which_each_must_come_after_the_other_are_found(key: str) -> None:
    """On paper they are together; but none of them can be bound first."""
    left, right = fond("left", "right", key, app="left"), fond("right", "left", key, app="right")
    assert lonely(Case(left, right).put(a=["left", "right"])) == ["left", "right"]
    assert Case(left, right, plain("first", "left")).put(a=["left", "right", "first"]) == []


@both_keys
def test_a_chain_holds_when_its_start_does(key: str) -> None:
    chain = [fond("end", "middle", key), fond("middle", "start", key, app="middle")]
    assert Case(*chain, plain("start", "start")).put(a=["end", "middle", "start"]) == []
    assert lonely(Case(*chain, plain("start", "other")).put(a=["end", "middle", "start"])) == ["end", "middle"]
    assert "end" in lonely(Case(*chain, plain("start", "start")).put(a=["middle", "start"], b=["end"]))


def test_pods_that_come_later_elsewhere_do_not_keep_one_from_beginning() -> None:
    case = Case(fond("p", "web", ZONE, app="web"), plain("q", "web"))
    assert case.put(a=["p"], b=["q"]) == []


def test_a_node_without_the_label_is_nobodys_company() -> None:
    case = Case(plain("r", "web", node="a"), fond("p", "web", "rack"))
    assert lonely(case.put(a=["p"])) == ["p"]


def test_pods_of_another_namespace_are_no_company() -> None:
    case = Case(plain("r", "web", node="a", namespace="other"), fond("p", "web", ZONE))
    assert lonely(case.put(a=["p"])) == ["p"]


def test_each_of_several_terms_counts() -> None:
    terms = [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}} for app in ("web", "db")]
    both = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = make_pod("p", spec={"affinity": both})
    assert Case(plain("r", "web", node="a"), plain("s", "db", node="a"), pod).put(a=["p"]) == []
    assert lonely(Case(plain("r", "web", node="a"), plain("s", "db", node="b"), pod).put(a=["p"])) == ["p"]


# Apart


def loner(name: str, key: str, of: str = "web", **term: Any) -> Json:
    given = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": of}}, **term}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [given]}}
    return make_pod(name, labels={"app": "loner"}, spec={"affinity": affinity})


@both_keys
@pytest.mark.parametrize("first", ["web", "loner"])
def test_a_newcomer_and_the_one_that_keeps_it_away_are_found_in_whichever_order(key: str, first: str) -> None:
    pods = [plain("p", "web"), loner("q", key)]
    case = Case(*(pods if first == "web" else pods[::-1]))
    assert case.put(a=["p"], b=["q"]) == []
    assert any("may meet" in text for text in case.put(a=["p", "q"]))


def test_terms_of_other_namespaces_reach_here() -> None:
    case = Case(loner("q", ZONE, namespaces=["other"]), plain("p", "web"))
    assert case.put(a=["p", "q"]) == []
    case = Case(loner("q", ZONE, namespaceSelector={}), plain("p", "web"))
    assert case.put(a=["p", "q"]) == []  # nobody told of a namespace
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    case = Case(loner("q", ZONE, namespaceSelector={}), plain("p", "web"), namespace)
    assert case.put(a=["p", "q"])


def test_old_names_of_labels_mean_the_same() -> None:
    old = "failure-domain.beta.kubernetes.io/zone"
    case = Case(loner("q", old), plain("p", "web"))
    assert case.put(a=["p", "q"])
    case = Case(plain("r", "web", node="a"), fond("p", "web", old))
    assert (case.put(a=["p"]), lonely(case.put(b=["p"]))) == ([], ["p"])


@pytest.mark.parametrize("sold_in", ["zone-a", "zone-c"])
def test_a_machine_that_may_come_to_where_it_may_not_be_is_found_however_dear_its_type(sold_in: str) -> None:
    """Twenty types are sold elsewhere; only the dearest is not."""
    types = [make_instance_type(f"t{n:02}", price=1.0 + n, zones=["zone-b"]) for n in range(20)]
    types.append(make_instance_type("dear", price=99.0, zones=[sold_in]))
    running = make_pod("r", node="a", spec=loner("x", ZONE)["spec"])
    case = Case(running, plain("p", "web"), types=types)
    found = case.judge(case.alone())
    assert bool(found) is (sold_in == "zone-a")

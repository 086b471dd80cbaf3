from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.errors import InvalidObject
from karpy.objects.pod import Pod
from karpy.scheduling.constraints import Constraints, constraints_of
from karpy.taints import Toleration
from karpy.testing import make_pod, selector

BEARS = Toleration(operator="Exists", effect="PreferNoSchedule")
WEB = {"matchLabels": {"app": "web"}}


def of(spec: dict[str, Any], namespaces: dict[str, dict[str, str]] | None = None, **pod: Any) -> Constraints:
    return constraints_of(Pod.from_dict(make_pod(spec=spec, **pod)), namespaces)


def required(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    node_affinity = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node_affinity}}}


def preferred(**weights: int) -> dict[str, Any]:
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [selector("zone", "In", zone)]}}
        for zone, weight in weights.items()
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def anti(term: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_selector_and_first_alternative_hold_together() -> None:
    found = of(
        {"nodeSelector": {"team": "a"}, **required([selector("zone", "In", "x")], [selector("zone", "In", "y")])}
    )
    assert found.requirements.labels() == {"team": "a", "zone": "x"}


def test_the_ladder_goes_through_the_alternatives_and_then_again_bearing_preferences() -> None:
    rungs = list(of(required([selector("zone", "In", "x")], [selector("zone", "In", "y")])).ladder())
    assert [rung.requirements.labels()["zone"] for rung in rungs] == ["x", "y", "x", "y"]
    assert [rung.tolerations for rung in rungs] == [(), (), (BEARS,), (BEARS,)]


def test_where_no_taint_is_a_preference_no_rung_bears_one() -> None:
    assert len(list(of({}).ladder(taints_may_be_preferences=False))) == 1


def test_the_heaviest_preference_counts_and_is_given_up_first() -> None:
    rungs = of(preferred(light=1, heavy=9, middle=5)).ladder(taints_may_be_preferences=False)
    assert [rung.requirements.labels().get("zone") for rung in rungs] == ["heavy", "middle", "light", None]


@pytest.mark.core("CORE-049")
def test_a_preference_that_contradicts_what_is_required_is_no_preference() -> None:
    assert of({**preferred(x=1), "nodeSelector": {"zone": "y"}}).preferred == ()


def test_while_a_preference_contradicts_the_alternative_at_hand_no_node_will_do() -> None:
    wish = {"weight": 1, "preference": {"matchExpressions": [selector("tier", "NotIn", "b")]}}
    spec = required([selector("tier", "In", "b")])
    spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = [wish]
    with_wish, without = of(spec).ladder(taints_may_be_preferences=False)
    assert with_wish.node_alternatives == ()
    assert [nodes.labels() for nodes in without.node_alternatives] == [{"tier": "b"}]


@pytest.mark.core("CORE-195")
def test_preferences_are_not_among_what_topology_counts_domains_by() -> None:
    found = of({**preferred(x=1), "nodeSelector": {"team": "a"}})
    assert found.strict.labels() == {"team": "a"}
    assert found.requirements.labels() == {"team": "a", "zone": "x"}


@pytest.mark.parametrize(
    "terms",
    [
        [[selector("a", "In", "x"), selector("a", "In", "y")]],
        [[selector("a", "In", "x"), selector("a", "DoesNotExist")]],
        [[selector("a", "Gt", "5"), selector("a", "Lt", "3")]],
        [[]],
    ],
)
def test_alternatives_that_no_node_can_meet_are_an_error(terms: list[list[dict[str, Any]]]) -> None:
    with pytest.raises(InvalidObject, match=r"no (node|term that a node) can meet"):
        of(required(*terms))
    assert of(required(*terms, [selector("a", "Exists")])).terms  # one that can be met is enough


def test_two_ways_to_say_that_a_label_is_absent_do_not_contradict_each_other() -> None:
    assert of(required([selector("a", "NotIn", "x"), selector("a", "DoesNotExist")])).terms


@pytest.mark.core("CORE-198", "CORE-199")
def test_match_label_keys_that_the_pod_carries_narrow_the_selector() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": labels.ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": WEB,
        "matchLabelKeys": ["revision", "not-there"],
    }
    (term,) = of({"topologySpreadConstraints": [spread]}, labels={"app": "web", "revision": "1"}).spread
    assert term.selector.selects("default", {"app": "web", "revision": "1"})
    assert not term.selector.selects("default", {"app": "web", "revision": "2"})
    assert not term.selector.selects("other", {"app": "web", "revision": "1"})


@pytest.mark.core("CORE-154", "CORE-155", "CORE-169")
@pytest.mark.parametrize(
    ("label_selector", "web", "bare"),
    [
        ({}, True, True),
        (None, False, False),
        ({"matchExpressions": [selector("app", "Near", "web")]}, False, False),
        ({"matchExpressions": [selector("app", "In")]}, False, False),
        ({"matchExpressions": [selector("app", "Exists")]}, True, False),
        ({"matchExpressions": [selector("app", "NotIn", "db")]}, True, True),
        ({"matchExpressions": [selector("app", "NotIn", "web")]}, False, True),
        ({"matchExpressions": [selector("app", "DoesNotExist")]}, False, True),
        ({"matchExpressions": [selector("app", "Exists"), selector("app", "NotIn", "db")]}, True, False),
        ({"matchExpressions": [selector("app", "In", "web"), selector("app", "In", "db")]}, False, False),
        ({"matchExpressions": [selector("app", "Exists", "web")]}, False, False),
    ],
)
def test_a_selector_selects_as_the_api_server_reads_it(label_selector: Any, web: bool, bare: bool) -> None:
    (term,) = of(anti({"topologyKey": "zone", "labelSelector": label_selector})).anti_affinity
    assert term.selector.selects("default", {"app": "web"}) == web
    assert term.selector.selects("default", {}) == bare


@pytest.mark.core("CORE-235", "CORE-236")
@pytest.mark.parametrize(
    ("given", "selected"),
    [
        ({}, {"own"}),
        ({"namespaces": ["a", "b"]}, {"a", "b"}),
        ({"namespaceSelector": {}}, {"a", "b", "own"}),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, {"b"}),
        ({"namespaces": ["a"], "namespaceSelector": {"matchLabels": {"team": "x"}}}, {"a", "b"}),
        ({"namespaceSelector": {"matchLabels": {"team": "nobody"}}}, set()),
    ],
)
def test_a_term_is_about_the_namespaces_that_it_lists_and_selects(given: dict[str, Any], selected: set[str]) -> None:
    known: dict[str, dict[str, str]] = {"a": {}, "b": {"team": "x"}, "own": {}}
    (term,) = of(anti({"topologyKey": "zone", "labelSelector": {}, **given}), known, namespace="own").anti_affinity
    assert {name for name in known if term.selector.selects(name, {})} == selected

from __future__ import annotations

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy.labels import CORE_LABELS
from karpy.objects.churnrules import CHURN_ON, ChurnRules, Rate, churn_problems, churn_rules, disruption_price
from karpy.objects.driftmode import DriftMode, DriftRule, drift_problems, drift_rule
from karpy.objects.nodepool import NodePool
from karpy.objects.poolrules import pool_problems
from karpy.settings import Settings
from karpy.testing import make_nodepool

HOUR = 3600.0
NOT_IN_THE_BUNDLE = {"delay_after_add_s"}


def karpy_dev(**values: str) -> dict[str, str]:
    return {f"karpy.dev/{key.replace('_', '-')}": value for key, value in values.items()}


def test_nothing_restrains_karpenters_rules_unless_somebody_asks() -> None:
    assert churn_rules({}).is_off
    assert churn_rules({}, Settings().churn_control).is_off


def test_one_word_switches_everything_on_and_off() -> None:
    assert churn_rules(karpy_dev(churn_control="on")) == CHURN_ON
    assert churn_rules({}, "on") == CHURN_ON
    assert churn_rules(karpy_dev(churn_control="off"), "on") == ChurnRules()
    off = ChurnRules()
    assert {rule for rule in attrs.asdict(off) if getattr(CHURN_ON, rule) == getattr(off, rule)} == NOT_IN_THE_BUNDLE


@pytest.mark.parametrize(
    ("annotation", "value", "rule", "means"),
    [
        ("disruption_price", "0.02", "disruption_price", 0.02),
        ("evictions_per_pod", "2/12h", "evictions_per_pod", Rate(2, 12 * HOUR)),
        ("no_return_within", "2h", "no_return_s", 2 * HOUR),
        ("capacity_type_cooldown", "30m", "cooldown_s", HOUR / 2),
        ("quarantine", "5m", "quarantine_s", 300),
        ("delay_after_add", "5m", "delay_after_add_s", 300),
        ("spare_rollouts", "true", "spare_rollouts", True),
    ],
)
def test_each_rule_can_be_set_by_itself(annotation: str, value: str, rule: str, means: object) -> None:
    rules = churn_rules(karpy_dev(**{annotation: value}))
    assert getattr(rules, rule) == means
    assert not rules.is_off
    assert getattr(churn_rules(karpy_dev(**{annotation: value}), "on"), rule) == means


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("disruption_price", "0"),
        ("evictions_per_pod", "unlimited"),
        ("no_return_within", "0s"),
        ("capacity_type_cooldown", "0"),
        ("quarantine", "0s"),
        ("spare_rollouts", "false"),
    ],
)
def test_each_rule_of_the_bundle_can_be_switched_off_by_itself(annotation: str, value: str) -> None:
    rules, off = churn_rules(karpy_dev(churn_control="on", **{annotation: value})), ChurnRules()
    switched = {rule for rule in attrs.asdict(off) if getattr(rules, rule) == getattr(off, rule)} - NOT_IN_THE_BUNDLE
    assert len(switched) == 1


@pytest.mark.parametrize(
    ("annotation", "value", "accepted"),
    [
        ("churn_control", "yes", "on or off"),
        ("disruption_price", "-1", "dollars for each pod"),
        ("disruption_price", "nan", "dollars for each pod"),
        ("disruption_price", "1e3", "dollars for each pod"),
        ("evictions_per_pod", "1", "a whole number and a duration up to 24h"),
        ("evictions_per_pod", "0/6h", "a whole number and a duration up to 24h"),
        ("evictions_per_pod", "1/0s", "a whole number and a duration up to 24h"),
        ("evictions_per_pod", "1/25h", "a whole number and a duration up to 24h"),
        ("no_return_within", "Never", "a duration up to 24h"),
        ("capacity_type_cooldown", "-1h", "a duration up to 24h"),
        ("quarantine", "", "a duration up to 24h"),
        ("spare_rollouts", "True", "true or false"),
        ("drift_mode", "replace", "Replace, Report, Canary"),
        ("drift_canaries", "0", "a whole number above zero"),
        ("drift_canaries", "10%", "a whole number above zero"),
        ("drift_bake", "soon", "a duration"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_is_accepted(annotation: str, value: str, accepted: str) -> None:
    annotations = karpy_dev(**{annotation: value})
    read = drift_problems if annotation.startswith("drift") else churn_problems
    with pytest.raises(InvalidObject) as caught:
        read(annotations)
    (key,) = annotations
    assert caught.value.path == f"metadata.annotations[{key}]"
    assert caught.value.accepted is not None
    assert caught.value.accepted.startswith(accepted)
    pool = make_nodepool("web")
    pool["metadata"]["annotations"] = annotations
    (problem,) = pool_problems(NodePool.from_dict(pool), CORE_LABELS)
    assert str(problem).startswith(f"NodePool/web: metadata.annotations[{key}]: found ")


def test_what_cannot_be_read_does_not_count_and_the_rest_does() -> None:
    rules = churn_rules(karpy_dev(churn_control="on", disruption_price="dear", quarantine="1h"))
    assert rules.disruption_price == CHURN_ON.disruption_price
    assert rules.quarantine_s == HOUR


def test_a_pod_may_have_a_price_of_its_own() -> None:
    assert disruption_price(karpy_dev(disruption_price="0.5")) == 0.5
    assert disruption_price({}) is None
    assert disruption_price(karpy_dev(disruption_price="much")) is None


def test_the_setting_knows_two_words() -> None:
    with pytest.raises(InvalidObject, match=r"Settings.*churn_control.*'yes'.*off or on"):
        Settings(churn_control="yes")


# Drift


def test_drifted_nodes_are_replaced_unless_the_pool_says_otherwise() -> None:
    assert drift_rule({}) == DriftRule(DriftMode.REPLACE)


def test_canaries_are_one_for_an_hour_unless_the_pool_says_otherwise() -> None:
    assert drift_rule(karpy_dev(drift_mode="Canary")) == DriftRule(DriftMode.CANARY, 1, HOUR)
    said = karpy_dev(drift_mode="Canary", drift_canaries="3", drift_bake="20m")
    assert drift_rule(said) == DriftRule(DriftMode.CANARY, 3, 1200)


def test_a_mode_that_cannot_be_read_replaces_nothing() -> None:
    assert drift_rule(karpy_dev(drift_mode="canary")).mode is DriftMode.REPORT

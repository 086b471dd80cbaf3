from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from karpy import labels
from karpy.errors import InvalidObject
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.objects.nodepool import NodePool, WireRequirement
from karpy.objects.poolrules import budget_problems, pool_problems, requirement_problems
from karpy.objects.provisioner import provisioner_to_pool
from karpy.testing import make_nodepool, selector
from tests.vectors import WELL_KNOWN, read

LABELS = CORE_LABELS | LabelSpec(WELL_KNOWN)


def problems(**pool: Any) -> list[str]:
    """What is wrong with a pool, each as ``path: what was found``."""
    found = pool_problems(NodePool.from_dict(make_nodepool("p", **pool)), LABELS)
    assert all(error.object_name == "NodePool/p" and error.accepted for error in found)
    return [f"{error.path}: {error.problem}" for error in found]


def of_requirement(key: str, operator: str, *values: str, min_values: int | None = None) -> list[str]:
    found = requirement_problems(WireRequirement(key, operator, values, min_values), LABELS)
    return [f"{error.path}: {error.problem}" for error in found]


def of_taint(key: str, value: str = "", effect: str = "NoSchedule") -> list[str]:
    found = problems(taints=[{"key": key, "value": value, "effect": effect}])
    return [text.removeprefix("spec.template.spec.taints[0].") for text in found]


def of_label(key: str, value: str = "x") -> list[str]:
    return problems(labels={key: value})


def test_a_mistake_is_told_with_its_place_what_stands_there_and_what_may() -> None:
    pool = NodePool.from_dict(make_nodepool("p", requirements=[selector("karpenter.sh/foo", "Exists")]))
    (error,) = pool_problems(pool, LabelSpec(frozenset({labels.ZONE})))
    assert str(error) == (
        "NodePool/p: spec.template.spec.requirements[0].key: found 'karpenter.sh/foo' (accepted: "
        "a label that no cloud decides (topology.kubernetes.io/zone), or one outside of karpenter.sh)"
    )


@pytest.mark.core("CORE-728")
@pytest.mark.parametrize(
    ("taint", "complaint"),
    [
        (("team", "a"), None),
        (("example.com/team", "", "PreferNoSchedule"), None),
        (("???",), "key: found '???'"),
        (("",), "key: found ''"),
        (("a" * 64,), f"key: found '{'a' * 64}'"),
        (("team", "???"), "value: found '???'"),
        (("team", "a", "NoScheduleNow"), "effect: found 'NoScheduleNow'"),
    ],
)
def test_taints_have_keys_values_and_effects_that_kubernetes_knows(
    taint: tuple[str, ...], complaint: str | None
) -> None:
    assert of_taint(*taint) == ([complaint] if complaint else [])


@pytest.mark.core("CORE-728")
def test_a_key_may_have_several_effects_but_each_once_startup_taints_included() -> None:
    hard, soft = {"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "PreferNoSchedule"}
    assert problems(taints=[hard, soft]) == []
    assert problems(taints=[hard], startup_taints=[soft, {**hard, "value": "x"}]) == [
        "spec.template.spec.startupTaints[1]: found 'a=x:NoSchedule'"
    ]


@pytest.mark.core("CORE-729")
@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (("team", "In", "a"), None),
        (("team", "Exists"), None),
        (("example.com/team", "NotIn", "a"), None),
        (("???", "Exists"), "key: found '???'"),
        (("a" * 64, "Exists"), f"key: found '{'a' * 64}'"),
        (("team", "Near", "x"), "operator: found 'Near'"),
        ((labels.HOSTNAME, "In", "x"), f"key: found '{labels.HOSTNAME}'"),
        (("karpenter.sh/foo", "Exists"), "key: found 'karpenter.sh/foo'"),
        (("sub.karpenter.sh/foo", "Exists"), "key: found 'sub.karpenter.sh/foo'"),
        (("karpenter.sh.example.com/foo", "Exists"), None),
        (("kubernetes.io/foo", "Exists"), None),
        (("node.kubernetes.io/foo", "Exists"), None),
        (("k8s.io/foo", "Exists"), None),
        *(((key, "Exists"), None) for key in sorted(CORE_LABELS.well_known - {labels.NODEPOOL})),
        *(((key, "Exists"), None) for key in labels.ALIASES),
        (("team", "In", "???"), "values[0]: found '???'"),
        (("team", "In"), "values: found []"),
        (("level", "Gt", "1"), None),
        (("level", "Gt", "-1"), "values: found ['-1']"),
        (("level", "Lt", "1", "2"), "values: found ['1', '2']"),
        (("level", "Gte", "a"), "values: found ['a']"),
        (("level", "Lte"), "values: found []"),
        ((labels.CAPACITY_TYPE, "In", "spot", "cheap"), None),
        ((labels.CAPACITY_TYPE, "In", "cheap"), "values: found ['cheap']"),
    ],
)
def test_requirements_name_labels_that_a_pool_may_decide_and_values_that_they_can_have(
    entry: tuple[str, ...], complaint: str | None
) -> None:
    found = of_requirement(*entry)
    assert complaint in found if complaint else found == []


@pytest.mark.core("CORE-729")
def test_pods_may_ask_for_a_pool_but_a_pool_may_not() -> None:
    assert of_requirement(labels.NODEPOOL, "In", "x") == []
    assert problems(requirements=[selector(labels.NODEPOOL, "In", "x")]) == [
        f"spec.template.spec.requirements[0].key: found '{labels.NODEPOOL}'"
    ]


@pytest.mark.core("CORE-729")
def test_no_requirements_are_fine_and_min_values_need_as_many_values() -> None:
    assert problems() == []
    assert of_requirement("team", "In", "a", "b", min_values=2) == []
    assert of_requirement("team", "Exists", min_values=2) == []
    assert of_requirement("team", "In", "a", min_values=2) == ["values: found ['a']"]


@pytest.mark.core("CORE-730")
@pytest.mark.parametrize(
    ("label", "complaint"),
    [
        (("unknown", ""), None),
        (("kops.k8s.io/instancegroup", "a"), None),
        (("kubernetes.io/custom", "a"), None),
        (("node.kubernetes.io/custom", "a"), None),
        ((labels.ZONE, "a"), None),
        ((labels.NODEPOOL, "a"), f"found '{labels.NODEPOOL}'"),
        ((labels.HOSTNAME, "a"), f"found '{labels.HOSTNAME}'"),
        (("karpenter.sh/unknown", "a"), "found 'karpenter.sh/unknown'"),
        (("spaces are not allowed", "a"), "found 'spaces are not allowed'"),
        (("a/b/c", "a"), "found 'a/b/c'"),
        (("team", "/ is not allowed"), "found '/ is not allowed'"),
        (("team", "a" * 64), f"found '{'a' * 64}'"),
    ],
)
def test_labels_of_the_template_are_ones_that_a_pool_may_set(label: tuple[str, str], complaint: str | None) -> None:
    expected = [f"spec.template.metadata.labels[{label[0]!r}]: {complaint}"] if complaint else []
    assert of_label(*label) == expected


def test_the_mark_that_karpy_itself_puts_on_a_provisioner_is_no_mistake() -> None:
    raw = {
        "kind": "Provisioner",
        "metadata": {"name": "old"},
        "spec": {"providerRef": {"name": "x"}, "labels": {"karpenter.sh/x": "y"}},
    }
    (error,) = pool_problems(provisioner_to_pool(raw), LABELS)
    assert (error.object_name, error.path) == ("Provisioner/old", "spec.labels['karpenter.sh/x']")


# The field that a text of Karpenter's is about.
FIELDS = {
    r"unsupported operator": "operator",
    r"using label|is not a qualified name|invalid key:": "key",
    r"invalid value .* for key|valid values found|must have a value|minimum number|single positive integer": "values",
}


def _fields(texts: Iterable[str]) -> set[str]:
    return {field for text in texts for pattern, field in FIELDS.items() if re.search(pattern, text)}


def _last(error: InvalidObject) -> str:
    return re.sub(r"\[\d+\]$", "", error.path).rpartition(".")[2]


@pytest.mark.core("CORE-729")
def test_requirements_are_judged_as_karpenter_judges_them(shared: Path) -> None:
    for line in read(shared, "algebra/requirement_validation.jsonl"):
        asked = line["requirement"]
        entry = WireRequirement(
            asked["key"], asked["operator"], tuple(asked.get("values") or ()), asked.get("minValues")
        )
        found = {_last(error) for error in requirement_problems(entry, LABELS)}
        assert (not found) == line["expect"]["valid"], line
        assert found == _fields(line["expect"]["errors"] or ()), line


@pytest.mark.core("CORE-728", "CORE-729", "CORE-730")
def test_pools_are_judged_as_karpenter_judges_them(shared: Path) -> None:
    for line in read(shared, "algebra/nodepool_validation.jsonl"):
        raw = {"metadata": {"name": "p"}, "spec": {"template": line["template"]}}
        try:
            found = {_place(error) for error in pool_problems(NodePool.from_dict(raw), LABELS)}
        except InvalidObject:  # an operator or a bound that cannot be read at all
            assert not line["expect"]["valid"], line
            continue
        assert (not found) == line["expect"]["valid"], line
        assert found == {_told_place(text) for text in line["expect"]["errors"] or ()}, line


def _place(error: InvalidObject) -> str:
    for place in ("labels", "taints", "startupTaints", "requirements"):
        if re.search(rf"\.{place}\[", error.path):
            return "taints" if error.path.endswith("]") and "aints" in place else place
    raise AssertionError(error)


def _told_place(text: str) -> str:
    if text.startswith("duplicate taint"):
        return "taints"
    found = re.search(r"in (labels|taints|startupTaints|requirements)\b|for (label)\[", text)
    assert found, text
    return found[1] or "labels"


def test_a_pool_with_budgets_that_cannot_be_read_is_a_good_pool_otherwise() -> None:
    window = {"schedule": "0 9 * * 8", "duration": "8h"}
    budgets = [{"nodes": "1"}, {"nodes": "1.5", **window}]
    pool = NodePool.from_dict(make_nodepool("p", disruption={"budgets": budgets}))
    assert pool_problems(pool, LABELS) == ()
    found = budget_problems(pool)
    assert all(error.object_name == "NodePool/p" and error.accepted for error in found)
    assert [f"{error.path}: {error.problem}" for error in found] == [
        "spec.disruption.budgets[1].nodes: found '1.5'",
        "spec.disruption.budgets[1].schedule: the schedule '0 9 * * 8' has no such day of week as '8'",
    ]


def test_a_time_zone_that_nobody_knows_is_told() -> None:
    raw = make_nodepool("p")
    raw["metadata"]["annotations"] = {"karpy.dev/budget-time-zone": "Europe/Bärlin"}
    (error,) = pool_problems(NodePool.from_dict(raw), LABELS)
    assert error.path == "metadata.annotations[karpy.dev/budget-time-zone]"

"""The names, types and labels of everything that is measured, beside what a real Karpenter shows."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy import gauges, metrics
from karpy.gauges import condition_metrics, labels_of_claims, labels_of_nodes, node_gauges
from karpy.labels import CORE_LABELS
from karpy.metrics import Metric, MetricType, Unmeasured

KWOK = [("karpenter.kwok.sh", "KWOKNodeClass")]
KWOK_LABELS = {f"karpenter.kwok.sh/instance-{name}" for name in ("cpu", "family", "memory", "size")}


def of(holder: Any) -> Iterator[Metric]:
    yield from (value for value in vars(holder).values() if isinstance(value, Metric))


def declared() -> dict[str, Metric]:
    """Everything that karpy measures where kwok is the cloud."""
    nodes = node_gauges(CORE_LABELS.well_known | KWOK_LABELS)
    conditions = (
        condition_metrics(),
        condition_metrics("NodeClaim", tuple(name for _key, name in labels_of_claims(KWOK))),
        condition_metrics("Node", tuple(name for _key, name in labels_of_nodes(KWOK))),
        condition_metrics("NodePool"),
        condition_metrics("CapacityBuffer"),
    )
    made = (value for each in (nodes, *conditions) for value in attrs.asdict(each, recurse=False).values())
    found = itertools.chain(of(metrics), of(gauges), (value for value in made if isinstance(value, Metric)))
    return {metric.name: metric for metric in found}


@pytest.fixture(scope="module")
def recorded(shared: Path) -> dict[str, Any]:
    path = shared / "data" / "vectors" / "lifecycle" / "metrics.json"
    found: dict[str, Any] = json.loads(path.read_text())["metrics"]
    return {name: each for name, each in found.items() if name.startswith(("karpenter_", "operator_"))}


def test_everything_that_karpenter_shows_is_measured_under_its_name(recorded: dict[str, Any]) -> None:
    assert sorted(set(recorded) - set(declared())) == []


def test_types_are_karpenters(recorded: dict[str, Any]) -> None:
    own = declared()
    assert {name: own[name].type.value for name in recorded} == {name: each["type"] for name, each in recorded.items()}


def test_labels_are_karpenters(recorded: dict[str, Any]) -> None:
    own = declared()
    theirs = {name: set(each["labels"]) - {"le", "quantile"} for name, each in recorded.items()}
    assert {name: set(own[name].labels) for name in recorded} == theirs


def test_buckets_are_karpenters(recorded: dict[str, Any]) -> None:
    own = declared()
    theirs = {name: each["labels"]["le"] for name, each in recorded.items() if each["type"] == "histogram"}
    assert {name: [*(format(bound, "g") for bound in own[name].buckets), "+Inf"] for name in theirs} == theirs


def test_every_metric_of_the_specification_is_declared(shared: Path) -> None:
    text = (shared / "spec" / "core.md").read_text()
    table = text.split("### 8.1 Metrics")[1].split("Plus generic condition metrics")[0]
    rows = re.findall(r"^\| (?!Name)([a-z_0-9, ]+?) \| (counter|gauge|histogram|summary)", table, re.MULTILINE)
    wanted = {f"karpenter_{name}": type_ for names, type_ in rows for name in names.split(", ")}
    assert len(wanted) >= 60
    own = declared()
    assert {name: own[name].type.value if name in own else None for name in wanted} == wanted


def test_everything_that_is_declared_is_told_but_what_is_awaited() -> None:
    """Somewhere in karpy each is named again, beside its declaration; those that nobody names yet are listed."""
    sources = [path.read_text() for path in Path(metrics.__file__).parent.rglob("*.py") if path.name != "metrics.py"]
    named = {word for text in sources for word in re.findall(r"\b[A-Z][A-Z_]+\b", text)}
    untold = {name for name, value in vars(metrics).items() if isinstance(value, Metric) and name not in named}
    assert {vars(metrics)[name] for name in untold} == set(metrics.AWAITED)


@pytest.mark.parametrize("metric", declared().values(), ids=lambda metric: metric.name)
def test_a_metric_is_declared_as_prometheus_wants_it(metric: Metric) -> None:
    assert metric.help.endswith(".")
    assert metric.name.endswith("_total") or metric.type is not MetricType.COUNTER
    assert len(set(metric.labels)) == len(metric.labels)
    assert bool(metric.buckets) == (metric.type is MetricType.HISTOGRAM)
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert all(re.fullmatch("[a-z_]+", label) for label in metric.labels)


def test_who_wants_no_metrics_gets_none() -> None:
    nowhere, metric = Unmeasured(), metrics.NODES_CREATED
    for tell in (nowhere.add, nowhere.set, nowhere.observe):
        assert tell(metric, 1.0, nodepool="a", zone="b") is None  # type: ignore[func-returns-value]
    assert nowhere.forget(metric) is None  # type: ignore[func-returns-value]

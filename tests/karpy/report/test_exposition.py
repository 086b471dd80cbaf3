from __future__ import annotations

import math

import pytest

from karpy.errors import InternalError
from karpy.metrics import Metric, MetricType, Reading
from karpy.report import exposition
from karpy.report.exposition import Exposition
from karpy.testing import FakeClock

LAUNCHES = Metric("karpy_launches_total", MetricType.COUNTER, "Launches.", ("pool", "zone"))
DEPTH = Metric("karpy_depth", MetricType.GAUGE, "How deep.", ("id",))
WAIT = Metric("karpy_wait_seconds", MetricType.HISTOGRAM, "How long.", ("pool",), (0.5, 1.0, 1296000.0))
DRAIN = Metric("karpy_drain_seconds", MetricType.SUMMARY, "How long.")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def shown(clock: FakeClock) -> Exposition:
    return Exposition(clock)


def lines(shown: Exposition) -> list[str]:
    return shown.text()[0].decode().splitlines()


def test_counters_are_told_as_prometheus_reads_them(shown: Exposition) -> None:
    shown.add(LAUNCHES, pool="b", zone="z1")
    shown.add(LAUNCHES, 2, pool="a", zone="z1")
    shown.add(LAUNCHES, pool="b", zone="z1")
    assert lines(shown) == [
        "# HELP karpy_launches_total Launches.",
        "# TYPE karpy_launches_total counter",
        'karpy_launches_total{pool="a",zone="z1"} 2.0',
        'karpy_launches_total{pool="b",zone="z1"} 2.0',
    ]
    assert shown.text()[1].startswith("text/plain")


def test_who_asks_for_openmetrics_gets_it(shown: Exposition) -> None:
    shown.add(LAUNCHES, pool="a", zone="")
    text, type_ = shown.text("application/openmetrics-text; version=1.0.0")
    assert type_.startswith("application/openmetrics-text")
    assert text.decode().splitlines()[-1] == "# EOF"


def test_buckets_of_a_histogram_count_what_is_at_most_their_bound(shown: Exposition) -> None:
    for value in (0.5, 0.6, 2.0, 2_000_000.0):
        shown.observe(WAIT, value, pool="a")
    assert lines(shown)[2:] == [
        'karpy_wait_seconds_bucket{le="0.5",pool="a"} 1.0',
        'karpy_wait_seconds_bucket{le="1",pool="a"} 2.0',
        'karpy_wait_seconds_bucket{le="1.296e+06",pool="a"} 3.0',
        'karpy_wait_seconds_bucket{le="+Inf",pool="a"} 4.0',
        'karpy_wait_seconds_count{pool="a"} 4.0',
        'karpy_wait_seconds_sum{pool="a"} 2.0000031e+06',
    ]


def test_a_summary_tells_quantiles_of_the_last_ten_minutes(shown: Exposition, clock: FakeClock) -> None:
    shown.observe(DRAIN, 1000.0)
    clock.advance(600)
    for value in range(100, 0, -1):
        shown.observe(DRAIN, value)
    found = {quantile: shown.value(DRAIN, quantile=quantile) for quantile in ("0", "0.5", "0.9", "0.99", "1")}
    assert found == {"0": 1, "0.5": 50, "0.9": 90, "0.99": 99, "1": 100}
    assert (shown.value(DRAIN, "_count"), shown.value(DRAIN, "_sum")) == (101, 6050)
    clock.advance(600)
    old = shown.value(DRAIN, quantile="0.5")
    assert old is not None
    assert math.isnan(old)


def test_a_summary_remembers_only_so_much(shown: Exposition) -> None:
    for value in range(5_000):
        shown.observe(DRAIN, value)
    assert shown.value(DRAIN, quantile="0") == 4_000
    assert shown.value(DRAIN, "_count") == 5_000


@pytest.mark.core("CORE-744")
def test_a_gauge_is_what_was_said_last_until_it_is_forgotten(shown: Exposition) -> None:
    shown.set(DEPTH, 3, id="a")
    shown.set(DEPTH, 1, id="a")
    shown.set(DEPTH, 5, id="b")
    assert (shown.value(DEPTH, id="a"), shown.value(DEPTH, id="b")) == (1, 5)
    shown.forget(DEPTH, id="a")
    assert (shown.value(DEPTH, id="a"), shown.value(DEPTH, id="b")) == (None, 5)


def test_series_are_forgotten_by_some_of_their_labels(shown: Exposition) -> None:
    for pool in ("a", "b"):
        for zone in ("z1", "z2"):
            shown.add(LAUNCHES, pool=pool, zone=zone)
    shown.forget(LAUNCHES, pool="a")
    assert [line for line in lines(shown) if 'pool="a"' in line] == []
    assert len(lines(shown)) == 4
    shown.forget(WAIT, pool="a")  # never told


@pytest.mark.core("CORE-744")
def test_what_is_read_off_is_asked_for_each_time(shown: Exposition) -> None:
    found = [Reading(DEPTH, 7, {"id": "x"})]
    shown.read_from(lambda: found)
    assert shown.value(DEPTH, id="x") == 7
    found[:] = [Reading(DEPTH, 2)]
    assert lines(shown)[2:] == ['karpy_depth{id=""} 2.0']
    found.clear()
    assert lines(shown) == []


def test_a_metric_has_only_so_many_series(shown: Exposition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "_MOST_SERIES", 2)
    for number in range(5):
        shown.add(LAUNCHES, pool=f"pool-{number}", zone="")
    shown.add(LAUNCHES, pool="pool-0", zone="")
    assert shown.lost == 3
    assert (shown.value(LAUNCHES, pool="pool-0", zone=""), len(lines(shown))) == (2, 4)


def test_a_metric_that_is_told_as_another_is_a_bug_that_is_seen(shown: Exposition) -> None:
    with pytest.raises(InternalError, match=r"karpy_launches_total .* was told by \['pool'\]"):
        shown.add(LAUNCHES, pool="a")
    with pytest.raises(InternalError, match="karpy_depth"):
        shown.add(DEPTH, id="a")

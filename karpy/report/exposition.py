"""Measurements as Prometheus reads them: kept while they are told, and text when somebody asks.

The sink that goes with `karpy.metrics`. What is told is little: counters and durations. What can be read off the cluster is read
only then.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

import attrs
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family

from karpy.clock import Clock, SystemClock
from karpy.errors import InternalError
from karpy.metrics import Metric, MetricType, Reading

__all__ = ["Exposition"]

_QUANTILES: Final = (0.0, 0.5, 0.9, 0.99, 1.0)
_REMEMBERED_S = 600.0
_MOST_REMEMBERED = 1_000
"""The quantiles of a summary are those of its newest observations: so many at most, of so long ago at most."""
_MOST_SERIES = 20_000
"""Of one metric. Pools that come and go must not fill the memory with what was counted for them."""

_Labels = tuple[str, ...]


class _Series(Protocol):
    """What is kept for one metric and one set of label values."""

    def take(self, value: float, now: float) -> None: ...

    def samples(self, now: float) -> Iterable[tuple[str, Mapping[str, str], float]]:
        """Ends of names, further labels, and values."""
        ...


@attrs.define
class _Sum:
    value: float = 0.0

    def take(self, value: float, _now: float) -> None:
        self.value += value

    def samples(self, _now: float) -> Iterable[tuple[str, Mapping[str, str], float]]:
        yield "", {}, self.value


class _Last(_Sum):
    def take(self, value: float, _now: float) -> None:
        self.value = value


@attrs.define
class _Buckets:
    bounds: tuple[float, ...]
    counts: list[int]
    sum: float = 0.0

    def take(self, value: float, _now: float) -> None:
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.sum += value

    def samples(self, _now: float) -> Iterable[tuple[str, Mapping[str, str], float]]:
        below = 0
        for bound, count in zip((*self.bounds, math.inf), self.counts, strict=True):
            below += count
            yield "_bucket", {"le": "+Inf" if bound == math.inf else format(bound, "g")}, below
        yield "_count", {}, below
        yield "_sum", {}, self.sum


@attrs.define
class _Quantiles:
    count: int = 0
    sum: float = 0.0
    newest: deque[tuple[float, float]] = attrs.field(factory=lambda: deque(maxlen=_MOST_REMEMBERED))

    def take(self, value: float, now: float) -> None:
        self.count += 1
        self.sum += value
        self.newest.append((now, value))

    def samples(self, now: float) -> Iterable[tuple[str, Mapping[str, str], float]]:
        values = sorted(value for at, value in self.newest if at > now - _REMEMBERED_S)
        for quantile in _QUANTILES:
            place = math.ceil(quantile * len(values)) - 1
            yield "", {"quantile": format(quantile, "g")}, values[max(place, 0)] if values else math.nan
        yield "_count", {}, self.count
        yield "_sum", {}, self.sum


def _new_series(metric: Metric) -> _Series:
    match metric.type:
        case MetricType.COUNTER:
            return _Sum()
        case MetricType.GAUGE:
            return _Last()
        case MetricType.HISTOGRAM:
            return _Buckets(metric.buckets, [0] * (len(metric.buckets) + 1))
        case MetricType.SUMMARY:
            return _Quantiles()


class Exposition:
    """A `karpy.metrics.Metrics` with a registry of its own; safe to use from several threads.

    ``clock`` says which observations are old.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._metrics: dict[str, Metric] = {}
        self._series: dict[str, dict[_Labels, _Series]] = {}
        self._sources: list[Callable[[], Iterable[Reading]]] = []
        self.lost = 0
        """How many measurements were not taken in, because their metric has too many series."""
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    # Being told

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None:
        self._take(metric, amount, labels, MetricType.COUNTER)

    def set(self, metric: Metric, value: float, /, **labels: str) -> None:
        self._take(metric, value, labels, MetricType.GAUGE)

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        self._take(metric, value, labels, MetricType.HISTOGRAM, MetricType.SUMMARY)

    def forget(self, metric: Metric, /, **labels: str) -> None:
        with self._lock:
            series = self._series.get(metric.name, {})
            wanted = [(metric.labels.index(name), value) for name, value in labels.items()]
            for key in [key for key in series if all(key[place] == value for place, value in wanted)]:
                del series[key]

    def _take(self, metric: Metric, value: float, labels: Mapping[str, str], *types: MetricType) -> None:
        """Take in one measurement.

        Raises:
            InternalError: the metric is told as if it were another: a bug of whoever does.
        """
        if metric.type not in types or set(labels) != set(metric.labels):
            raise InternalError(f"{metric.name} ({metric.type.value} by {metric.labels}) was told by {sorted(labels)}")
        key = tuple(labels[name] for name in metric.labels)
        with self._lock:
            self._metrics.setdefault(metric.name, metric)
            series = self._series.setdefault(metric.name, {})
            found = series.get(key)
            if found is None:
                if len(series) >= _MOST_SERIES:
                    self.lost += 1
                    return
                found = series[key] = _new_series(metric)
            found.take(value, self._clock.now())

    def read_from(self, source: Callable[[], Iterable[Reading]]) -> None:
        """Ask ``source`` for the present state of gauges whenever somebody asks here."""
        self._sources.append(source)

    # Telling

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """All of it, in the form that the header ``Accept`` asks for, and the type of its content."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def value(self, metric: Metric, /, suffix: str = "", **labels: str) -> float | None:
        """One sample as it would be told now, or None."""
        return self.registry.get_sample_value(metric.name + suffix, labels)

    def collect(self) -> Iterator[Family]:
        """What the registry asks for."""
        families: dict[str, Family] = {}
        with self._lock:
            now = self._clock.now()
            for name, series in self._series.items():
                metric = self._metrics[name]
                family = families[name] = _family(metric)
                for key, each in sorted(series.items()):
                    own = dict(zip(metric.labels, key, strict=True))
                    for suffix, more, value in each.samples(now):
                        family.add_sample(name + suffix, {**own, **more}, value)
        for source in self._sources:
            for reading in source():
                name, metric = reading.metric.name, reading.metric
                family = families.get(name) or families.setdefault(name, _family(metric))
                family.add_sample(
                    name, {label: reading.labels.get(label, "") for label in metric.labels}, reading.value
                )
        yield from (families[name] for name in sorted(families))


def _family(metric: Metric) -> Family:
    name = metric.name.removesuffix("_total") if metric.type is MetricType.COUNTER else metric.name
    return Family(name, metric.help, metric.type.value)

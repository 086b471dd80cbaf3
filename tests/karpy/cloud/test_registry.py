from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from karpy.cloud import registry
from karpy.cloud.provider import ProviderContext
from karpy.cloud.registry import available_providers, load_provider
from karpy.errors import PluginError


class Complete:
    """Has every member of the protocol; none of them does anything."""

    name = "complete"
    labels = node_classes = ()
    instance_types = create = delete = get = list = drift_reason = resolve = None

    def __init__(self, context: ProviderContext | None = None) -> None:
        self.context = context


class Incomplete:
    name = "incomplete"
    labels = node_classes = instance_types = create = delete = None


def needs_boto3(_context: ProviderContext) -> Any:
    raise ModuleNotFoundError("No module named 'boto3'", name="boto3")


def has_no_region(_context: ProviderContext) -> Any:
    raise ValueError("no region is set")


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Pretend that distributions with these entry points are installed."""

    def fake(points: dict[str, str]) -> None:
        found: Iterable[EntryPoint] = [EntryPoint(name, value, registry.GROUP) for name, value in points.items()]
        monkeypatch.setattr(registry, "entry_points", lambda group: found)

    return fake


def here(name: str) -> str:
    return f"{__name__}:{name}"


def test_nothing_is_imported_to_list_what_is_installed(install: Callable[[dict[str, str]], None]) -> None:
    install({"b": "no.such.module:create", "a": here("Complete")})
    assert [found.name for found in available_providers()] == ["a", "b"]


def test_the_provider_asked_for_is_created_with_the_context(install: Callable[[dict[str, str]], None]) -> None:
    install({"a": here("Complete"), "b": "no.such.module:create"})
    context = ProviderContext(cluster_name="c")
    provider: Any = load_provider("a", context)
    assert type(provider).__name__ == "Complete"
    assert provider.context is context


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("missing", "unknown cloud provider 'missing'; installed: broken, failing, lacking, nothing, odd"),
        ("broken", "(unknown distribution: no.such.module:create) cannot be imported: No module named 'no'"),
        ("lacking", "cannot start: No module named 'boto3'; run: pip install 'karpy[aws]'"),
        ("failing", "cannot start: no region is set"),
        ("nothing", "cannot be imported: module"),
        ("odd", "is no CloudProvider: it lacks get, list, drift_reason, resolve"),
    ],
)
def test_a_plug_in_that_breaks_its_promise_is_named(
    install: Callable[[dict[str, str]], None], name: str, complaint: str
) -> None:
    targets = {"lacking": "needs_boto3", "odd": "make_incomplete", "failing": "has_no_region", "nothing": "nothing"}
    install({"broken": "no.such.module:create", **{name: here(target) for name, target in targets.items()}})
    with pytest.raises(PluginError) as caught:
        load_provider(name)
    assert complaint in str(caught.value)


def make_incomplete(_context: ProviderContext) -> Incomplete:
    return Incomplete()

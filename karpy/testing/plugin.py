"""Fixtures for pytest, there as soon as karpy is installed.

``karpy_cluster`` is an API server alone. ``karpy_world`` is a whole cluster on virtual time, whose invariants are looked at when
the test is over. The marker ``karpy_world`` says how a test wants its world: all that `karpy.testing.World` takes, and faults and
weather also as the lines that failing trials print.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # nothing of karpy is loaded for tests that do not ask for it
    from karpy.kube.client import KubeClient
    from karpy.sim.world import World

__all__ = ["karpy_cluster", "karpy_world", "pytest_configure"]

_MARKER = "karpy_world"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", f"{_MARKER}(**options): how the fixture karpy_world makes its World")


@pytest.fixture
def karpy_cluster(request: pytest.FixtureRequest) -> KubeClient:
    """An API server in memory, a karpy.kube.client.KubeClient: objects are kept, checked and watched, and nobody acts on them."""
    cluster: KubeClient = _world(request, actors=False).api
    return cluster


@pytest.fixture
def karpy_world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A cluster with scheduler, workload controllers, kubelets and a cloud, on virtual time: a karpy.testing.World.

    Start your controller with karpy_world.start(program). When the test is over its invariants must hold. The marker
    karpy_world(seed=1, faults="crash-after:0.02", ...) says how it is made.
    """
    world = _world(request)
    yield world
    violations = world.check() if world.processes else ()
    if violations:
        told = "\n".join(f"  {violation}" for violation in violations)
        calls = "\n".join(f"  {call}" for call in list(world.trace)[-20:])
        pytest.fail(f"invariants of the world did not hold:\n{told}\nthe last calls:\n{calls}", pytrace=False)


def _world(request: pytest.FixtureRequest, **fixed: Any) -> World:
    from karpy.sim.faults import Faults
    from karpy.sim.world import World
    from karpy.testing.lines import parse_weather

    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(_MARKER))):  # the nearest counts most
        if marker.args:
            raise pytest.UsageError(
                f"@pytest.mark.{_MARKER} takes options by name, such as seed=1; found {marker.args[0]!r}"
            )
        options |= marker.kwargs
    if isinstance(options.get("faults"), str):
        options["faults"] = Faults.parse(options["faults"])
    if isinstance(options.get("weather"), str):
        options["weather"] = parse_weather(options["weather"])
    return World(**{**options, **fixed})

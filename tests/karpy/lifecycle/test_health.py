"""What the last four machines of a pool tell of it."""

from __future__ import annotations

import pytest

from karpy.lifecycle.health import History, current_health, unhealthy
from karpy.objects.meta import Condition
from karpy.objects.nodepool import NodePool


@pytest.mark.core("CORE-713", "CORE-663", "CORE-654")
@pytest.mark.parametrize(
    ("joined", "is_healthy"),
    [
        ((), True),
        ((True,), True),
        ((False,), True),
        ((False, False), False),
        ((True, False, False), False),
        ((False, False, True), False),
        ((False, True, True, True), True),
    ],
)
def test_two_failures_among_the_last_four_are_too_many(joined: tuple[bool, ...], is_healthy: bool) -> None:
    assert History(joined).is_healthy is is_healthy


@pytest.mark.core("CORE-713")
def test_only_four_machines_are_remembered() -> None:
    history = History((False, False, True, True))
    assert history.after(joined=True) == History((False, True, True, True))


@pytest.mark.core("CORE-713")
def test_what_would_be_is_asked_without_changing_what_is() -> None:
    history = History((False,))
    assert not history.after(joined=False).is_healthy
    assert history == History((False,))
    assert unhealthy("r", "m") == Condition("NodeRegistrationHealthy", "False", "r", "m")


@pytest.mark.core("CORE-713", "CORE-654")
@pytest.mark.parametrize(
    ("known", "joined"), [(None, ()), ("Unknown", ()), ("True", (True,)), ("False", (False, False))]
)
def test_after_a_restart_the_condition_is_all_that_is_known(known: str | None, joined: tuple[bool, ...]) -> None:
    condition = None if known is None else Condition("NodeRegistrationHealthy", known)
    assert History.of(condition) == History(joined)


@pytest.mark.core("CORE-654")
def test_after_failures_that_a_restart_forgot_three_successes_make_a_pool_healthy() -> None:
    history = History.of(Condition("NodeRegistrationHealthy", "False"))
    told = []
    for _ in range(3):
        history = history.after(joined=True)
        told.append(history.is_healthy)
    assert told == [False, False, True]


def pool(generation: int, observed: int | None, class_generation: int | None) -> NodePool:
    condition = {"type": "NodeRegistrationHealthy", "status": "True"}
    if observed is not None:
        condition |= {"observedGeneration": observed}  # type: ignore[dict-item]
    return NodePool.from_dict(
        {
            "metadata": {"name": "p", "generation": generation},
            "status": {"conditions": [condition], "nodeClassObservedGeneration": class_generation},
        }
    )


@pytest.mark.core("CORE-712")
@pytest.mark.parametrize(
    ("generation", "observed", "class_generation", "counts"),
    [(2, 2, 5, True), (2, 2, None, True), (3, 2, 5, False), (2, 2, 4, False), (2, None, 5, False)],
)
def test_what_is_known_of_another_pool_or_class_does_not_count(
    generation: int, observed: int | None, class_generation: int | None, counts: bool
) -> None:
    assert (current_health(pool(generation, observed, class_generation), 5) is not None) is counts

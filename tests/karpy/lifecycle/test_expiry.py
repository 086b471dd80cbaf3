"""When a machine is too old, and why not all of those that were born together are so at once."""

from __future__ import annotations

import pytest

from karpy.labels import CORE_LABELS
from karpy.lifecycle.expiry import Expiry, expiry_of, spread_of
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.poolrules import pool_problems
from karpy.testing import START, make_claim, make_nodepool

MONTH = 30 * 86_400


def claim_of(life: str | None, uid: str = "a") -> NodeClaim:
    raw = make_claim(spec={} if life is None else {"expireAfter": life})
    raw["metadata"]["uid"] = uid
    return NodeClaim.from_dict(raw)


def expiry(life: str | None, spread: float = 0.0, uid: str = "a") -> Expiry | None:
    """When a claim made at `START` expires, in seconds from then."""
    found = expiry_of(claim_of(life, uid), spread)
    return None if found is None else Expiry(found.due - START, found.deadline - START)


@pytest.mark.core("CORE-673")
@pytest.mark.parametrize(("life", "seconds"), [("200s", 200.0), ("20s", 20.0), ("0s", 0.0), (None, MONTH)])
def test_without_a_spread_a_claim_expires_so_long_after_it_was_made(life: str | None, seconds: float) -> None:
    assert expiry(life) == Expiry(seconds, seconds)


@pytest.mark.core("CORE-673")
def test_some_never_expire() -> None:
    assert expiry("Never", 0.5) is None


def test_nobody_gets_older_than_its_claim_says_nor_goes_earlier_than_the_spread_allows() -> None:
    found = [expiry("720h", 0.1, str(number)) for number in range(500)]
    assert {each.deadline for each in found if each} == {MONTH}
    assert all(each is not None and 0.9 * MONTH < each.due <= MONTH for each in found)


def test_those_born_together_expire_evenly_over_the_spread() -> None:
    due = [each.due for number in range(1000) if (each := expiry("720h", 0.1, f"uid-{number}")) is not None]
    parts = [sum(0.9 + part / 100 < each / MONTH <= 0.91 + part / 100 for each in due) for part in range(10)]
    assert sum(parts) == 1000
    assert all(70 < count < 130 for count in parts)


def test_of_500_born_together_only_a_few_are_going_at_a_time() -> None:
    """By default, and though each takes an hour to leave: far fewer than the tenth that budgets allow unless told otherwise."""
    due = [each.due for number in range(500) if (each := expiry("720h", 0.1, f"uid-{number}")) is not None]
    assert 1 < max(sum(start <= other < start + 3600 for other in due) for start in due) <= 20


def test_a_claim_expires_at_the_same_time_in_every_process() -> None:
    found = expiry("1000s", 0.1, "5f0f4b51-2a0f-4b7e-9b53-3d8c4c1c8a11")
    assert found is not None
    assert found.due == pytest.approx(916.2458, abs=0.001)


def annotated(spread: str) -> NodePool:
    pool = make_nodepool()
    pool["metadata"]["annotations"] = {"karpy.dev/expiry-spread": spread}
    return NodePool.from_dict(pool)


@pytest.mark.parametrize(("text", "spread"), [("0", 0.0), ("0.25", 0.25), ("1", 1.0)])
def test_a_pool_may_ask_for_another_spread(text: str, spread: float) -> None:
    assert spread_of(annotated(text), 0.1) == spread


def test_a_pool_that_says_nothing_has_the_usual_spread() -> None:
    assert spread_of(NodePool.from_dict(make_nodepool()), 0.1) == 0.1
    assert spread_of(None, 0.1) == 0.1


@pytest.mark.parametrize("text", ["", "10%", "-0.1", "1.1", "nan", "inf"])
def test_what_is_no_spread_is_refused_by_name_and_the_usual_one_counts(text: str) -> None:
    pool = annotated(text)
    (problem,) = pool_problems(pool, CORE_LABELS)
    assert str(problem).startswith("NodePool/default: metadata.annotations[karpy.dev/expiry-spread]: found ")
    assert str(problem).endswith("(accepted: a number from 0 to 1)")
    assert spread_of(pool, 0.1) == 0.1

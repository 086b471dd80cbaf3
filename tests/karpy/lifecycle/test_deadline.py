"""Until when a claim that is being deleted may take its time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.clock import format_time, parse_time
from karpy.lifecycle.deadline import deadline_note, termination_deadline
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import START

KEY = "karpenter.sh/nodeclaim-termination-timestamp"


def claim(*, deleted: bool = True, grace: str | None = "10m", noted: str | None = None) -> NodeClaim:
    metadata: dict[str, Any] = {"name": "c"}
    if deleted:
        metadata["deletionTimestamp"] = format_time(START)
    if noted is not None:
        metadata["annotations"] = {KEY: noted}
    return NodeClaim.from_dict({"metadata": metadata, "spec": {"terminationGracePeriod": grace} if grace else {}})


@pytest.mark.core("CORE-671")
def test_the_grace_period_runs_from_the_deletion() -> None:
    assert termination_deadline(claim()) == START + 600
    assert deadline_note(claim()) == {KEY: format_time(START + 600)}


@pytest.mark.core("CORE-671")
@pytest.mark.parametrize("one", [claim(deleted=False), claim(grace=None)])
def test_without_a_deletion_or_a_grace_period_there_is_no_deadline(one: NodeClaim) -> None:
    assert termination_deadline(one) is None
    assert deadline_note(one) == {}


@pytest.mark.core("CORE-671", "CORE-704")
@pytest.mark.parametrize("grace", ["10m", None])
def test_one_that_is_written_down_stays(grace: str | None) -> None:
    noted = claim(grace=grace, noted=format_time(START + 5))
    assert termination_deadline(noted) == START + 5
    assert deadline_note(noted) == {}


def test_one_that_cannot_be_read_is_worked_out_and_left_as_it_is() -> None:
    assert termination_deadline(claim(noted="tomorrow")) == START + 600
    assert deadline_note(claim(noted="tomorrow")) == {}


@given(st.integers(0, 2**80))
def test_no_grace_period_is_too_long_to_be_written_down(seconds: int) -> None:
    one = claim(grace=f"{seconds}s")
    deadline = termination_deadline(one)
    assert deadline is not None
    assert START <= parse_time(deadline_note(one)[KEY]) <= deadline

from __future__ import annotations

import pytest

from karpy.cloud.notices import Notice, NoticeKind
from karpy.errors import InvalidObject
from karpy_aws.interruption import read_body
from karpy_aws.testing.events import event_of


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (NoticeKind.SPOT_INTERRUPTION, ""),
        (NoticeKind.REBALANCE, ""),
        (NoticeKind.SCHEDULED_CHANGE, ""),
        (NoticeKind.STOPPED, "stopped"),
        (NoticeKind.TERMINATED, "shutting-down"),
    ],
)
def test_what_is_sent_is_read_as_it_was_meant(kind: NoticeKind, state: str) -> None:
    event = read_body(event_of(Notice("1", kind, "aws:///us-west-2a/i-1", 60.0, state), "us-west-2"))
    assert (event.kind, event.instance_ids, event.time, event.state) == (kind, ("i-1",), 60.0, state)


def test_what_nobody_can_read_is_refused() -> None:
    with pytest.raises(InvalidObject, match="no JSON"):
        read_body(event_of(Notice("1", NoticeKind.UNREADABLE, "", 60.0), "us-west-2"))

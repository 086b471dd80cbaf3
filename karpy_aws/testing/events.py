"""Notices as AWS sends them: EventBridge's events, each the body of a message in a queue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from karpy.clock import format_time
from karpy.cloud.notices import Notice, NoticeKind
from karpy_aws.testing.world import ACCOUNT

__all__ = ["event_of"]

_DETAILS: Final[Mapping[NoticeKind, tuple[str, str]]] = {
    NoticeKind.SPOT_INTERRUPTION: ("EC2 Spot Instance Interruption Warning", "terminate"),
    NoticeKind.REBALANCE: ("EC2 Instance Rebalance Recommendation", ""),
    NoticeKind.STOPPED: ("EC2 Instance State-change Notification", ""),
    NoticeKind.TERMINATED: ("EC2 Instance State-change Notification", ""),
}


def event_of(notice: Notice, region: str) -> str:
    """The body of its message. A notice that nobody can read is no event at all."""
    if notice.kind is NoticeKind.UNREADABLE:
        return "{not for you"
    id_ = notice.provider_id.rpartition("/")[2]
    if notice.kind is NoticeKind.SCHEDULED_CHANGE:
        source, kind, detail = "aws.health", "AWS Health Event", _health(id_)
    else:
        source, (kind, action) = "aws.ec2", _DETAILS[notice.kind]
        said = {"instance-id": id_, "instance-action": action, "state": notice.state}
        detail = {name: value for name, value in said.items() if value}
    event = {
        "version": "0",
        "id": notice.id,
        "account": ACCOUNT,
        "region": region,
        "source": source,
        "detail-type": kind,
        "time": format_time(notice.sent),
        "resources": [f"arn:aws:ec2:{region}:{ACCOUNT}:instance/{id_}"],
        "detail": detail,
    }
    return json.dumps(event)


def _health(id_: str) -> dict[str, Any]:
    return {
        "service": "EC2",
        "eventTypeCategory": "scheduledChange",
        "eventTypeCode": "AWS_EC2_INSTANCE_STOP_SCHEDULED",
        "affectedEntities": [{"entityValue": id_}],
    }

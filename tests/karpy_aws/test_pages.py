"""The pages about EC2 say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs
import pytest

from karpy.cloud.notices import NoticeKind
from karpy.objects.duration import format_duration
from karpy_aws import errors, settings
from karpy_aws.errors import ErrorClass, classify
from karpy_aws.iampolicy import PolicyScope, policies
from karpy_aws.interruption import read_body

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "aws.md").read_text()
TROUBLES = (DOCS / "aws-troubleshooting.md").read_text()
PERMISSIONS = (DOCS / "aws-permissions.md").read_text()


def section(page: str, heading: str) -> str:
    return page.split(f"## {heading}")[1].split("\n## ")[0]


def test_every_reason_of_a_launch_that_failed_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", section(TROUBLES, "On a NodeClaim"), re.MULTILINE)
    reasons = [*(reason for _, reason in errors._REASONS), errors._LAUNCH_FAILED]
    assert set(rows) == {attrs.astuple(reason) for reason in reasons}


def test_codes_that_are_of_capacity_alone_are_named() -> None:
    named = re.findall(r"`(\w+)`", section(TROUBLES, "`with fleet error(s)").split("\n", 1)[1])
    assert {*named, "InsufficientInstanceCapacity"} == errors._CODES[ErrorClass.UNFULFILLABLE]


def test_codes_of_karpys_own_are_explained() -> None:
    text = section(TROUBLES, "When AWS cannot be asked")
    own = {value for name, value in vars(errors).items() if name.isupper() and name in errors.__all__}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == own
    codes = re.findall(r"`(AccessDenied|ExpiredToken|InvalidClientTokenId)`", text)
    assert all(classify(code) for code in codes)


@pytest.mark.parametrize(
    "message",
    re.findall(r"^\| (?:`\w+`: |`)([A-Za-z][^`|]+?)`? \|", section(TROUBLES, "On a node class"), re.MULTILINE),
)
def test_messages_about_node_classes_are_those_of_the_code(message: str) -> None:
    code = "".join(path.read_text() for path in (DOCS.parent / "karpy_aws").rglob("*.py"))
    written = re.sub(r'"\s+f?"', "", code)  # texts over several lines
    parts = [part for part in re.split(r"…|1\.32", message) if part.strip()]
    assert all(part.strip() in written for part in parts)


def test_settings_are_there_with_their_defaults() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| `?(.*?)`? ?\|", section(GUIDE, "What can be set"), re.MULTILINE))
    assert rows.keys() == settings._NAMES - {"AWS_NODE_NAME_CONVENTION"}  # that one is 0.5.3's
    usual = {
        name.removesuffix("_s").upper(): format_duration(value) if name.endswith("_s") else str(value)
        for name, value in attrs.asdict(settings.read_options({"CLUSTER_NAME": "demo"})).items()
    }
    for name in rows.keys() - {"CLUSTER_NAME", "AWS_FEATURE_GATES"}:
        assert rows[name] == usual[name].lower(), name


def test_the_rule_of_the_queue_lets_in_all_that_is_understood() -> None:
    rule = json.loads(re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)[0])
    events = [
        {"version": "0", "source": source, "detail-type": kind, "detail": {"instance-id": "i-1", "state": "stopped"}}
        for source in rule["source"]
        for kind in rule["detail-type"]
    ]
    understood = {kind for event in events if (kind := read_body(json.dumps(event)).kind) is not NoticeKind.UNREADABLE}
    health = {"service": "EC2", "eventTypeCategory": "scheduledChange", "affectedEntities": [{"entityValue": "i-1"}]}
    announced = {"version": "0", "source": "aws.health", "detail-type": "AWS Health Event", "detail": health}
    understood.add(read_body(json.dumps(announced)).kind)
    assert understood >= {
        NoticeKind.SPOT_INTERRUPTION,
        NoticeKind.REBALANCE,
        NoticeKind.RESERVATION_INTERRUPTION,
        NoticeKind.SCHEDULED_CHANGE,
        NoticeKind.STOPPED,
    }


def test_all_policies_are_explained_and_put_to_use() -> None:
    names = set(policies(PolicyScope(cluster="demo", region="us-west-2")))
    assert set(re.findall(r"^\| `(\w+Policy)` \|", PERMISSIONS, re.MULTILINE)) == names
    assert set(re.findall(r"for policy in ((?:\w+Policy ?)+)\ndo", GUIDE)[0].split()) == names

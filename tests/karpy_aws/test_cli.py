"""``karpy aws``, as it is called."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from karpy.cli.app import run
from karpy_aws.iampolicy import GENERATIONS, PolicyScope, policies

Captured = pytest.CaptureFixture[str]
LONGEST = 6_144  # letters that IAM takes in one managed policy, without blanks
NAMES = ["--cluster", "mine", "--region", "us-west-2", "--account", "111122223333"]


def printed(capsys: Captured, *arguments: str) -> Any:
    assert run(["aws", "iam-policy", *NAMES, *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_policies_are_printed_as_json_that_iam_takes(capsys: Captured, generation: str) -> None:
    documents = printed(capsys, "--generation", generation)
    assert documents == policies(PolicyScope(cluster="mine", region="us-west-2", account="111122223333"), generation)
    assert all(len(json.dumps(each, separators=(",", ":"))) <= LONGEST for each in documents.values())


def test_one_document_can_be_had_alone(capsys: Captured) -> None:
    assert printed(capsys, "--policy", "InterruptionPolicy") == printed(capsys)["InterruptionPolicy"]


def test_todays_generation_is_meant_unless_another_is_named(capsys: Captured) -> None:
    assert printed(capsys) == printed(capsys, "--generation", "v1")


def test_role_and_queue_can_have_other_names(capsys: Captured) -> None:
    documents = printed(capsys, "--node-role", "team/nodes", "--queue", "notices")
    assert documents["InterruptionPolicy"]["Statement"][0]["Resource"] == ["arn:aws:sqs:us-west-2:111122223333:notices"]
    resources = [part["Resource"] for part in documents["IAMIntegrationPolicy"]["Statement"]]
    assert ["arn:aws:iam::111122223333:role/team/nodes"] in resources


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_may_come_from_the_environment(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "cn-north-1")
    assert run(["aws", "iam-policy", "--cluster", "mine", "--policy", "EKSIntegrationPolicy"]) == 0
    (statement,) = json.loads(capsys.readouterr().out)["Statement"]
    assert statement["Resource"] == ["arn:aws-cn:eks:cn-north-1:*:cluster/mine"]


def test_without_a_region_they_hold_in_any(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(variable, raising=False)
    assert run(["aws", "iam-policy", "--cluster", "mine"]) == 0
    documents = json.loads(capsys.readouterr().out)
    (statement,) = documents["EKSIntegrationPolicy"]["Statement"]
    assert statement["Resource"] == ["arn:aws:eks:*:*:cluster/mine"]
    conditions = [part.get("Condition", {}) for each in documents.values() for part in each["Statement"]]
    exact = [value for condition in conditions for value in condition.get("StringEquals", {}).values()]
    assert "*" not in exact, "which IAM would take for the region's name"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--cluster", "m*"], "--cluster: found 'm*' (accepted: letters, digits, - and _, at most 100)"),
        (["--cluster", "m" * 60], "--node-role: KarpenterNodeRole-" + "m" * 60 + " is longer than the 64 letters"),
        (["--region", ""], "--region: found '' (accepted: a region such as us-west-2)"),
        (["--account", "1234"], "--account: found '1234' (accepted: twelve digits)"),
        (["--node-role", "*"], "--node-role: found '*' (accepted: a role's name"),
        (["--queue", "a b"], "--queue: found 'a b' (accepted: letters"),
        (["--generation", "v2"], "--generation: found 'v2' (accepted: v1, v1beta1, v1alpha1, v1alpha5)"),
        (["--policy", "Lifecycle"], "--policy: found 'Lifecycle' (accepted: NodeLifecyclePolicy, IAM"),
    ],
)
def test_what_is_no_name_is_refused(capsys: Captured, arguments: list[str], complaint: str) -> None:
    assert run(["aws", "iam-policy", *NAMES, *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert complaint in shown.err


def test_nothing_of_the_sdk_is_loaded_for_it() -> None:
    code = "import sys, karpy_aws.cli; print('botocore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

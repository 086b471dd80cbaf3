from __future__ import annotations

import tomllib
from typing import Any

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy.taints import Taint
from karpy_aws.bootstrap import NodeBootstrap, user_data
from karpy_aws.bootstrap.bottlerocket import unknown_settings
from karpy_aws.clusterfacts import ClusterFacts

NODE = NodeBootstrap(cluster=ClusterFacts(name="shop", endpoint="https://shop.example.com"), labels={"pool": "web"})


def settings(text: str = "", **changes: Any) -> Any:
    return tomllib.loads(user_data("Bottlerocket", attrs.evolve(NODE, user_data=text, **changes)))["settings"]


@pytest.mark.aws("AWS-170")
def test_what_karpy_knows_holds_and_the_rest_is_the_users() -> None:
    text = """
        [settings.kubernetes]
        cluster-name = "other"
        kube-api-qps = 30
        [settings.kubernetes.node-labels]
        mine = "yes"
        pool = "fake"
        [settings.kubernetes.kube-reserved]
        cpu = "10m"
        [settings.ntp]
        time-servers = ["169.254.169.123"]
    """
    assert settings(text, kubelet={"systemReserved": {"cpu": "1"}}) == {
        "kubernetes": {
            "api-server": "https://shop.example.com",
            "cluster-name": "shop",
            "kube-api-qps": 30,
            "node-labels": {"mine": "yes", "pool": "web"},
            "kube-reserved": {"cpu": "10m"},
            "system-reserved": {"cpu": "1"},
        },
        "ntp": {"time-servers": ["169.254.169.123"]},
    }


@pytest.mark.aws("AWS-167")
def test_thresholds_of_image_collection_are_under_their_own_names() -> None:
    """Karpenter 0.25 had the two mixed up."""
    found = settings(kubelet={"imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 60})["kubernetes"]
    assert found["image-gc-high-threshold-percent"] == "85"
    assert found["image-gc-low-threshold-percent"] == "60"


def test_taints_of_one_key_stand_together() -> None:
    taints = (Taint("a", "1", "NoSchedule"), Taint("b", None, "NoExecute"), Taint("a", "2", "NoExecute"))
    assert settings(taints=taints)["kubernetes"]["node-taints"] == {
        "a": ["1:NoSchedule", "2:NoExecute"],
        "b": [":NoExecute"],
    }


def test_settings_that_no_version_knows_are_left_out_and_told() -> None:
    text = "[settings.kubernetes]\nmax-pod = 5\nserver-tls-bootstrap = true\n"
    assert "max-pod" not in settings(text)["kubernetes"]
    assert settings(text)["kubernetes"]["server-tls-bootstrap"] is True
    assert unknown_settings(text) == ("max-pod",)


@pytest.mark.aws("AWS-170")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\necho", r"spec\.userData: it cannot be read: .* \(accepted: settings in TOML\)"),
        ("a = " + "[" * 10_000, r"spec\.userData: it cannot be read"),
        ("settings = 1", r"spec\.userData: settings is 1 \(accepted: a table\)"),
        ("[settings]\nkubernetes = []", r"spec\.userData: settings\.kubernetes is a list \(accepted: a table\)"),
        (
            '[settings.kubernetes]\nmax-pods = "many"',
            r"settings\.kubernetes\.max-pods is 'many' \(accepted: an integer\)",
        ),
        ("[settings.kubernetes]\nmax-pods = true", r"settings\.kubernetes\.max-pods is True \(accepted: an integer\)"),
        (
            "[settings.kubernetes]\nseccomp-default = 1",
            r"settings\.kubernetes\.seccomp-default is 1 \(accepted: true or false\)",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_name(text: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        settings(text)


@pytest.mark.aws("AWS-169")
@pytest.mark.parametrize(
    ("version", "names_dirs"),
    [
        ("latest", False),
        ("v1.46.0", False),
        ("1.46.0", False),
        ("v2.0.0", False),
        ("v1.45.9", True),
        ("v1.9.0", True),
        ("v1.46", True),
        ("", True),
    ],
)
def test_images_before_1_46_are_told_what_to_put_on_local_disks(version: str, names_dirs: bool) -> None:
    text = '[settings.bootstrap-commands.010-mine]\ncommands = [["apiclient"]]\nmode = "once"\nessential = false\n'
    commands = settings(text, instance_store_policy="RAID0", image_version=version)["bootstrap-commands"]
    assert commands["010-mine"]["mode"] == "once"
    init, bind = commands["000-mount-instance-storage"]["commands"]
    assert init == ["apiclient", "ephemeral-storage", "init"]
    assert ("--dirs" in bind) == names_dirs

from __future__ import annotations

import attrs
import pytest

from karpy_aws.bootstrap import NodeBootstrap, encoded, user_data
from karpy_aws.clusterfacts import ClusterFacts

NODE = NodeBootstrap(cluster=ClusterFacts(name="shop", endpoint="https://shop.example.com"))


@pytest.mark.aws("AWS-170")
def test_the_users_script_runs_in_the_same_block_before_karpys() -> None:
    lines = user_data("Windows2022", attrs.evolve(NODE, user_data="Write-Host hi")).split("\n")
    assert lines[:2] == ["<powershell>", "Write-Host hi"]
    assert lines[-2:] == [
        "& $EKSBootstrapScriptFile -EKSClusterName 'shop' -APIServerEndpoint 'https://shop.example.com'",
        "</powershell>",
    ]


def test_local_disks_stay_as_they_are() -> None:
    assert user_data("Windows2022", attrs.evolve(NODE, instance_store_policy="RAID0")) == user_data("Windows2022", NODE)


@pytest.mark.aws("AWS-170")
def test_custom_images_get_the_users_data_untouched() -> None:
    text = "#!/bin/sh\r\necho 'grüße'\r\n"
    assert user_data("Custom", attrs.evolve(NODE, user_data=text, labels={"a": "b"})) == text
    assert encoded("ü") == "w7w="

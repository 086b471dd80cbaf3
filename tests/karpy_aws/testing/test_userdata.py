from __future__ import annotations

import attrs
import pytest

from karpy.taints import NO_SCHEDULE, UNREGISTERED, Taint
from karpy_aws.bootstrap import NodeBootstrap, encoded, user_data
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.objects import AWS_NODE_TEMPLATE
from karpy_aws.testing.userdata import read_user_data

LABELS = {"karpenter.sh/capacity-type": "spot", "team": "a"}
TAINTS = (Taint("dedicated", "batch", NO_SCHEDULE), UNREGISTERED)
NODE = NodeBootstrap(
    cluster=ClusterFacts(
        name="mine", endpoint="https://mine.eks.amazonaws.com", ca_bundle="Y2E=", service_cidr="10.100.0.0/16"
    ),
    labels=LABELS,
    taints=TAINTS,
)


@pytest.mark.parametrize("family", ["AL2", "AL2023", "Bottlerocket", "Ubuntu", "Windows2022"])
def test_a_machine_of_each_family_joins_the_cluster_with_its_labels_and_taints(family: str) -> None:
    boot = read_user_data(encoded(user_data(family, NODE)))
    assert boot.cluster == "mine"
    assert boot.labels == LABELS
    assert set(boot.taints) == set(TAINTS)


def test_older_generations_write_the_same_in_other_words() -> None:
    boot = read_user_data(encoded(user_data("AL2", attrs.evolve(NODE, origin=AWS_NODE_TEMPLATE))))
    assert (boot.cluster, boot.labels, boot.taints) == ("mine", LABELS, TAINTS)


def test_user_data_that_names_no_cluster_joins_none() -> None:
    boot = read_user_data(encoded("#!/bin/sh\necho hello\n"))
    assert (boot.cluster, boot.labels, boot.taints) == ("", {}, ())

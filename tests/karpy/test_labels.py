from __future__ import annotations

import pytest

from karpy.labels import CORE_LABELS, LabelSpec, node_class_label, normalize


@pytest.mark.core("CORE-025", "CORE-026", "CORE-027", "CORE-028", "CORE-029")
@pytest.mark.parametrize(
    ("key", "restricted"),
    [
        ("kubernetes.io/hostname", True),
        ("karpenter.sh/anything", True),
        ("sub.karpenter.sh/anything", True),
        ("karpenter.sh/capacity-type", False),
        ("kubernetes.io/custom", False),
        ("sub.kubernetes.io/custom", False),
        ("notkarpenter.sh/x", False),
        ("team", False),
        *((key, False) for key in sorted(CORE_LABELS.well_known)),
    ],
)
def test_keys_of_karpenter_itself_may_not_be_asked_for(key: str, restricted: bool) -> None:
    assert CORE_LABELS.is_restricted(key) is restricted


def test_label_specs_of_clouds_add_up() -> None:
    cloud = LabelSpec(frozenset({"cloud.io/size"}), frozenset({"cloud.io"}), frozenset())
    both = CORE_LABELS | cloud
    assert not both.is_restricted("cloud.io/size")
    assert both.is_restricted("cloud.io/other")
    assert both.is_restricted("kubernetes.io/hostname")


def test_older_names_are_replaced() -> None:
    assert normalize("beta.kubernetes.io/instance-type") == "node.kubernetes.io/instance-type"
    assert normalize("anything/else") == "anything/else"


def test_the_label_of_a_node_class_is_its_group_and_lower_case_kind() -> None:
    assert node_class_label("karpenter.k8s.aws", "EC2NodeClass") == "karpenter.k8s.aws/ec2nodeclass"

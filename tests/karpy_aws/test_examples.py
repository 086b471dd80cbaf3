"""The manifests for EKS among the examples are what they seem to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpy_aws.kubeletrules import kubelet_violations, unsupported_fields
from karpy_aws.objects import node_class_unknown_fields, node_class_violations, read_node_class

EXAMPLES = Path(__file__).parents[2] / "examples"
MANIFESTS = sorted(EXAMPLES.glob("eks*.yaml"))
GENERATIONS = {  # by API version and kind of what says how machines are set up
    ("karpenter.sh/v1alpha5", "Provisioner"),
    ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate"),
    ("karpenter.k8s.aws/v1beta1", "EC2NodeClass"),
    ("karpenter.k8s.aws/v1", "EC2NodeClass"),
}


def node_classes(path: Path) -> Iterator[dict[str, Any]]:
    for manifest in yaml.safe_load_all(path.read_text()):
        is_inline = manifest["kind"] == "Provisioner" and "provider" in manifest["spec"]
        if is_inline or manifest["kind"] in ("AWSNodeTemplate", "EC2NodeClass"):
            yield manifest


def test_there_are_examples_of_all_generations() -> None:
    found = {(each["apiVersion"], each["kind"]) for path in MANIFESTS for each in node_classes(path)}
    assert found == GENERATIONS


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_their_node_classes_are_valid_to_the_last_field(path: Path) -> None:
    for manifest in node_classes(path):
        assert node_class_violations(manifest) == ()
        assert node_class_unknown_fields(manifest) == ()
        found = read_node_class(manifest)
        assert found.name == manifest["metadata"]["name"]
        if found.kubelet is not None:
            assert kubelet_violations(found.kubelet.raw) == ()
            assert unsupported_fields(found.kubelet, found.ami_family) == ()

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from karpy import labels as core
from karpy.cloud.instancetype import compatible
from karpy.cloud.model import CloudModel
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirement, Requirements
from karpy_azure import labels
from karpy_azure.model import AzureModel
from karpy_azure.objects import NODE_CLASSES


def node_class(**spec: Any) -> dict[str, Any]:
    return {"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": spec}


def test_it_is_a_cloud_model(model: AzureModel) -> None:
    checked: CloudModel = model
    assert checked.name == "azure"
    assert list(checked.node_classes) == list(NODE_CLASSES)


def test_the_catalog_is_read_once(model: AzureModel) -> None:
    assert model.instance_types() is model.instance_types()


def test_users_may_ask_for_known_labels_only(model: AzureModel) -> None:
    spec = core.CORE_LABELS | model.labels
    assert not spec.is_restricted(labels.SKU_FAMILY)
    assert spec.is_restricted(labels.SKU_HYPERV_GENERATION)
    assert spec.is_restricted("karpenter.azure.com/sku-colour")
    assert spec.is_restricted(core.HOSTNAME)


def test_nothing_is_added_to_pools(model: AzureModel) -> None:
    assert model.default_requirements(NodePool(name="default")) == Requirements()


@pytest.mark.parametrize("file", ["aks-v0.5.1.yaml", "aks-nap.yaml"])
def test_the_guides_pools_find_sizes_and_their_class_is_ready(model: AzureModel, shared: Path, file: str) -> None:
    for document in yaml.safe_load_all((shared / "data" / "seeds" / file).read_text()):
        if document["kind"] == "AKSNodeClass":
            assert model.resolve(document).ready
        if document["kind"] == "NodePool":
            assert compatible(model.instance_types(), NodePool.from_dict(document).requirements)


def test_a_memory_label_counts_mib(model: AzureModel) -> None:
    found = compatible(model.instance_types(), Requirements([Requirement.in_(labels.SKU_MEMORY, "131072")]))
    assert {"Standard_E16as_v5", "Standard_D32s_v3"} <= {instance_type.name for instance_type in found}


def test_a_pinned_image_version_shows_in_the_status(model: AzureModel) -> None:
    status = model.resolve(node_class(imageFamily="Ubuntu2204", imageVersion="202401.09.0")).status
    assert all(image["id"].endswith("/versions/202401.09.0") for image in status["images"])
    assert "/images/2204gen2containerd/" in status["images"][0]["id"]


def test_a_class_that_cannot_be_read_is_not_ready_and_names_the_field(model: AzureModel) -> None:
    status = model.resolve(node_class(imageFamily="Debian"))
    assert not status.ready
    assert status.reason == "ValidationFailed"
    assert "AKSNodeClass/default: spec.imageFamily: 'Debian'" in status.message


def test_provider_ids_are_resource_ids(model: AzureModel) -> None:
    named = model.provider_id(7, "eastus-1", "general-purpose-j7m94")
    assert named.startswith("azure:///subscriptions/")
    assert named.endswith("/providers/Microsoft.Compute/virtualMachines/aks-general-purpose-j7m94")


def test_provider_ids_differ_even_without_a_claim(model: AzureModel) -> None:
    assert len({model.provider_id(serial, "eastus-1") for serial in range(1_000)}) == 1_000


def test_nodes_are_named_after_their_claim(model: AzureModel) -> None:
    assert model.node_name(7, "default-65f84") == "aks-default-65f84"

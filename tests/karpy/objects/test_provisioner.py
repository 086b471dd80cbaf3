from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.budget import Budget
from karpy.objects.kinds import PROVISIONER
from karpy.objects.nodepool import NodeClassRef
from karpy.objects.provisioner import provisioner_to_pool
from karpy.resources import Resources


def provisioner(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {"providerRef": {"name": "default"}, **spec},
    }


def test_its_fields_become_those_of_a_pool() -> None:
    pool = provisioner_to_pool(
        provisioner(
            labels={"team": "a"},
            requirements=[{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
            limits={"resources": {"cpu": "1000"}},
            weight=5,
            ttlSecondsAfterEmpty=30,
            ttlSecondsUntilExpired=86_400,
        )
    )
    assert pool.origin == PROVISIONER
    assert pool.limits == Resources({"cpu": 1_000_000})
    assert pool.weight == 5
    assert (pool.consolidation_policy, pool.consolidate_after_s) == ("WhenEmpty", 30.0)
    assert pool.expire_after_s == 86_400
    assert pool.labels == {"team": "a", "karpenter.sh/provisioner-name": "default"}
    assert pool.budgets == (Budget("100%"),)


def test_without_a_word_about_it_nodes_stay_and_never_expire() -> None:
    pool = provisioner_to_pool(provisioner())
    assert (pool.consolidation_policy, pool.consolidate_after_s, pool.expire_after_s) == ("WhenEmpty", None, None)


def test_consolidation_means_what_it_means_today() -> None:
    pool = provisioner_to_pool(provisioner(consolidation={"enabled": True}))
    assert (pool.consolidation_policy, pool.consolidate_after_s) == ("WhenEmptyOrUnderutilized", 0.0)


def test_a_reference_names_the_node_class() -> None:
    raw = provisioner(providerRef={"apiVersion": "karpenter.k8s.aws/v1alpha1", "kind": "AWSNodeTemplate", "name": "x"})
    assert provisioner_to_pool(raw).node_class == NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "x")
    assert provisioner_to_pool(provisioner()).node_class == NodeClassRef("", "", "default")


def test_an_inline_provider_makes_it_its_own_node_class() -> None:
    raw = provisioner(provider={"instanceProfile": "p"})
    del raw["spec"]["providerRef"]
    assert provisioner_to_pool(raw).node_class == NodeClassRef("karpenter.sh", "Provisioner", "default")


@pytest.mark.parametrize(
    ("path", "spec"),
    [
        ("spec", {"ttlSecondsAfterEmpty": 30, "consolidation": {"enabled": True}}),
        ("spec", {"provider": {}}),
        ("spec", {"providerRef": None}),
        ("spec.ttlSecondsAfterEmpty", {"ttlSecondsAfterEmpty": -1}),
        ("spec.limits.resources.cpu", {"limits": {"resources": {"cpu": "lots"}}}),
        ("spec.requirements[0].operator", {"requirements": [{"key": "a", "operator": "Has"}]}),
        ("spec.weight", {"weight": 1000}),
    ],
)
def test_a_refusal_names_object_and_field(path: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidObject) as caught:
        provisioner_to_pool(provisioner(**spec))
    assert (caught.value.object_name, caught.value.path) == ("Provisioner/default", path)


def test_its_kubelet_configuration_is_the_pools_kubelet_block() -> None:
    assert provisioner_to_pool(provisioner(kubeletConfiguration={"maxPods": 20})).kubelet == {"maxPods": 20}
    assert provisioner_to_pool(provisioner()).kubelet is None

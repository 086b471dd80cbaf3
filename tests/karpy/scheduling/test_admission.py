from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.plan import RefusalKind, Unschedulable
from karpy.testing import make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

Json = dict[str, Any]
CLAIMS = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
POOL_LABELS = [labels.NODEPOOL, labels.PROVISIONER_NAME]


def required(*terms: list[Json]) -> Json:
    node_affinity = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node_affinity}}}


def refusal(*objects: Json) -> Unschedulable:
    """Why the one pod that was refused was; beside it another was placed."""
    plan = plan_of(make_nodepool(), *objects, make_pod("other"))
    (part,) = plan.unschedulable
    assert part.refusals == ()
    assert plan.placed == 1
    return part


# Pods that claim devices


@pytest.mark.core("CORE-419")
def test_a_pod_that_claims_devices_is_refused_by_name() -> None:
    part = refusal(make_pod("p", spec=CLAIMS))
    assert part.kind is RefusalKind.RESOURCE_CLAIM
    assert part.reason == "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"


def test_nothing_is_given_up_for_it_and_no_node_is_good_enough() -> None:
    wish = {"weight": 1, "preference": {"matchExpressions": [selector("nowhere", "Exists")]}}
    spec = {**CLAIMS, "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}
    assert refusal(make_node("n"), make_pod("p", spec=spec)).kind is RefusalKind.RESOURCE_CLAIM


# Pods that must not run on machines of pools


@pytest.mark.parametrize("label", POOL_LABELS)
def test_a_pod_that_stays_off_the_machines_of_pools_is_left_alone(label: str) -> None:
    off = selector(label, "DoesNotExist")
    for terms in ([[off]], [[off, selector("a", "Exists")], [selector("b", "Exists"), off]]):
        part = refusal(make_pod("p", spec=required(*terms)))
        assert part.kind is RefusalKind.OPTED_OUT
        assert (
            part.reason == f"configured to not run on a Karpenter provisioned node (requirement={label} DoesNotExist)"
        )


def test_a_pod_that_may_also_run_on_them_is_placed() -> None:
    off, arch = selector(labels.NODEPOOL, "DoesNotExist"), selector(labels.ARCH, "In", "arm64")
    assert plan_of(make_nodepool(), make_pod(spec=required([off], [arch]))).placed == 1


def test_a_pod_may_choose_its_pool_by_the_label_of_any_generation() -> None:
    provisioner = {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "old"},
        "spec": {"providerRef": {"name": "default"}},
    }
    chooses = make_pod(spec={"nodeSelector": {labels.PROVISIONER_NAME: "old"}})
    (launch,) = plan_of(make_nodepool(weight=9), provisioner, chooses).launches
    assert launch.pool.name == "old"
    assert plan_of(make_nodepool(), chooses).launches == ()


# Pods that ask for what nobody may ask for


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"nodeSelector": {"karpenter.sh/x": "y"}}, "restricted"),
        (required([selector(labels.HOSTNAME, "In", "n")]), "restricted"),
        (required([selector("x", "Near", "y")]), "unknown operator"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchFields": [selector("metadata.name", "In", "n")]}]
                        }
                    }
                }
            },
            "matchFields",
        ),
    ],
)
def test_a_pod_that_asks_for_what_it_may_not_is_refused(spec: Json, words: str) -> None:
    part = refusal(make_pod("p", spec=spec))
    assert part.kind is RefusalKind.INVALID
    assert words in part.reason

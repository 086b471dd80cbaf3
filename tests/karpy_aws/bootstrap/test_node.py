from __future__ import annotations

import pytest

from karpy.taints import UNREGISTERED, Taint
from karpy_aws.bootstrap import kubelet_config, node_labels, node_taints
from karpy_aws.objects.kubelet import Kubelet


@pytest.mark.aws("AWS-163", "AWS-165")
def test_nodes_register_with_the_claims_labels_and_how_they_were_bought() -> None:
    assert node_labels({"team": "web"}, "spot") == {
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/do-not-sync-taints": "true",
        "team": "web",
    }


@pytest.mark.aws("AWS-163")
def test_taints_of_a_custom_images_node_may_still_be_added() -> None:
    assert "karpenter.sh/do-not-sync-taints" not in node_labels({}, "spot", custom_image=True)


@pytest.mark.aws("AWS-164")
@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("kubernetes.io/os", False),
        ("node.kubernetes.io/instance-type", False),
        ("k8s.io/x", False),
        ("kops.k8s.io/x", False),
        ("node-restriction.kubernetes.io/x", False),
        ("mykubernetes.io/x", True),
        ("k8s.io", True),
        ("karpenter.k8s.aws/x", True),
    ],
)
def test_labels_that_admission_would_refuse_are_left_out(key: str, kept: bool) -> None:
    assert (key in node_labels({key: "y"}, "spot")) == kept


@pytest.mark.aws("AWS-166")
def test_nodes_register_with_all_taints_and_the_one_that_keeps_pods_off() -> None:
    own, start = Taint("a", "b", "NoSchedule"), Taint("s", None, "NoExecute")
    assert node_taints([own], [start]) == (own, start, UNREGISTERED)
    assert node_taints([UNREGISTERED], [start]) == (UNREGISTERED, start)


def kubelet(**fields: object) -> Kubelet:
    return Kubelet.from_dict(fields)


def test_the_users_kubelet_block_is_kept_as_it_is() -> None:
    said = {"maxPods": 30, "clusterDNS": ["10.0.0.9"], "featureGates": {"X": True}}
    assert kubelet_config(Kubelet.from_dict(said), dns_ip="10.0.0.10", pods=58) == said


@pytest.mark.aws("AWS-168")
def test_what_is_left_open_is_filled_in() -> None:
    assert kubelet_config(None, dns_ip="10.0.0.10", pods=58) == {"clusterDNS": ["10.0.0.10"], "maxPods": 58}
    assert kubelet_config(kubelet(podsPerCore=2), pods=8) == {"podsPerCore": 2, "maxPods": 8}


def test_what_says_nothing_is_left_out() -> None:
    assert kubelet_config(kubelet(kubeReserved={}, maxPods=0), pods=58) == {"maxPods": 0}


@pytest.mark.aws("AWS-185")
def test_older_generations_may_leave_the_number_of_pods_to_the_image() -> None:
    assert kubelet_config(None, dns_ip="10.0.0.10") == {"clusterDNS": ["10.0.0.10"]}

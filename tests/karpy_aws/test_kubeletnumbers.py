from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy_aws.kubeletnumbers import KubeletNumbers, kubelet_source
from karpy_aws.objects.kubelet import Kubelet
from tests.karpy_aws.sold import described

MIB = 2**20


def block(**fields: Any) -> Kubelet:
    return Kubelet.from_dict(fields)


def test_no_block_says_nothing() -> None:
    assert kubelet_source(None) == KubeletNumbers()


def test_a_block_without_expressions_is_the_same_for_every_type() -> None:
    source = kubelet_source(block(maxPods=30, kubeReserved={"cpu": "1"}))
    small, large = (source.numbers(described(name), 29) for name in ("m5.large", "m5.xlarge"))
    assert small is large
    assert (small.max_pods, small.kube_reserved["cpu"]) == (30, 1_000)


@pytest.mark.aws("AWS-059", "AWS-060")
def test_expressions_are_worked_out_for_each_type() -> None:
    source = kubelet_source(block(maxPods="vcpus * 8", kubeReserved={"memory": "max_pods * 16"}), expressions=True)
    found = source.numbers(described(), 29)
    assert (found.max_pods, found.kube_reserved["memory"]) == (16, 256 * MIB)


@pytest.mark.aws("AWS-057")
def test_expressions_that_are_off_count_as_not_said() -> None:
    source = kubelet_source(block(maxPods="vcpus * 8", kubeReserved={"memory": "max_pods", "cpu": "1"}))
    found = source.numbers(described(), 29)
    assert found.max_pods is None
    assert dict(found.kube_reserved) == {"cpu": 1_000}


def test_equal_expressions_are_equal_sources() -> None:
    one, same, other = (
        kubelet_source(block(maxPods=text), expressions=True) for text in ("vcpus", "vcpus", "vcpus * 2")
    )
    assert one == same != other
    assert hash(one) == hash(same)


@pytest.mark.aws("AWS-056")
def test_an_expression_without_a_value_for_the_type_is_refused_by_name() -> None:
    source = kubelet_source(block(maxPods="vcpus - 100"), expressions=True)
    with pytest.raises(InvalidObject, match=r"spec.kubelet.maxPods: .*gives -98 for m5.large"):
        source.numbers(described(), 29)

from __future__ import annotations

import pytest

from karpy.lifecycle.termination import termination_patch
from karpy.objects.node import Node
from karpy.testing import make_node


@pytest.mark.core("CORE-688")
def test_a_node_that_goes_is_tainted_and_taken_from_load_balancers() -> None:
    other = {"key": "dedicated", "effect": "NoSchedule"}
    stale = {"key": "karpenter.sh/disrupted", "effect": "NoExecute"}
    patch = termination_patch(Node.from_dict(make_node(taints=[stale, other])))
    assert patch == {
        "metadata": {
            "resourceVersion": "1",
            "labels": {"node.kubernetes.io/exclude-from-external-load-balancers": "karpenter"},
        },
        "spec": {"taints": [other, {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]},
    }


def test_what_is_there_already_is_not_written_again() -> None:
    labels = {"node.kubernetes.io/exclude-from-external-load-balancers": "karpenter"}
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    assert termination_patch(Node.from_dict(make_node(taints=[taint], labels=labels))) is None

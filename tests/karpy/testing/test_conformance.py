"""The simulated cloud keeps what every cloud promises, whichever cloud it stands in for."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.model import load_models
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud
from karpy.sim.generic import GenericModel
from karpy.testing.conformance import Conforming, ProviderConformance

EC2: dict[str, Any] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default", "uid": "1"},
    "spec": {
        "role": "node",
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
    },
}
GENERIC: dict[str, Any] = {
    "apiVersion": "sim.karpy.dev/v1",
    "kind": "SimNodeClass",
    "metadata": {"name": "default", "uid": "1"},
}


class TestSimCloud(ProviderConformance):
    @pytest.fixture(params=["generic", "aws"])
    def cloud(self, request: pytest.FixtureRequest) -> Conforming:
        clock = VirtualClock()
        provider = SimCloud((*load_models(), GenericModel()), clock)
        if request.param == "generic":
            return Conforming(provider, clock.advance, node_class=GENERIC)
        return Conforming(provider, clock.advance, node_class=EC2, unusable_node_class={**EC2, "spec": {}})

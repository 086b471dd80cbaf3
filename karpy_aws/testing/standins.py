"""`AWSStandIn`: what stands in for AWS, for ``karpy demo --cloud aws`` and ``python -m karpy.testing --cloud aws``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Final

import attrs

from karpy.cloud.model import CloudModel
from karpy.kube.client import RawObject
from karpy.sim.clock import VirtualClock
from karpy.sim.region.timing import Timing
from karpy.sim.site import MakeSite, Site
from karpy.sim.weather import Weather
from karpy_aws.catalog import REGION
from karpy_aws.model import AWSModel
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.testing.regions import CLUSTER, PROFILE

__all__ = ["AWSStandIn"]

_FEW: Final = re.compile(r"[cmr](5|6g)\.(large|xlarge|2xlarge|4xlarge)")
"""Types of two architectures and three shapes: enough to choose from, and quick to look through."""
_OWN: Final = [{"tags": {"karpenter.sh/discovery": CLUSTER}}]
_SPEC: Final[dict[str, Any]] = {
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "subnetSelectorTerms": _OWN,
    "securityGroupSelectorTerms": _OWN,
    "instanceProfile": PROFILE,
}


class AWSStandIn:
    """A `karpy.sim.standins.CloudStandIn`: over HTTP it is moto, in memory `karpy_aws.testing.FakeAWS`."""

    name = "aws"
    models: Sequence[CloudModel] = (AWSModel(),)
    zones: Sequence[str] = tuple(f"{REGION}{letter}" for letter in "abc")
    node_class: RawObject = MappingProxyType(
        {
            "apiVersion": EC2_NODE_CLASS.api_version,
            "kind": EC2_NODE_CLASS.kind,
            "metadata": {"name": "default"},
            "spec": _SPEC,
        }
    )

    def served(self) -> AbstractContextManager[MakeSite]:
        from karpy_aws.testing.motosite import moto_site

        return moto_site()

    def in_memory(self, timing: Timing, weather: Weather) -> MakeSite:
        from karpy_aws.testing.fakesite import fake_site

        def make(clock: VirtualClock, seed: int) -> Site:
            return fake_site(clock, seed, timing=timing, weather=weather, sells=lambda name: bool(_FEW.fullmatch(name)))

        return make

    def has(self, weather: Weather) -> Weather:
        """Prices stay as they are."""
        return attrs.evolve(weather, price_walk=None, price_changes=(), tries=None)

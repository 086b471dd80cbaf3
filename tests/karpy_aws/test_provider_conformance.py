"""EC2 keeps what every cloud promises: the provider over a cloud in memory."""

from __future__ import annotations

import pytest

from karpy.testing.conformance import Conforming, ProviderConformance
from tests.karpy_aws.providerworld import Setup, node_class


class TestAWSProvider(ProviderConformance):
    @pytest.fixture
    def cloud(self) -> Conforming:
        setup = Setup.of()
        unusable = node_class(subnetSelectorTerms=[{"id": "subnet-0"}])
        return Conforming(setup.provider, setup.clock.advance, node_class=node_class(), unusable_node_class=unusable)


class TestSlowEC2(ProviderConformance):
    """Machines take their time to be shown, to boot and to end."""

    @pytest.fixture
    def cloud(self) -> Conforming:
        setup = Setup.of()
        setup.world.lag_s, setup.world.boot_s, setup.world.shutdown_s = 10.0, 20.0, 40.0
        return Conforming(setup.provider, setup.clock.advance, node_class=node_class())

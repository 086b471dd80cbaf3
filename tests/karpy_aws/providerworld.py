"""A cluster on EC2 in memory, all that a provider asks of it, and objects that refer to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import structlog

from karpy.cloud.instancetype import InstanceType
from karpy.cloud.provider import Instance
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirement, Requirements
from karpy.testing.clock import FakeClock
from karpy_aws.batching import AT_ONCE
from karpy_aws.provider import AWSProvider
from karpy_aws.settings import AWSSettings
from karpy_aws.testing import FakeAWS, World
from tests.karpy_aws.testing.worlds import region

CLUSTER = "mine"
DISCOVERY = {"Key": "karpenter.sh/discovery", "Value": CLUSTER}
SELECTED = [{"tags": {"karpenter.sh/discovery": CLUSTER}}]
POOL = NodePool(name="default", node_class=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"))
PARAMETERS = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023"


def world(clock: FakeClock) -> World:
    """Three types in two zones, with the network, the images and the cluster that machines need."""
    found = region(clock)
    for name, record in found.instance_types.items():
        record |= {
            "SupportedUsageClasses": ["on-demand", "spot"],
            "Hypervisor": "nitro",
            "CurrentGeneration": True,
            "NetworkInfo": {
                "DefaultNetworkCardIndex": 0,
                "NetworkCards": [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 3}],
                "Ipv4AddressesPerInterface": 10,
                "EnaSupport": "required",
            },
            "PlacementGroupInfo": {"SupportedStrategies": ["cluster", "partition", "spread"]},
        }
        found.instance_types[name] = record
    for table in (found.subnets, found.security_groups):
        for record in table.values():
            record["Tags"] = [*record.get("Tags", ()), DISCOVERY]
    for arch in ("x86_64", "arm64"):
        found.parameters[f"{PARAMETERS}/{arch}/standard/recommended/image_id"] = f"ami-{arch}"
        found.images[f"ami-{arch}"]["CreationDate"] = "2026-01-01T00:00:00.000Z"
    found.clusters[CLUSTER] = {
        "endpoint": "https://mine.eks.amazonaws.com",
        "version": "1.34",
        "arn": f"arn:aws:eks:us-west-2:111122223333:cluster/{CLUSTER}",
        "certificateAuthority": {"data": "Y2E="},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16"},
    }
    return found


def node_class(status: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "subnetSelectorTerms": SELECTED,
        "securityGroupSelectorTerms": SELECTED,
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "role": "node",
    }
    wanted = {**usual, **spec}
    raw: dict[str, Any] = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default", "uid": "class-1", "generation": 1},
        "spec": {name: value for name, value in wanted.items() if value is not None},
    }
    return raw if status is None else {**raw, "status": dict(status)}


@attrs.frozen
class Setup:
    clock: FakeClock
    fake: FakeAWS
    provider: AWSProvider
    logged: list[Any]

    @classmethod
    def of(cls, *, reserved_capacity: bool = True, **settings: Any) -> Setup:
        clock = FakeClock()
        fake = FakeAWS(world(clock), clock=clock, check_answers=True)
        return cls.on(fake, clock, reserved_capacity=reserved_capacity, **settings)

    @classmethod
    def on(cls, fake: FakeAWS, clock: FakeClock, *, reserved_capacity: bool = True, **settings: Any) -> Setup:
        """karpy started anew in the same world."""
        logged = structlog.testing.LogCapture()
        log = structlog.wrap_logger(None, processors=[logged])
        told = AWSSettings(cluster_name=CLUSTER, **settings)
        provider = AWSProvider(
            fake.apis, told, clock=clock, windows=AT_ONCE, log=log, reserved_capacity=reserved_capacity
        )
        return cls(clock, fake, provider, logged.entries)

    @property
    def world(self) -> World:
        return self.fake.world

    def resolved(self, **spec: Any) -> dict[str, Any]:
        """A class as the core has it after it was looked up."""
        raw = node_class(**spec)
        found = self.provider.resolve(raw)
        assert found.ready, found.message
        return node_class(found.status, **spec)

    def choices(self, raw: Mapping[str, Any], *names: str) -> list[InstanceType]:
        types = self.provider.instance_types(POOL, raw)
        return [each for each in types if not names or each.name in names]

    def launch(self, raw: Mapping[str, Any], name: str = "claim-1", *wanted: Requirement, types: str = "") -> Instance:
        return self.provider.create(claim(name, *wanted), raw, self.choices(raw, *filter(None, [types])))


def claim(name: str = "claim-1", *wanted: Requirement) -> NodeClaim:
    usual = Requirements([Requirement.in_("karpenter.sh/capacity-type", "on-demand")])
    return attrs.evolve(
        NodeClaim.from_dict({"metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "default"}}, "spec": {}}),
        node_class=POOL.node_class,
        requirements=Requirements(wanted) if wanted else usual,
    )


def launched(asked: NodeClaim, instance: Instance, **labels: str) -> NodeClaim:
    """The claim with what the core writes onto it after a launch."""
    metadata = {"name": asked.name, "labels": {**asked.labels, **instance.labels, **labels}}
    read = NodeClaim.from_dict(
        {
            "metadata": {**metadata, "annotations": dict(instance.annotations)},
            "spec": {},
            "status": {"providerID": instance.provider_id, "imageID": instance.image_id},
        }
    )
    return attrs.evolve(read, node_class=asked.node_class)

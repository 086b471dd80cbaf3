"""A small region for tests of what launches in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.testing.clock import FakeClock
from karpy_aws.testing import FakeAWS, World

TEMPLATE = "karpenter.k8s.aws/1"
ARM = ("m7g.large",)


def described(name: str, vcpus: int = 2, *, is_metal: bool = False) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "BareMetal": is_metal,
        "SupportedVirtualizationTypes": ["hvm"],
        "ProcessorInfo": {"SupportedArchitectures": ["arm64" if name in ARM else "x86_64"]},
        "VCpuInfo": {"DefaultVCpus": vcpus},
        "MemoryInfo": {"SizeInMiB": vcpus * 4_096},
    }


def region(clock: FakeClock) -> World:
    """Three types in two zones; the spot prices move once."""
    now = clock.now()
    zones = {"us-west-2a": "usw2-az2", "us-west-2b": "usw2-az1"}
    prices = {"m5.large": 0.096, "m5.xlarge": 0.192, "m7g.large": 0.0816}
    world = World(
        zones=zones,
        instance_types={name: described(name, 4 if "xlarge" in name else 2) for name in prices},
        offerings={name: sorted(zones) for name in prices},
        on_demand_prices=dict(prices),
        spot_prices={(name, zone): [(now, price / 3)] for name, price in prices.items() for zone in zones},
        roles={"node"},
    )
    world.load(
        subnets=[
            {"SubnetId": f"subnet-{zone[-1]}", "AvailabilityZone": zone, "AvailabilityZoneId": id_, "VpcId": "vpc-1"}
            | {"AvailableIpAddressCount": 100, "Tags": [{"Key": "team", "Value": zone[-1]}]}
            for zone, id_ in zones.items()
        ],
        security_groups=[{"GroupId": "sg-1", "GroupName": "nodes", "VpcId": "vpc-1"}],
        images=[
            {
                "ImageId": f"ami-{arch}",
                "Name": arch,
                "Architecture": arch,
                "State": "available",
                "OwnerId": "602401143452",
            }
            for arch in ("x86_64", "arm64")
        ],
    )
    return world


def launch_template(fake: FakeAWS, name: str = TEMPLATE, **data: Any) -> str:
    fake.apis.ec2.create_launch_template({"LaunchTemplateName": name, "LaunchTemplateData": data})
    return name


def override(
    type_: str = "m5.large", zone: str = "us-west-2a", image: str = "ami-x86_64", **more: Any
) -> dict[str, Any]:
    return {"InstanceType": type_, "AvailabilityZone": zone, "SubnetId": f"subnet-{zone[-1]}", "ImageId": image, **more}


def fleet(
    *overrides: dict[str, Any],
    count: int = 1,
    capacity_type: str = "on-demand",
    strategy: str = "",
    template: str = TEMPLATE,
    tags: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    options = {"SpotOptions" if capacity_type == "spot" else "OnDemandOptions": {"AllocationStrategy": strategy}}
    written = [{"Key": key, "Value": value} for key, value in tags]
    return {
        "Type": "instant",
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "$Latest"},
                "Overrides": list(overrides) or [override()],
            }
        ],
        "TargetCapacitySpecification": {"TotalTargetCapacity": count, "DefaultTargetCapacityType": capacity_type},
        **(options if strategy else {}),
        **({"TagSpecifications": [{"ResourceType": "instance", "Tags": written}]} if written else {}),
    }


def pools(answer: dict[str, Any]) -> dict[tuple[str, str], int]:
    """How many machines a fleet got of each type in each zone."""
    found = {}
    for entry in answer["Instances"]:
        chosen = entry["LaunchTemplateAndOverrides"]["Overrides"]
        found[chosen["InstanceType"], chosen["AvailabilityZone"]] = len(entry["InstanceIds"])
    return found


def codes(answer: dict[str, Any]) -> list[str]:
    return [error["ErrorCode"] for error in answer["Errors"]]

"""A region with everything that a cluster on EKS needs, made of the catalog that ships with karpy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from karpy import labels as core
from karpy_aws.catalog import Catalog, ListPrices, load_catalog
from karpy_aws.imageparameters import image_parameters
from karpy_aws.testing.world import World

__all__ = ["CLUSTER", "KUBERNETES", "QUEUE", "region"]

CLUSTER: Final = "demo"
QUEUE: Final = "demo-interruptions"
KUBERNETES: Final = "1.31"
"""The last but one that has images of AL2."""
ROLE: Final = "KarpenterNodeRole-demo"
PROFILE: Final = "KarpenterNodeInstanceProfile-demo"
_VPC: Final = "vpc-0demo"
_FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket")
_EKS: Final = "602401143452"
_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "arm64"}
DISCOVERY: Final = (
    {"Key": "karpenter.sh/discovery", "Value": CLUSTER},
    {"Key": f"kubernetes.io/cluster/{CLUSTER}", "Value": "owned"},
)
"""The tags that node classes of all generations look for."""


def region(now: float, sells: Callable[[str], bool] = lambda _name: True) -> World:
    """The shipped catalog's region, with those instance types that ``sells`` says."""
    catalog = _catalog()
    described = {each.instance_type: each for each in catalog.types if sells(each.instance_type)}
    zones = {name: sorted(catalog.zones[name]) for name in described}
    prices = ListPrices(catalog.prices)
    world = World(
        region=catalog.region,
        zones=dict(catalog.zone_ids),
        instance_types={
            name: {**msgspec.to_builtins(each), "SupportedVirtualizationTypes": ["hvm"]}
            for name, each in described.items()
        },
        offerings=zones,
        on_demand_prices={name: catalog.prices[name] for name in described},
        spot_prices={
            (name, zone): [(now, price)]
            for name in described
            for zone in zones[name]
            if (price := prices.price(name, zone, core.SPOT)) is not None
        },
        roles={ROLE},
        knows_every_profile=True,
        queues={QUEUE: []},
        clusters={CLUSTER: cluster(catalog)},
    )
    _give_network(world)
    for path, image in images():
        world.parameters[path] = image["ImageId"]
        world.load(images=[image])
    return world


@functools.cache
def _catalog() -> Catalog:
    return load_catalog()


def cluster(catalog: Catalog) -> dict[str, Any]:
    """As EKS describes it."""
    return {
        "version": KUBERNETES,
        "arn": f"arn:aws:eks:{catalog.region}:111122223333:cluster/{CLUSTER}",
        "endpoint": f"https://{CLUSTER}.gr7.{catalog.region}.eks.amazonaws.com",
        "certificateAuthority": {"data": "Y2EtYnVuZGxl"},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16", "ipFamily": "ipv4"},
    }


def _give_network(world: World) -> None:
    world.load(
        subnets=[
            {
                "SubnetId": f"subnet-{zone}",
                "AvailabilityZone": zone,
                "AvailabilityZoneId": id_,
                "VpcId": _VPC,
                "AvailableIpAddressCount": 4_091,
                "Tags": list(DISCOVERY),
            }
            for zone, id_ in world.zones.items()
        ],
        security_groups=[
            {"GroupId": "sg-0demo", "GroupName": "nodes", "VpcId": _VPC, "Tags": list(DISCOVERY)},
        ],
    )


def images() -> Iterator[tuple[str, dict[str, Any]]]:
    """The parameter that names each image, and the image."""
    for family in _FAMILIES:
        for number, parameter in enumerate(image_parameters(family, KUBERNETES)):
            name = f"{family.lower()}-{number}-{parameter.arch}"
            yield (
                parameter.path,
                {
                    "ImageId": f"ami-0{name.replace('-', '')}",
                    "Name": f"{name}-{KUBERNETES}",
                    "Architecture": _ARCHITECTURES[parameter.arch],
                    "State": "available",
                    "OwnerId": _EKS,
                    "ImageOwnerAlias": "amazon",
                    "CreationDate": "2026-01-01T00:00:00.000Z",
                },
            )

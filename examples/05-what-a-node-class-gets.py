"""Which machines would a node class of EC2 get, and what would they be started with? No account and no network is needed."""

import base64
from pathlib import Path

import attrs
import msgspec

import karpy
from karpy.clock import SystemClock
from karpy.cloud.instancetype import InstanceTypes
from karpy_aws.api import items, pages
from karpy_aws.book import InstanceTypeBook, Market
from karpy_aws.bootstrap import NodeBootstrap, node_labels, node_taints
from karpy_aws.catalog import ListPrices, load_catalog
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.descriptions import read_descriptions, read_zones
from karpy_aws.imagelookup import ImageLookup
from karpy_aws.imageparameters import image_parameters
from karpy_aws.kubeletconfigs import kubelet_configs
from karpy_aws.launchtemplates import TemplateSettings, launch_templates
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import read_node_class
from karpy_aws.objects.status import SecurityGroup, Subnet
from karpy_aws.testing import FakeAWS, World

MANIFEST = Path(__file__).with_name("eks-v1.yaml")
CLUSTER = ClusterFacts(name="demo", endpoint="https://demo", version="1.34", service_cidr="10.100.0.0/16")

# EC2 in memory, with the types and prices that karpy ships: requests are checked against the SDK's own model of them.
catalog = load_catalog()
world = World(
    region=catalog.region,
    zones=catalog.zone_ids,
    instance_types={each.instance_type: msgspec.to_builtins(each) for each in catalog.types},
    offerings={name: list(zones) for name, zones in catalog.zones.items()},
)
for number, parameter in enumerate(image_parameters("AL2023", CLUSTER.version)):
    world.parameters[parameter.path] = f"ami-{number}"
    arch = {"amd64": "x86_64", "arm64": "arm64"}[parameter.arch]
    world.load(
        images=[{"ImageId": f"ami-{number}", "Name": parameter.path, "Architecture": arch, "State": "available"}]
    )
world.load(
    subnets=[
        {"SubnetId": f"subnet-{zone}", "AvailabilityZone": zone, "AvailabilityZoneId": id_, "State": "available"}
        for zone, id_ in catalog.zone_ids.items()
    ],
    security_groups=[{"GroupId": "sg-1", "GroupName": "nodes"}],
)
aws = FakeAWS(world).apis

# The node class, and what it is found to mean in this account.
manifests = karpy.read_manifests(MANIFEST.read_text(), MANIFEST.name).objects
node_class = next(read_node_class(each) for each in manifests if each["kind"] == "EC2NodeClass")
found = attrs.evolve(
    node_class.status,
    subnets=tuple(
        Subnet(each["SubnetId"], each["AvailabilityZone"], each["AvailabilityZoneId"])
        for each in items(aws.ec2.describe_subnets, {}, "Subnets")
    ),
    security_groups=tuple(
        SecurityGroup(each["GroupId"]) for each in items(aws.ec2.describe_security_groups, {}, "SecurityGroups")
    ),
    amis=ImageLookup(aws.ec2, aws.ssm, SystemClock()).images(node_class, CLUSTER.version).images,
    instance_profile="demo",
)
node_class = attrs.evolve(node_class, status=found)

# The instance types as this class would get them.
described = read_descriptions(pages(aws.ec2.describe_instance_types, {})).types
located = {"LocationType": "availability-zone"}
book = InstanceTypeBook(catalog.region)
book.update(types=described, zones=read_zones(pages(aws.ec2.describe_instance_type_offerings, located)))
setup = NodeSetup.of(node_class)
types = book.instance_types(setup, Market(prices=ListPrices(catalog.prices)))
sold = [each for each in types if any(offering.available for offering in each.offerings)]
print(f"node class {node_class.name!r} ({node_class.ami_family}): {len(sold)} of {len(types)} instance types")
chosen = InstanceTypes(each for each in types if each.name in ("c6g.large", "m5.xlarge"))
for each in chosen:
    cheapest = min(offering.price for offering in each.offerings if offering.available)
    print(f"  {each.name}: {each.allocatable}, from ${cheapest:.4f}/h")

# What machines of these two types are started with.
labels = {"karpenter.sh/nodepool": "default"}
settings = TemplateSettings(
    node_class=node_class,
    region=catalog.region,
    bootstrap=NodeBootstrap(cluster=CLUSTER, labels=node_labels(labels, "spot"), taints=node_taints((), ())),
    capacity_type="spot",
    tags={"kubernetes.io/cluster/demo": "owned", **labels, **node_class.tags},
)
kubelet_of = kubelet_configs(node_class, setup, {each.instance_type: each for each in described})
for template in launch_templates(chosen, settings, kubelet_of):
    data = template.request["LaunchTemplateData"]
    print(f"launch template {template.name} for {', '.join(each.name for each in template.types)}: {data['ImageId']}")
    print(base64.b64decode(data["UserData"]).decode())

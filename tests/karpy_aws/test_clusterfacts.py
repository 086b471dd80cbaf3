from __future__ import annotations

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy.testing.clock import FakeClock
from karpy_aws.clusterfacts import Cluster, ClusterFacts, Seen, check_access, discover, minor_version, version_problem
from karpy_aws.errors import AWSError
from karpy_aws.settings import AWSSettings
from karpy_aws.testing import FakeAWS, World

ARN = "arn:aws:eks:us-west-2:111122223333:cluster/mine"
EKS = {
    "arn": ARN,
    "version": "1.34",
    "endpoint": "https://eks.example",
    "certificateAuthority": {"data": "RUtT"},
    "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16", "ipFamily": "ipv4"},
}
SETTINGS = AWSSettings(cluster_name="mine")
OUTSIDE = AWSSettings(cluster_name="mine", cluster_endpoint="https://own.example")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeAWS:
    return FakeAWS(World(clusters={"mine": dict(EKS)}), clock=clock, check_answers=True)


@pytest.mark.aws("AWS-239")
def test_eks_tells_what_the_settings_do_not(fake: FakeAWS) -> None:
    assert discover(fake.apis.eks, SETTINGS) == ClusterFacts(
        name="mine",
        endpoint="https://eks.example",
        ca_bundle="RUtT",
        version="1.34",
        service_cidr="10.100.0.0/16",
        dns_ip="10.100.0.10",
        arn=ARN,
    )


@pytest.mark.aws("AWS-239")
def test_the_settings_count_most_and_then_the_api_server(fake: FakeAWS) -> None:
    seen = Seen(version="v1.33.1-eks-1", dns_ip="10.100.0.99", ca_bundle="U0VFTg==")
    found = discover(fake.apis.eks, attrs.evolve(OUTSIDE, cluster_ca_bundle="T1dO"), seen)
    assert (found.endpoint, found.ca_bundle, found.dns_ip) == ("https://own.example", "T1dO", "10.100.0.99")
    assert discover(fake.apis.eks, OUTSIDE, seen).ca_bundle == "U0VFTg=="


@pytest.mark.aws("AWS-238")
def test_the_version_is_the_api_servers_unless_eks_is_to_be_asked(fake: FakeAWS) -> None:
    seen = Seen(version="v1.33.1-eks-1")
    assert discover(fake.apis.eks, SETTINGS, seen).version == "1.33"
    assert discover(fake.apis.eks, attrs.evolve(SETTINGS, eks_control_plane=True), seen).version == "1.34"


@pytest.mark.aws("AWS-082", "AWS-183")
def test_a_cluster_of_ipv6_is_known_by_its_dns(fake: FakeAWS) -> None:
    fake.world.clusters["mine"]["kubernetesNetworkConfig"] = {
        "serviceIpv6Cidr": "fd30:1c53:5f8a::/108",
        "ipFamily": "ipv6",
    }
    found = discover(fake.apis.eks, SETTINGS)
    assert (found.service_cidr, found.dns_ip, found.is_ipv6) == ("fd30:1c53:5f8a::/108", "fd30:1c53:5f8a::a", True)
    assert not discover(fake.apis.eks, SETTINGS, Seen(dns_ip="10.0.0.10")).is_ipv6


@pytest.mark.aws("AWS-239")
def test_without_an_endpoint_eks_must_answer(fake: FakeAWS) -> None:
    fake.world.denied = {"eks:DescribeCluster"}
    with pytest.raises(AWSError, match=r"eks:DescribeCluster of mine: AccessDenied: .* needs eks:DescribeCluster"):
        discover(fake.apis.eks, SETTINGS)
    assert discover(fake.apis.eks, OUTSIDE, Seen(version="1.34")) == ClusterFacts(
        name="mine", endpoint="https://own.example", version="1.34"
    )
    with pytest.raises(AWSError, match="AccessDenied"):
        discover(fake.apis.eks, attrs.evolve(OUTSIDE, eks_control_plane=True))


def test_what_is_known_stays_known(fake: FakeAWS, clock: FakeClock) -> None:
    cluster = Cluster(fake.apis.eks, SETTINGS, clock=clock)
    fake.world.fail("DescribeCluster", "ServerException", status=500)
    with pytest.raises(AWSError):
        cluster.facts()
    assert cluster.facts().version == "1.34"
    fake.world.clusters["mine"]["version"] = "1.35"
    assert cluster.facts().version == "1.34"
    clock.advance(300)
    fake.world.fail("DescribeCluster", "ServerException", status=500)
    assert cluster.facts().version == "1.34"
    clock.advance(300)
    assert cluster.facts().version == "1.35"


@pytest.mark.aws("AWS-238")
@pytest.mark.parametrize("version", ["1.26", "1.34", "1.36"])
def test_versions_that_are_known(version: str) -> None:
    assert version_problem(version) == ""


@pytest.mark.aws("AWS-238")
@pytest.mark.parametrize("version", ["1.25", "1.37", "2.0"])
def test_a_version_that_is_not_known_is_told_and_no_more(version: str) -> None:
    assert f"Kubernetes {version} is not among" in version_problem(version)


def test_a_version_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"version: found 'latest' \(accepted: a version such as 1.34\)"):
        minor_version("latest")


@pytest.mark.aws("AWS-250")
def test_access_is_checked_without_doing_anything(fake: FakeAWS) -> None:
    check_access(fake.apis.ec2)

    class Literal:
        def describe_instance_types(self, request: dict[str, object]) -> dict[str, object]:
            return {"InstanceTypes": []}

    check_access(Literal())  # type: ignore[arg-type]  # it is asked for nothing else
    fake.world.denied = {"ec2:DescribeInstanceTypes"}
    with pytest.raises(AWSError, match=r"needs ec2:DescribeInstanceTypes"):
        check_access(fake.apis.ec2)

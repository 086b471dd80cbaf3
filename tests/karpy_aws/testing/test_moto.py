"""karpy on moto: the SDK as it is, over HTTP, to a server that acts like AWS; from manifests to instances and back to none."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pytest

from karpy.report.scene import Summary
from karpy.scenarios.catalogue import load_scenario
from karpy.scenarios.rehearsal import Rehearsal
from karpy_aws.model import AWSModel
from karpy_aws.testing.launching import ENDED
from karpy_aws.testing.motobackend import MotoBackend
from karpy_aws.testing.motosite import moto_site
from karpy_aws.testing.userdata import read_user_data

pytest.importorskip("moto", reason="moto is not installed: pip install 'karpy[demo]'")


@attrs.frozen
class Played:
    """A scenario that was played to its end, and moto as it is then."""

    summary: Summary
    backend: MotoBackend

    def requests(self, operation: str) -> list[Mapping[str, Any]]:
        return [
            call.request
            for call in self.backend.calls
            if call.operation == operation and not call.request.get("DryRun")
        ]

    @property
    def launched(self) -> list[Mapping[str, Any]]:
        return list(self.backend.instances())

    def template(self, name: str) -> Mapping[str, Any]:
        found = [each for each in self.requests("CreateLaunchTemplate") if each["LaunchTemplateName"] == name]
        data: Mapping[str, Any] = found[0]["LaunchTemplateData"]
        return data


@pytest.fixture(scope="module", params=["eks", "eks-v0.5.3"])
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    with moto_site() as site:
        rehearsal = Rehearsal(load_scenario(request.param), models=(AWSModel(),), site=site, start=time.time())
        yield Played(rehearsal.play(), rehearsal.world.site.backend)


def test_all_pods_are_served_and_nothing_is_left(played: Played) -> None:
    summary = played.summary
    assert summary.reached_end
    assert (summary.pods_pending, summary.nodes_left, summary.instances_left) == (0, 0, 0)
    assert summary.launches >= 2
    assert summary.cost > 0


def test_every_launch_was_a_fleet_of_moto_and_every_instance_there_has_ended(played: Played) -> None:
    assert len(played.requests("CreateFleet")) == len(played.launched) == played.summary.launches
    assert {each["State"]["Name"] for each in played.launched} <= ENDED
    ended = {id_ for each in played.requests("TerminateInstances") for id_ in each["InstanceIds"]}
    assert ended == {each["InstanceId"] for each in played.launched}


def test_fleets_ask_for_what_the_manifests_say(played: Played) -> None:
    is_spot = played.summary.scenario == "eks-v0.5.3"
    for fleet in played.requests("CreateFleet"):
        target = fleet["TargetCapacitySpecification"]
        assert target == {"DefaultTargetCapacityType": "spot" if is_spot else "on-demand", "TotalTargetCapacity": 1}
        strategy = fleet["SpotOptions" if is_spot else "OnDemandOptions"]["AllocationStrategy"]
        assert strategy == ("price-capacity-optimized" if is_spot else "lowest-price")
        overrides = [each for config in fleet["LaunchTemplateConfigs"] for each in config["Overrides"]]
        assert {each["InstanceType"][0] for each in overrides} <= {"c", "m", "r"}
        assert all(int(each["InstanceType"].partition(".")[0][1]) > 2 for each in overrides)
        assert {each["AvailabilityZone"][:-1] for each in overrides} == {"us-west-2"}
        assert {each["ImageId"] for each in overrides} == {"ami-0al20amd64"}


def test_instances_are_what_their_fleet_asked_for_and_bear_their_claims_names(played: Played) -> None:
    asked = {
        next(tag["Value"] for tag in fleet["TagSpecifications"][0]["Tags"] if tag["Key"] == "karpenter.sh/nodeclaim"): {
            (each["InstanceType"], each["AvailabilityZone"])
            for config in fleet["LaunchTemplateConfigs"]
            for each in config["Overrides"]
        }
        for fleet in played.requests("CreateFleet")
    }
    for instance in played.launched:
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        pool = instance["InstanceType"], instance["Placement"]["AvailabilityZone"]
        assert pool in asked.pop(tags["karpenter.sh/nodeclaim"])
        assert tags["eks:eks-cluster-name"] == "demo"
        assert tags["kubernetes.io/cluster/demo"] == "owned"
        assert tags["karpenter.sh/nodepool"] == "default"
    assert asked == {}


def test_templates_start_nodes_that_join_the_cluster(played: Played) -> None:
    names = {
        config["LaunchTemplateSpecification"]["LaunchTemplateName"]
        for fleet in played.requests("CreateFleet")
        for config in fleet["LaunchTemplateConfigs"]
    }
    for data in map(played.template, names):
        boot = read_user_data(data["UserData"])
        assert boot.cluster == "demo"
        assert boot.labels["karpenter.sh/capacity-type"] in ("spot", "on-demand")
        assert "/etc/eks/bootstrap.sh" in base64.b64decode(data["UserData"]).decode()
        assert data["IamInstanceProfile"]["Name"] == "KarpenterNodeInstanceProfile-demo"
        assert data["MetadataOptions"]


def test_what_moto_tells_through_its_queue_was_dealt_with(played: Played) -> None:
    assert len(played.requests("DeleteMessage")) >= played.summary.launches

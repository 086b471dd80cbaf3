from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy_aws.settings import AWSSettings, InvalidSettings, read_config_map, read_options, read_v053_options


@pytest.mark.aws("AWS-240")
def test_what_is_not_set_has_karpenters_default() -> None:
    found = read_options({"CLUSTER_NAME": "mine", "HOME": "/root"})
    assert found == AWSSettings(cluster_name="mine")
    assert (found.vm_memory_overhead_percent, found.reserved_enis, found.ami_refresh_interval_s) == (0.075, 0, 60.0)


@pytest.mark.aws("AWS-240")
def test_every_option_is_a_variable_and_a_flag() -> None:
    variables = {
        "CLUSTER_NAME": "mine",
        "CLUSTER_ENDPOINT": "https://example.com",
        "CLUSTER_CA_BUNDLE": "Y2E=",
        "INTERRUPTION_QUEUE": "queue",
        "ISOLATED_VPC": "true",
        "EKS_CONTROL_PLANE": "1",
        "VM_MEMORY_OVERHEAD_PERCENT": "0.1",
        "RESERVED_ENIS": "2",
        "DISABLE_DRY_RUN": "T",
        "ENABLE_ZONAL_SHIFT": "TRUE",
        "AMI_REFRESH_INTERVAL": "2m",
        "SUBNET_REFRESH_INTERVAL": "1h30m",
        "AWS_FEATURE_GATES": "NodeClassCEL=true",
    }
    expected = AWSSettings(
        cluster_name="mine",
        cluster_endpoint="https://example.com",
        cluster_ca_bundle="Y2E=",
        interruption_queue="queue",
        isolated_vpc=True,
        eks_control_plane=True,
        vm_memory_overhead_percent=0.1,
        reserved_enis=2,
        disable_dry_run=True,
        enable_zonal_shift=True,
        ami_refresh_interval_s=120.0,
        subnet_refresh_interval_s=5_400.0,
        node_class_cel=True,
    )
    flags = [f"--{name.replace('_', '-').lower()}={value}" for name, value in variables.items()]
    assert read_options(variables) == expected
    assert read_options({}, flags) == expected


@pytest.mark.aws("AWS-240")
def test_a_flag_beats_its_variable() -> None:
    environment = {"CLUSTER_NAME": "variable", "ISOLATED_VPC": "true", "RESERVED_ENIS": "1"}
    found = read_options(environment, ["--cluster-name", "flag", "--isolated-vpc=false", "--log-level=debug"])
    assert found == AWSSettings(cluster_name="flag", reserved_enis=1)


@pytest.mark.aws("AWS-240")
@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("CLUSTER_ENDPOINT", "00000000000000000000000.gr7.us-west-2.eks.amazonaws.com", "a URL such as https://"),
        ("CLUSTER_ENDPOINT", "https://[", "a URL such as https://"),
        ("VM_MEMORY_OVERHEAD_PERCENT", "-0.01", "a number from 0 on"),
        ("VM_MEMORY_OVERHEAD_PERCENT", "much", "a number from 0 on"),
        ("VM_MEMORY_OVERHEAD_PERCENT", "nan", "a number from 0 on"),
        ("RESERVED_ENIS", "-1", "a whole number from 0 on"),
        ("RESERVED_ENIS", "1.5", "a whole number from 0 on"),
        ("ISOLATED_VPC", "maybe", "true or false"),
        ("AMI_REFRESH_INTERVAL", "30s", 'a duration of at least "1m"'),
        ("SUBNET_REFRESH_INTERVAL", "soon", "a duration such as"),
        ("AWS_FEATURE_GATES", "NodeClassCEL=yes", "true or false"),
        ("AWS_FEATURE_GATES", "NodeClasCEL=true", "NodeClassCEL"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_is_accepted(name: str, value: str, problem: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        read_options({"CLUSTER_NAME": "mine", name: value})
    told = str(caught.value)
    assert told.startswith(f"options: {name}")
    assert f"(accepted: {problem}" in told


@pytest.mark.aws("AWS-240")
def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidObject) as caught:
        read_options({"RESERVED_ENIS": "some"}, ["--cluster-endpoint", "nowhere"])
    assert str(caught.value).splitlines() == [
        "options: CLUSTER_NAME: is required and not set",
        "options: CLUSTER_ENDPOINT: found 'nowhere' (accepted: a URL such as https://ABC.gr7.us-west-2.eks.amazonaws.com)",
        "options: RESERVED_ENIS: found 'some' (accepted: a whole number from 0 on)",
    ]


GLOBAL = {"aws.clusterName": "mine"}


@pytest.mark.aws("AWS-243")
def test_a_config_map_of_025_has_its_defaults() -> None:
    found, core = read_config_map(GLOBAL)
    assert found == AWSSettings(cluster_name="mine")
    assert (core.batch_max_duration_s, core.batch_idle_duration_s) == (10.0, 1.0)


@pytest.mark.aws("AWS-243")
def test_a_config_map_of_025_says_everything() -> None:
    found, core = read_config_map(
        {
            **GLOBAL,
            "aws.clusterEndpoint": "https://example.com",
            "aws.defaultInstanceProfile": "profile",
            "aws.enablePodENI": "true",
            "aws.enableENILimitedPodDensity": "false",
            "aws.isolatedVPC": "true",
            "aws.nodeNameConvention": "resource-name",
            "aws.vmMemoryOverheadPercent": "0.1",
            "aws.interruptionQueueName": "queue",
            "aws.tags": '{"tag1": "value1", "tag2": "value2"}',
            "batchMaxDuration": "30s",
            "batchIdleDuration": "5s",
            "featureGates.driftEnabled": "true",
        }
    )
    assert found == AWSSettings(
        cluster_name="mine",
        cluster_endpoint="https://example.com",
        default_instance_profile="profile",
        enable_pod_eni=True,
        eni_limited_pod_density=False,
        isolated_vpc=True,
        node_name_convention="resource-name",
        vm_memory_overhead_percent=0.1,
        interruption_queue="queue",
        tags={"tag1": "value1", "tag2": "value2"},
    )
    assert (core.batch_max_duration_s, core.batch_idle_duration_s) == (30.0, 5.0)


@pytest.mark.aws("AWS-243")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("aws.clusterName", ""),
        ("aws.clusterEndpoint", "www.example.com"),
        ("aws.nodeNameConvention", "by-taste"),
        ("aws.nodeNameConvention", ""),
        ("aws.vmMemoryOverheadPercent", "-0.01"),
        ("aws.tags", '{"tag1": 1}'),
        ("aws.tags", "tag1=value1"),
        ("aws.enablePodENI", "perhaps"),
        ("batchMaxDuration", "-10s"),
        ("batchIdleDuration", "ten"),
    ],
)
def test_a_config_map_of_025_is_refused_by_its_key(key: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=f"^ConfigMap karpenter-global-settings: {key}: "):
        read_config_map({**GLOBAL, key: value})


@pytest.mark.aws("AWS-244")
def test_053_needs_name_and_endpoint() -> None:
    given = {"CLUSTER_NAME": "mine", "CLUSTER_ENDPOINT": "https://example.com"}
    assert read_v053_options(given) == AWSSettings(cluster_name="mine", cluster_endpoint="https://example.com")
    with pytest.raises(InvalidSettings) as caught:
        read_v053_options({"CLUSTER_ENDPOINT": "example.com"})
    assert [problem.path for problem in caught.value.problems] == ["CLUSTER_NAME", "CLUSTER_ENDPOINT"]


@pytest.mark.aws("AWS-244")
def test_053_names_machines_as_it_is_told() -> None:
    given = ["--cluster-name=mine", "--cluster-endpoint=https://example.com"]
    found = read_v053_options({"AWS_NODE_NAME_CONVENTION": "resource-name"}, given)
    assert found.node_name_convention == "resource-name"
    with pytest.raises(InvalidSettings, match="ip-name or resource-name"):
        read_v053_options({"AWS_NODE_NAME_CONVENTION": "hostname"}, given)

from __future__ import annotations

from karpy_aws.descriptions import TYPES_REQUEST, read_descriptions, read_zones


def test_pages_are_read_into_types_sorted_by_name() -> None:
    pages = [{"InstanceTypes": [{"InstanceType": "m5.large"}]}, {"InstanceTypes": [{"InstanceType": "c5.large"}]}]
    found = read_descriptions(pages)
    assert [each.instance_type for each in found.types] == ["c5.large", "m5.large"]
    assert not found.problems


def test_an_entry_that_cannot_be_read_is_named_and_the_others_are_read() -> None:
    broken = {"InstanceType": "m5.large", "VCpuInfo": {"DefaultVCpus": "two"}}
    found = read_descriptions([{"InstanceTypes": [broken, {"InstanceType": "c5.large"}]}])
    assert [each.instance_type for each in found.types] == ["c5.large"]
    (problem,) = found.problems
    assert "instance type m5.large" in str(problem)
    assert "VCpuInfo.DefaultVCpus" in str(problem)


def test_zones_are_gathered_by_type() -> None:
    pages = [
        {"InstanceTypeOfferings": [{"InstanceType": "m5.large", "Location": "us-west-2b"}]},
        {"InstanceTypeOfferings": [{"InstanceType": "m5.large", "Location": "us-west-2a"}, {"Location": "x"}]},
    ]
    assert read_zones(pages) == {"m5.large": ("us-west-2a", "us-west-2b")}


def test_only_types_that_images_run_on_are_asked_for() -> None:
    filters = {each["Name"]: each["Values"] for each in TYPES_REQUEST["Filters"]}
    assert filters["processor-info.supported-architecture"] == ["x86_64", "arm64"]
    assert filters["supported-virtualization-type"] == ["hvm"]

"""What the shipped catalog promises of every size."""

from __future__ import annotations

from datetime import date
from importlib.resources import files

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes
from karpy.labels import CORE_LABELS
from karpy_azure import labels
from karpy_azure.catalog import load_catalog
from karpy_azure.labels import AZURE_LABELS


def test_it_has_the_families_that_aks_is_used_with(types: InstanceTypes) -> None:
    families = {instance_type.requirements[labels.SKU_FAMILY].single() for instance_type in types}
    assert len(types) > 200
    assert families >= {"A", "B", "D", "E", "F", "L", "M", "N"}


def test_the_general_purpose_sizes_are_there_in_all_versions(types: InstanceTypes) -> None:
    for cores in (2, 4, 8, 16, 32, 48, 64):
        for series in ("_v3", "s_v3", "_v4", "s_v4", "_v5", "s_v5"):
            assert types.by_name(f"Standard_D{cores}{series}") is not None


def test_sizes_are_sorted_and_named_once(types: InstanceTypes) -> None:
    names = [instance_type.name for instance_type in types]
    assert names == sorted(set(names))


def test_every_well_known_label_is_defined_on_every_size(types: InstanceTypes) -> None:
    wanted = (CORE_LABELS | AZURE_LABELS).well_known - {core.NODEPOOL} | {labels.SKU_HYPERV_GENERATION}
    for instance_type in types:
        assert set(instance_type.requirements) == wanted, instance_type.name


def test_every_price_is_positive_and_spot_is_below_on_demand(types: InstanceTypes) -> None:
    for instance_type in types:
        prices = {(offering.zone, offering.capacity_type): offering.price for offering in instance_type.offerings}
        assert {zone for zone, _ in prices} == {"eastus-1", "eastus-2", "eastus-3"}
        for (zone, kind), price in prices.items():
            assert price > 0
            if kind == core.SPOT:
                assert price < prices[zone, core.ON_DEMAND]


def test_every_offering_lies_within_the_requirements_of_its_size(types: InstanceTypes) -> None:
    for instance_type in types:
        for offering in instance_type.offerings:
            assert instance_type.requirements.compatible(offering.requirements) is None


def test_a_price_that_is_a_predecessors_says_so() -> None:
    sizes = {size.name: size for size in load_catalog().types}
    assert sizes["Standard_D4s_v5"].priced_as == "Standard_D4s_v4"
    assert sizes["Standard_D4s_v5"].price == sizes["Standard_D4s_v4"].price
    assert sizes["Standard_D4s_v4"].priced_as == ""


def test_the_file_says_its_source_date_and_licence() -> None:
    catalog = load_catalog()
    assert "libcloud" in catalog.source
    assert "Apache-2.0" in catalog.licence
    assert date.fromisoformat(catalog.prices_as_of) > date(2025, 1, 1)


def test_the_data_is_small_and_has_a_notice() -> None:
    folder = files("karpy_azure").joinpath("data")
    sizes = {item.name: len(item.read_bytes()) for item in folder.iterdir()}
    assert "synthetic" in folder.joinpath("NOTICE.md").read_text()
    assert sum(sizes.values()) < 200_000

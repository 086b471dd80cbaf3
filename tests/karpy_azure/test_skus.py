from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from karpy.errors import InvalidObject
from karpy_azure.skus import SkuName, parse_size, parse_sku_name


@pytest.mark.parametrize(
    ("size", "family", "cores", "features", "accelerator", "version", "series"),
    [
        ("D2_v4", "D", 2, "", "", "v4", "D_v4"),
        ("E16as_v5", "E", 16, "as", "", "v5", "Eas_v5"),
        ("E32-16s_v3", "E", 32, "s", "", "v3", "Es_v3"),
        ("NC24ads_A100_v4", "N", 24, "ads", "A100", "v4", "NCads_v4"),
        ("NC16as_T4_v3", "N", 16, "as", "T4", "v3", "NCas_v3"),
        ("DC8ads_cc_v5", "D", 8, "ads", "", "v5", "DCads_v5"),
        ("M96s_1_v3", "M", 96, "s", "", "v3", "Ms_v3"),
        ("D13_v2_Promo", "D", 13, "", "", "v2", "D_v2"),
        ("F4s", "F", 4, "s", "", "", "Fs"),
        ("NC288ds_xl_RTXPRO6000BSE_v6", "N", 288, "ds", "RTXPRO6000BSE", "v6", "NCds_v6"),
    ],
)
def test_the_parts_of_a_size(
    size: str, family: str, cores: int, features: str, accelerator: str, version: str, series: str
) -> None:
    found = parse_size(size)
    assert (found.family, found.cores, found.features) == (family, cores, features)
    assert (found.accelerator, found.version, found.series) == (accelerator, version, series)


def test_a_number_after_a_dash_is_the_cores_left_on() -> None:
    assert parse_size("E32-16s_v3").constrained == 16
    assert parse_size("E32s_v3").constrained is None


def test_the_first_version_is_not_written() -> None:
    assert parse_size("F4s").version_label == "1"
    assert parse_size("F4s_v2").version_label == "2"


def test_confidential_families_are_known() -> None:
    assert parse_size("DC8s_v3").is_confidential
    assert parse_size("EC8as_cc_v5").confidential_child
    assert not parse_size("D8s_v3").is_confidential


@pytest.mark.parametrize("size", ["", "D", "d2_v4", "D_v4", "D2_v10", "D2s__v3", "D2k_v5", "D٣_v4", "Standard_D2_v4"])
def test_what_is_not_in_the_grammar_is_refused(size: str) -> None:
    with pytest.raises(InvalidObject, match="cannot be parsed"):
        parse_size(size)


def test_a_full_name_needs_a_tier() -> None:
    assert parse_sku_name("Standard_D2_v4").name == "Standard_D2_v4"
    with pytest.raises(InvalidObject, match="has no tier"):
        parse_sku_name("D2_v4")


def test_the_answers_of_karpenter_itself(shared: Path) -> None:
    with (shared / "data" / "vectors" / "azure" / "sku_names.jsonl").open("rb") as lines:
        for vector in map(msgspec.json.decode, lines):
            expected = vector["expect"]
            found = _parsed(vector["in"]["size"])
            assert (found is None) == ("error" in expected), vector["name"]
            if found is not None:
                assert _told(found) == {key: expected[key] for key in _told(found)}, vector["name"]


def _parsed(size: str) -> SkuName | None:
    try:
        return parse_size(size)
    except InvalidObject:
        return None


def _told(found: SkuName) -> dict[str, object]:
    return {
        "family": found.family,
        "subfamily": found.subfamily or None,
        "cpus": str(found.cores),
        "cpusConstrained": None if found.constrained is None else str(found.constrained),
        "features": found.features,
        "accelerator": found.accelerator or None,
        "version": found.version,
        "labelVersion": found.version_label,
        "series": found.series,
        "confidential": found.is_confidential,
        "confidentialChild": found.confidential_child,
        "promo": found.promo,
    }

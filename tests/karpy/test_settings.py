from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy.settings import Settings


def test_pods_that_claim_devices_cannot_be_asked_for() -> None:
    assert Settings(ignore_dra_requests=True) == Settings()
    with pytest.raises(InvalidObject, match=r"Settings: ignore_dra_requests: found False: .* \(accepted: True\)"):
        Settings(ignore_dra_requests=False)


def test_feature_gates_are_switched_by_karpenters_names() -> None:
    switched = Settings(node_overlay=True).with_feature_gates("CapacityBuffer=true, ReservedCapacity=false")
    assert switched == Settings(node_overlay=True, capacity_buffer=True, reserved_capacity=False)
    assert switched.with_feature_gates("") == switched


def test_what_karpenter_sets_by_default_is_taken_and_changes_nothing() -> None:
    defaults = (
        "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,"
        "NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false"
    )
    assert Settings().with_feature_gates(defaults) == Settings()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "NodeOverlays=true",
            (
                "found 'NodeOverlays' (accepted: CapacityBuffer, NodeOverlay, NodeRepair, ReservedCapacity, "
                "SpotToSpotConsolidation, StaticCapacity)"
            ),
        ),
        ("NodeOverlay", "NodeOverlay: found '' (accepted: true or false)"),
        ("NodeOverlay=True", "NodeOverlay: found 'True' (accepted: true or false)"),
    ],
)
def test_a_gate_that_cannot_be_switched_is_refused_by_name(text: str, complaint: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        Settings().with_feature_gates(text)
    assert str(refused.value) == complaint


NUMBERS = {field.name: field for field in attrs.fields(Settings) if type(field.default) in (int, float)}
POSITIVE = (
    *("launch_timeout_s", "registration_timeout_s", "registration_rest_s", "disruption_poll_s"),
    *("replacement_timeout_s", "longest_replacement_timeout_s", "max_instance_types"),
    *("spot_to_spot_flexibility", "disruption_work", "balanced_k"),
)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, True, None, "x", float("nan"), float("inf"), [1]])
def test_what_is_no_number_that_makes_sense_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(
        InvalidObject, match=rf"^Settings: {name}: found .* \(accepted: a (whole )?number (from|above) "
    ):
        Settings(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NUMBERS)
def test_zero_is_accepted_where_it_means_something(name: str) -> None:
    if name in POSITIVE:
        with pytest.raises(InvalidObject, match=name):
            Settings(**{name: 0})  # type: ignore[arg-type]
    else:
        assert getattr(Settings(**{name: 0}), name) == 0  # type: ignore[arg-type]


def test_what_is_accepted_is_told() -> None:
    def complaint(**given: object) -> str:
        with pytest.raises(InvalidObject) as refused:
            Settings(**given)  # type: ignore[arg-type]
        return str(refused.value)

    assert complaint(expiry_spread=1.1) == "Settings: expiry_spread: found 1.1 (accepted: a number from 0 to 1)"
    assert complaint(launch_timeout_s=-5) == "Settings: launch_timeout_s: found -5 (accepted: a number above 0)"
    told = "Settings: registration_failures_allowed: found 0.5 (accepted: a whole number from 0 on)"
    assert complaint(registration_failures_allowed=0.5) == told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"static_capacity": "false"}, "Settings: static_capacity: found 'false' (accepted: True or False)"),
        ({"replace_before_drain": 1}, "Settings: replace_before_drain: found 1 (accepted: True or False)"),
        ({"scheduler_config": 5}, "Settings: scheduler_config: found 5 (accepted: text)"),
        ({"packing": None}, "Settings: packing: found null (accepted: text)"),
    ],
)
def test_switches_and_texts_are_nothing_else(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        Settings(**wrong)
    assert str(caught.value) == told

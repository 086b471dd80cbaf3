from __future__ import annotations

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
            "found 'NodeOverlays' (accepted: CapacityBuffer, NodeOverlay, NodeRepair, ReservedCapacity, StaticCapacity)",
        ),
        ("NodeOverlay", "NodeOverlay: found '' (accepted: true or false)"),
        ("NodeOverlay=True", "NodeOverlay: found 'True' (accepted: true or false)"),
        (
            "SpotToSpotConsolidation=true",
            "SpotToSpotConsolidation: found 'true', and karpy does not have this yet (accepted: false)",
        ),
    ],
)
def test_a_gate_that_cannot_be_switched_is_refused_by_name(text: str, complaint: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        Settings().with_feature_gates(text)
    assert str(refused.value) == complaint


@pytest.mark.parametrize("spread", [-0.1, 1.1, float("nan")])
def test_machines_cannot_lose_more_than_their_life(spread: float) -> None:
    with pytest.raises(InvalidObject, match=r"Settings: expiry_spread: found .* \(accepted: a number from 0 to 1\)"):
        Settings(expiry_spread=spread)

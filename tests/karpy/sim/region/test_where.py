from __future__ import annotations

import pytest

from karpy.sim.region.where import Where

KEY = ("c-4x-amd64", "sim-1a", "spot")


@pytest.mark.parametrize(
    "where",
    [
        Where(),
        Where("c-4x-amd64"),
        Where("c-*"),
        Where("m-*|c-*-amd64", "sim-1?", "spot"),
        Where(zone="sim-1a"),
    ],
)
def test_words_that_are_empty_names_or_patterns_mean_offerings(where: Where) -> None:
    assert KEY in where


@pytest.mark.parametrize(
    "where", [Where("c-4x"), Where("m-*|s-*"), Where(zone="sim-1b"), Where("c-*", "", "on-demand")]
)
def test_every_word_must_fit(where: Where) -> None:
    assert KEY not in where

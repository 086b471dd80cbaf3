"""Values of options that several commands share."""

from __future__ import annotations

import math

from karpy.cli.bad_input import BadInput
from karpy.cloud.model import load_models
from karpy.errors import InvalidObject
from karpy.kube.crds import core_crds
from karpy.objects.duration import parse_duration
from karpy.objects.manifest import Schemas, schemas_of

__all__ = ["known_schemas", "parse_seconds", "parse_speed"]

MAX_SPEED = "max"


def parse_speed(text: str, *, may_be_max: bool = False) -> float | None:
    """Virtual seconds in a second; None is as fast as can be.

    Raises:
        BadInput: it is neither a number above zero nor ``max`` where that is allowed.
    """
    if may_be_max and text == MAX_SPEED:
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not (math.isfinite(speed) and speed > 0):
        accepted = f"a number above 0, or {MAX_SPEED}" if may_be_max else "a number above 0"
        raise BadInput(f"--speed: found {text!r} (accepted: {accepted})")
    return speed


def parse_seconds(option: str, text: str | None) -> float | None:
    """Seconds of a duration such as ``1h30m``; None when the option was not given.

    Raises:
        BadInput: it is no duration, or not above zero.
    """
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except InvalidObject as error:
        raise BadInput(f"{option}: {error}") from None
    if seconds <= 0:
        raise BadInput(f"{option}: found {text!r} (accepted: a duration above 0, such as 1h30m)")
    return seconds


def known_schemas() -> Schemas:
    """The schemas of karpy's own kinds and of the installed clouds' node classes, to check manifests with."""
    return schemas_of((*core_crds(), *(crd for model in load_models() for crd in model.crds())))

"""Options that say what karpy does beyond the usual, and as which settings; the same for every command that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from karpy.cli.bad_input import BadInput
from karpy.errors import InvalidObject
from karpy.settings import FEATURE_GATES, Settings

__all__ = ["FeatureGates", "SchedulerConfig", "settings_of"]

FeatureGates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        metavar="GATE=true,...",
        help=f"Switch features on or off: {', '.join(sorted(FEATURE_GATES))}.",
    ),
]
SchedulerConfig = Annotated[
    Path | None,
    typer.Option(
        "--scheduler-config",
        metavar="FILE",
        help="How kube-scheduler spreads pods that name no constraint: in Karpenter's form, or its own file.",
    ),
]


def settings_of(feature_gates: str, scheduler_config: Path | None) -> Settings:
    """The settings that the options ask for.

    Raises:
        BadInput: a gate is not known, or the file cannot be read.
        InvalidObject: the file is no configuration of the scheduler.
    """
    settings = Settings(scheduler_config=_checked(scheduler_config) if scheduler_config is not None else "")
    try:
        return settings.with_feature_gates(feature_gates)
    except InvalidObject as error:
        raise BadInput(f"--feature-gates: {error}") from None


def _checked(path: Path) -> str:
    from karpy.objects.schedulerconfig import read_scheduler_config

    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise BadInput(f"--scheduler-config: {path} cannot be read: {reason}") from None
    read_scheduler_config(text, str(path))
    return text

"""``karpy providers``."""

from __future__ import annotations

import typer

from karpy.cloud.registry import AvailableProvider, available_providers, load_provider
from karpy.errors import KarpyError
from karpy.report.table import table

__all__ = ["providers"]


def providers() -> None:
    """List the cloud providers that are installed, and whether each can start."""
    rows = [(each.name, f"{each.distribution} {each.version}", _state(each)) for each in available_providers()]
    typer.echo(table(("NAME", "DISTRIBUTION", "STATE"), rows))


def _state(provider: AvailableProvider) -> str:
    try:
        load_provider(provider.name)
    except KarpyError as error:
        return str(error)
    return "ready"

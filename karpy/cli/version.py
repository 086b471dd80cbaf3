"""``karpy version``."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, distribution

import typer

__all__ = ["version"]

_SHOWN = ("kubernetes", "boto3", "azure-mgmt-compute")


def version() -> None:
    """Print the versions of karpy, Python, and the libraries that speak to clusters and clouds."""
    typer.echo(f"karpy {_version('karpy')}")
    typer.echo(f"python {platform.python_version()}")
    for name in _SHOWN:
        typer.echo(f"{name} {_version(name)}")


def _version(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return "not installed"

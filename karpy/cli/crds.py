"""``karpy crds``."""

from __future__ import annotations

import typer

from karpy.cloud.model import load_models
from karpy.kube.crds import core_crds
from karpy.report.yaml_text import to_yaml

__all__ = ["crds"]


def crds() -> None:
    """Print the CustomResourceDefinitions of karpy and of the installed clouds, as YAML."""
    definitions = [*core_crds(), *(crd for model in load_models() for crd in model.crds())]
    typer.echo(to_yaml(definitions), nl=False)

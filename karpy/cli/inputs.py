"""Options that say which clusters a command is about; the same for every command that answers and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Catalogs", "Every", "Files", "Kubeconfig", "Line"]

Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        "-f",
        metavar="FILE...",
        help="Manifests, what kubectl get -o yaml prints, or recorded scenarios; - is standard input. "
        "Without it: the cluster of the kubeconfig.",
    ),
]
Catalogs = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where the catalogs of recorded scenarios are. By default: catalogs, beside the scenario's folder.",
    ),
]
Line = Annotated[int | None, typer.Option(metavar="N", help="Of a .jsonl file take this line, counted from 1.")]
Every = Annotated[bool, typer.Option("--all", help="Of .jsonl files take every line, one after another.")]
Kubeconfig = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Of the live cluster; by default as kubectl finds it.")
]

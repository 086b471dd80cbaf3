"""Output that nobody reads any more, as in ``karpy crds | head``."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

__all__ = ["abandon_stdout", "ending_quietly"]


def abandon_stdout() -> None:
    """Let what is still to be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def ending_quietly(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which ends well when its output is closed: whoever read it has seen enough."""

    @functools.wraps(command)
    def quiet(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except BrokenPipeError:
            abandon_stdout()
            raise typer.Exit(0) from None

    return quiet

"""Output that nobody reads any more, as in ``karpy crds | head``."""

from __future__ import annotations

import os
import sys

__all__ = ["abandon_stdout"]


def abandon_stdout() -> None:
    """Let what is still to be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""In which order planned machines are filled: the strategy of a solve."""

from __future__ import annotations

import enum

__all__ = ["Packing"]


class Packing(enum.Enum):
    """Which of the machines that are planned already a pod goes to. A new one is opened only where none of them will do."""

    THRIFTY = "thrifty"
    """First into room that is paid for already; else where one more pod adds the least to the price."""
    KARPENTER = "karpenter"
    """The machine with the fewest pods, as Karpenter does it: machines fill evenly."""

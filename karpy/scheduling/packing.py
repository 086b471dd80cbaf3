"""In which order planned machines are filled: the strategy of a solve."""

from __future__ import annotations

import enum

from karpy.errors import InvalidObject

__all__ = ["Packing"]


class Packing(enum.Enum):
    """Which of the machines that are planned already a pod goes to."""

    THRIFTY = "thrifty"
    """First into room that is paid for already; else where one more pod adds the least to the price. A machine is opened only
    where none that is planned will do."""
    FRUGAL = "frugal"
    """The same, but a machine is also opened where another would become many times as dear as what is on it: fewer dollars, and
    more machines than Karpenter's order makes."""
    KARPENTER = "karpenter"
    """The machine with the fewest pods, as Karpenter does it: machines fill evenly."""

    @classmethod
    def named(cls, name: Packing | str) -> Packing:
        """The packing of this name.

        Raises:
            InvalidObject: there is none.
        """
        try:
            return cls(name)
        except ValueError:
            accepted = ", ".join(sorted(packing.value for packing in cls))
            raise InvalidObject(f"found {name!r}", path="packing", accepted=accepted) from None

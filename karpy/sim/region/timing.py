"""How long things take in the simulated cloud."""

from __future__ import annotations

import attrs

__all__ = ["Timing"]


@attrs.frozen
class Timing:
    """Ranges of seconds from which delays are drawn."""

    boot: tuple[float, float] = (25.0, 45.0)
    """From launch until the Node appears."""
    ready: tuple[float, float] = (4.0, 9.0)
    """From there until it is ready."""
    terminate: tuple[float, float] = (6.0, 14.0)
    """From the request until the machine is gone."""

"""Settings: one frozen value, read once and handed on. Names and defaults are Karpenter's flags (core specification 8.2)."""

from __future__ import annotations

import attrs

__all__ = ["Settings"]


@attrs.frozen(kw_only=True)
class Settings:
    """Durations are seconds."""

    batch_idle_duration_s: float = 1.0
    """A batch of pending pods is closed when no new one came for so long."""
    batch_max_duration_s: float = 10.0
    """And in any case after so long."""
    max_instance_types: int = 600
    """How many of the cheapest feasible types a launch keeps."""
    launch_timeout_s: float = 300.0
    registration_timeout_s: float = 900.0
    disruption_poll_s: float = 10.0
    """How often nodes are looked at for disruption while nothing happens."""
    validation_delay_s: float = 15.0
    """A command must still be right so long after it was found."""
    replacement_timeout_s: float = 600.0
    node_overlay: bool = False
    """Feature gate NodeOverlay: whether NodeOverlays count."""

    @property
    def nomination_window_s(self) -> float:
        """How long a node that pods were planned onto is safe from disruption."""
        return max(2 * self.batch_max_duration_s, 10.0)

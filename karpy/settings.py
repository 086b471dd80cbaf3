"""Settings: one frozen value, read once and handed on. Names and defaults are Karpenter's flags (core specification 8.2)."""

from __future__ import annotations

import attrs

from karpy.errors import InvalidObject

__all__ = ["Settings"]


@attrs.frozen(kw_only=True)
class Settings:
    """Durations are seconds. Features that Karpenter has behind a gate are off unless set."""

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
    scheduler_config: str = ""
    """How kube-scheduler spreads pods that name no constraint: the text of its configuration, read when the operator starts."""
    ignore_dra_requests: bool = attrs.field(default=True)
    """Pods that claim devices are refused, and DaemonSets that do are left out."""

    @ignore_dra_requests.validator
    def _has_no_allocator(self, _attribute: object, value: bool) -> None:
        """Without an allocator for devices, to take such pods as others would buy machines that they cannot run on."""
        if value is not True:
            raise InvalidObject(
                f"found {value!r}: karpy cannot allocate the devices of resource claims yet",
                path="ignore_dra_requests",
                object_name="Settings",
                accepted="True",
            )

    packing: str = ""
    """In which order planned machines are filled: ``thrifty``, ``frugal`` or ``karpenter`` (see
    `karpy.scheduling.packing.Packing`); empty for karpy's own choice among those that take no more machines than Karpenter."""
    capacity_buffer: bool = False
    """Feature gate CapacityBuffer: room is kept ready for the pods that CapacityBuffers describe."""
    node_overlay: bool = False
    """Feature gate NodeOverlay: whether NodeOverlays count."""

    @property
    def nomination_window_s(self) -> float:
        """How long a node that pods were planned onto is safe from disruption."""
        return max(2 * self.batch_max_duration_s, 10.0)

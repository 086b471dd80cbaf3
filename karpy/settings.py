"""Settings: one frozen value, read once and handed on. Names and defaults are Karpenter's flags (core specification 8.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import attrs

from karpy.errors import InvalidObject, shown

__all__ = ["FEATURE_GATES", "Settings"]

FEATURE_GATES: Mapping[str, str] = {
    "CapacityBuffer": "capacity_buffer",
    "NodeOverlay": "node_overlay",
    "NodeRepair": "node_repair",
    "ReservedCapacity": "reserved_capacity",
    "SpotToSpotConsolidation": "spot_to_spot_consolidation",
    "StaticCapacity": "static_capacity",
}
"""Karpenter's feature gates that karpy has, and the setting that each of them switches."""


def _number(
    *, least: float = 0.0, most: float = math.inf, above: bool = False, whole: bool = False
) -> Callable[[object, attrs.Attribute[Any], object], None]:
    """Refuses what is no finite number from ``least`` to ``most``; ``above``: ``least`` itself is refused too."""
    kind = "a whole number" if whole else "a number"
    bounds = f"above {least:g}" if above else f"from {least:g}"
    accepted = f"{kind} {bounds}{f' to {most:g}' if math.isfinite(most) else '' if above else ' on'}"

    def check(_settings: object, field: attrs.Attribute[Any], value: object) -> None:
        is_number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not is_number or not _is_within(cast("float", value)):
            raise InvalidObject(f"found {shown(value)}", path=field.name, object_name="Settings", accepted=accepted)

    def _is_within(value: float) -> bool:
        return (least < value if above else least <= value) and value <= most and value < math.inf

    return check


def _one_of(*accepted: str) -> Callable[[object, attrs.Attribute[Any], object], None]:
    def check(_settings: object, field: attrs.Attribute[Any], value: object) -> None:
        if value not in accepted:
            raise InvalidObject(
                f"found {shown(value)}", path=field.name, object_name="Settings", accepted=" or ".join(accepted)
            )

    return check


_PLAIN: Mapping[object, tuple[type, str]] = {"bool": (bool, "True or False"), "str": (str, "text")}


def _typed(_class: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Switches and texts are refused when they are something else: 'false' would switch a feature on."""
    return [
        field.evolve(validator=_of(*_PLAIN[field.type])) if field.validator is None and field.type in _PLAIN else field
        for field in fields
    ]


def _of(type_: type, accepted: str) -> Callable[[object, attrs.Attribute[Any], object], None]:
    def check(_settings: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, type_):
            raise InvalidObject(f"found {shown(value)}", path=field.name, object_name="Settings", accepted=accepted)

    return check


@attrs.frozen(kw_only=True, field_transformer=_typed)
class Settings:
    """Durations are seconds. Features that Karpenter has behind a gate are off unless set."""

    batch_idle_duration_s: float = attrs.field(default=1.0, validator=_number())
    """A batch of pending pods is closed when no new one came for so long."""
    batch_max_duration_s: float = attrs.field(default=10.0, validator=_number())
    """And in any case after so long."""
    progressive_launch: bool = True
    """Whether planned machines that are full are launched while the batch is still held open by pods that keep coming."""
    foresee_placement: bool = True
    """Whether a plan for pods that wait allows for where kube-scheduler will put them among machines that come up together."""
    max_instance_types: int = attrs.field(default=600, validator=_number(least=1, whole=True))
    """How many of the cheapest feasible types a launch keeps."""
    launch_timeout_s: float = attrs.field(default=300.0, validator=_number(above=True))
    registration_timeout_s: float = attrs.field(default=900.0, validator=_number(above=True))
    expiry_spread: float = attrs.field(default=0.1, validator=_number(most=1))
    """Machines expire at different times within the last part of their life, which is this large: 0.1 of 30 days are 3 days. None
    gets older than ``expireAfter``. A pool's own annotation ``karpy.dev/expiry-spread`` says otherwise; 0 is Karpenter's way."""
    registration_failures_allowed: int = attrs.field(default=3, validator=_number(whole=True))
    """After so many nodes in a row that did not join, their pool rests, and others serve its pods; 0: it never does. A pool's own
    annotation ``karpy.dev/registration-failures-allowed`` says otherwise."""
    registration_rest_s: float = attrs.field(default=600.0, validator=_number(above=True))
    """How long a pool rests first; then one node is tried, and each rest after that is twice as long as the one before, at the most
    four hours."""
    disruption_poll_s: float = attrs.field(default=10.0, validator=_number(above=True))
    """How often nodes are looked at for disruption while nothing happens."""
    validation_delay_s: float = attrs.field(default=15.0, validator=_number())
    """A command must still be right so long after it was found."""
    replacement_timeout_s: float = attrs.field(default=600.0, validator=_number(above=True))
    """A command whose replacements are not ready after so long is undone; where very many nodes are to go at the same time, after
    `replacement_timeout_per_node_s` for each of them, and at the latest after `longest_replacement_timeout_s`."""
    replacement_timeout_per_node_s: float = attrs.field(default=0.08, validator=_number())
    longest_replacement_timeout_s: float = attrs.field(default=3600.0, validator=_number(above=True))
    replace_before_drain: bool = False
    """Whether a node that is deleted, or expires, is drained only when its pods have a place on nodes that are up, or after
    `replacement_timeout_s`. A pool's annotation ``karpy.dev/replace-before-drain`` ("true" or "false") decides for its nodes."""
    churn_control: str = attrs.field(default="off", validator=_one_of("off", "on"))
    """Whether nodes are moved around less than Karpenter would, by karpy's own rules (docs/churn.md). A pool's annotation
    ``karpy.dev/churn-control`` says otherwise."""
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

    respect_preferences: bool = True
    """Whether what pods merely prefer counts (flag preference-policy)."""
    strict_min_values: bool = True
    """Whether a ``minValues`` that cannot be met refuses the pods, and is not lowered (flag min-values-policy)."""
    packing: str = ""
    """In which order planned machines are filled: ``thrifty``, ``frugal`` or ``karpenter`` (see
    `karpy.scheduling.packing.Packing`); empty for karpy's own choice among those that take no more machines than Karpenter."""
    capacity_buffer: bool = False
    """Feature gate CapacityBuffer: room is kept ready for the pods that CapacityBuffers describe."""
    node_overlay: bool = False
    """Feature gate NodeOverlay: whether NodeOverlays count."""
    node_repair: bool = False
    """Feature gate NodeRepair: whether nodes that their cloud calls unhealthy are replaced."""
    static_capacity: bool = False
    """Feature gate StaticCapacity: whether pools that name a number of replicas are served."""
    reserved_capacity: bool = True
    """Feature gate ReservedCapacity: whether reservations are counted, so that none is promised twice."""

    spot_to_spot_consolidation: bool = False
    """Feature gate SpotToSpotConsolidation: whether a spot node may be replaced by a cheaper spot node."""
    spot_to_spot_flexibility: int = attrs.field(default=15, validator=_number(least=1, whole=True))
    """And only if so many cheaper instance types would do, so that what comes is not replaced again at once."""
    multi_node_candidates: int = attrs.field(default=100, validator=_number(whole=True))
    """How many nodes are looked at together, to see whether their pods fit elsewhere; 0: all."""
    disruption_work: int = attrs.field(default=500_000, validator=_number(least=1, whole=True))
    """How many pods a pass of disruption puts somewhere on paper; the nodes that it does not come to are the first of the next."""
    balanced_k: float = attrs.field(default=2.0, validator=_number(above=True))
    """Policy Balanced: what a command saves, as a part of what its pool costs, must be at least 1/k of what it disturbs, as a part
    of all that could be disturbed there."""

    cluster_state_observability: bool = True
    """Whether there are gauges of nodes, pods and pools, and metrics of conditions (the flag disable-cluster-state-observability
    switches them off)."""

    @property
    def nomination_window_s(self) -> float:
        """How long a node that pods were planned onto is safe from disruption."""
        return max(2 * self.batch_max_duration_s, 10.0)

    def with_feature_gates(self, text: str) -> Settings:
        """These settings with gates switched as in ``NodeOverlay=true,CapacityBuffer=false``; the others stay as they are.

        Unlike Karpenter, which ignores a gate that it does not know, this refuses it: a name with a slip would switch nothing.

        >>> Settings().with_feature_gates("NodeOverlay=true").node_overlay
        True

        Raises:
            InvalidObject: naming the gate, what was found and what is accepted.
        """
        switched: dict[str, Any] = {}
        for part in filter(None, map(str.strip, text.split(","))):
            name, _, value = map(str.strip, part.partition("="))
            if name not in FEATURE_GATES:
                raise InvalidObject(f"found {shown(name)}", accepted=", ".join(sorted(FEATURE_GATES)))
            if value not in ("true", "false"):
                raise InvalidObject(f"found {shown(value)}", path=name, accepted="true or false")
            switched[FEATURE_GATES[name]] = value == "true"
        return attrs.evolve(self, **switched)

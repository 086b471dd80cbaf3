"""`RecentTemplates`: what `launch_templates` made lately, so that a pool that grows does not have it made for every machine."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType
from karpy_aws.launchtemplates import LaunchTemplate, launch_templates
from karpy_aws.templatedata import TemplateSettings
from karpy_aws.templategroups import KubeletOf

__all__ = ["RecentTemplates"]

_MOST: Final = 16


@attrs.frozen
class _Made:
    settings: TemplateSettings
    types: Sequence[InstanceType]
    templates: tuple[LaunchTemplate, ...]

    def is_for(self, types: Sequence[InstanceType], settings: TemplateSettings) -> bool:
        return (
            settings == self.settings
            and len(types) == len(self.types)
            and all(map(_are_started_alike, types, self.types))
        )


def _are_started_alike(one: InstanceType, other: InstanceType) -> bool:
    """Offerings may differ. Identity will do: a type keeps its parts for as long as it stays what it is."""
    return one.name == other.name and one.requirements is other.requirements and one.capacity is other.capacity


class RecentTemplates:
    """Called from many threads. What the kubelet is told must follow from the types and the class."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[_Made] = deque(maxlen=_MOST)

    def templates(
        self, types: Sequence[InstanceType], settings: TemplateSettings, kubelet_of: KubeletOf
    ) -> tuple[LaunchTemplate, ...]:
        """As `launch_templates` makes them, and raises what it raises. Those of reservations are made anew: they run out."""
        if settings.capacity_type == core.RESERVED:
            return launch_templates(types, settings, kubelet_of)
        with self._lock:
            recent = tuple(self._recent)
        known = next((made for made in recent if made.is_for(types, settings)), None)
        if known is None:
            known = _Made(settings, tuple(types), launch_templates(types, settings, kubelet_of))
            with self._lock:
                self._recent.appendleft(known)
        return known.templates

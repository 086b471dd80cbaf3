"""`Upkeep`: what a provider does now and then beside what it is asked for: asking AWS again, and clearing away what nobody needs.

It has no threads. Slow calls of the provider take the turns that are due; what every solve asks for waits only the first time.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Final

from karpy.clock import Clock
from karpy.errors import ProviderError
from karpy_aws.clusterfacts import Cluster
from karpy_aws.imagelookup import ImageLookup
from karpy_aws.instances import Instances
from karpy_aws.profiles import Profiles
from karpy_aws.sales import SHIFTS_S, Sales
from karpy_aws.settings import AWSSettings
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.turns import Turn, Turns

__all__ = ["Upkeep"]

_IMAGES_S: Final = 1_800.0
_TEMPLATES_S: Final = 120.0
_PROFILES_S: Final = 1_800.0


class Upkeep:
    """``log`` is a structlog logger."""

    def __init__(
        self,
        settings: AWSSettings,
        clock: Clock,
        log: Any,
        *,
        cluster: Cluster,
        sales: Sales,
        images: ImageLookup,
        templates: LaunchTemplateCache,
        profiles: Profiles,
        instances: Instances,
    ) -> None:
        self._clock = clock
        self._log = log
        self._cluster = cluster
        self._sales = sales
        self._profiles = profiles
        self._instances = instances
        self._lock = threading.Lock()
        self._profile_named: dict[str, float] = {}
        """When a class last named a profile. One that none has named for half an hour is no class's any more."""
        self._last_failure = ""
        self._market = Turns(clock, sales.turns(), self._failed)
        shifts = [Turn("zonal shifts", SHIFTS_S, self._refresh_shifts)] if settings.enable_zonal_shift else []
        self._shifts = Turns(clock, shifts, self._failed)
        chores = [
            Turn("launch templates of an earlier life", math.inf, templates.load),
            Turn("newest images", _IMAGES_S, images.forget_deprecated, first_s=_IMAGES_S),
            Turn("launch templates", _TEMPLATES_S, templates.collect, first_s=_TEMPLATES_S),
        ]
        if not settings.isolated_vpc:  # not before every class was looked up: what is not known to be needed goes
            chores.append(Turn("instance profiles", _PROFILES_S, self._collect_profiles, first_s=_PROFILES_S))
        self._chores = Turns(clock, chores, self._failed)

    def at_any_call(self) -> None:
        """What must not wait: which zones to keep out of."""
        self._shifts.take()

    def at_slow_calls(self) -> None:
        """Everything that is due."""
        self._market.take()
        self._chores.take()

    def ensure_sales(self) -> None:
        """Wait until EC2 has told what it sells, if it never did.

        Raises:
            ProviderError: it does not.
        """
        self._shifts.take()
        if self._sales.are_known:
            return
        self._market.take(wait=True)
        if not self._sales.are_known:
            raise ProviderError(f"it is not known yet what EC2 sells: {self._last_failure or 'it lists nothing'}")

    def profile_needed(self, name: str) -> None:
        """A class has this profile now."""
        with self._lock:
            self._profile_named[name] = self._clock.now()

    def _refresh_shifts(self) -> None:
        self._sales.refresh_shifts(self._cluster.facts())

    def _collect_profiles(self) -> None:
        since = self._clock.now() - _PROFILES_S
        with self._lock:
            self._profile_named = {name: at for name, at in self._profile_named.items() if at > since}
            current = set(self._profile_named)
        in_use = {machine.instance_profile for machine in self._instances.list()}
        for name in self._profiles.collect_garbage(current, in_use):
            self._log.info("deleted instance profile", instance_profile=name)

    def _failed(self, turn: Turn, error: Exception) -> None:
        self._last_failure = str(error)
        self._log.warning("asking AWS failed, what was known stays", what=turn.name, error=str(error))

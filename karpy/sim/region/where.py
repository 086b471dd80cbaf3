"""`Where`: some of what a cloud sells, by patterns."""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase

import attrs

from karpy.cloud.instancetype import InstanceType, Offering
from karpy.sim.region.terse import Terse

__all__ = ["OfferingKey", "Where", "key_of", "matches"]

OfferingKey = tuple[str, str, str]
"""Instance type, zone, capacity type."""


def key_of(instance_type: InstanceType, offering: Offering) -> OfferingKey:
    return instance_type.name, offering.zone, offering.capacity_type


@attrs.frozen(repr=False)
class Where(Terse):
    """Some offerings. Each word is empty for all, a name, a pattern (``c-*``), or several with ``|`` between.

    >>> ("c-4x", "sim-1a", "spot") in Where("m-*|c-*", capacity_type="spot")
    True
    """

    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""

    def __contains__(self, key: OfferingKey) -> bool:
        name, zone, capacity_type = key
        return (
            matches(self.instance_type, name)
            and matches(self.zone, zone)
            and matches(self.capacity_type, capacity_type)
        )


@functools.lru_cache(maxsize=65_536)
def matches(pattern: str, name: str) -> bool:
    """Whether ``name`` is meant.

    >>> matches("", "c-4x"), matches("c-*", "c-4x"), matches("m-4x|s-*", "c-4x")
    (True, True, False)
    """
    return not pattern or any(fnmatchcase(name, each) for each in pattern.split("|"))

"""How many calls a cloud takes: token buckets, as EC2 and Azure Resource Manager have them."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence

import attrs

from karpy.errors import Throttled
from karpy.sim.region.terse import Terse, at_least_one, kind_of, positive

__all__ = ["ARM_LIMITS", "EC2_LIMITS", "CloudCall", "Limiter", "Throttle"]


class CloudCall(enum.StrEnum):
    """What a provider asks of a cloud."""

    CREATE = "create"
    DELETE = "delete"
    GET = "get"
    LIST = "list"


@attrs.frozen(repr=False)
class Throttle(Terse):
    """A bucket of tokens that these calls share: each takes one, and while there is none they are refused."""

    calls: tuple[str, ...]
    burst: int = attrs.field(validator=at_least_one)
    """How many tokens it holds."""
    per_s: float = attrs.field(validator=positive)
    """How many are put back in a second."""
    says_when: bool = False
    """Whether the answer tells how long to wait (ARM's Retry-After), or leaves that to be guessed (EC2)."""

    def __attrs_post_init__(self) -> None:
        for call in self.calls:
            kind_of(CloudCall, call)


EC2_LIMITS = (
    Throttle(("create",), burst=1000, per_s=2.0),
    Throttle(("delete",), burst=100, per_s=5.0),
    Throttle(("get",), burst=100, per_s=20.0),
    Throttle(("list",), burst=100, per_s=20.0),
)
"""A bucket for each action of an account in a region: machines launched, terminations, and the two ways to describe."""

ARM_LIMITS = (
    Throttle(("create",), burst=200, per_s=10.0, says_when=True),
    Throttle(("delete",), burst=200, per_s=10.0, says_when=True),
    Throttle(("get", "list"), burst=250, per_s=25.0, says_when=True),
)
"""A bucket for the writes, the deletes and the reads of a subscription."""


@attrs.define
class _Bucket:
    throttle: Throttle
    tokens: float
    filled_at: float

    def missing(self, now: float) -> float:
        """How much of a token there is still to wait for."""
        put_back = (now - self.filled_at) * self.throttle.per_s
        self.tokens = min(self.tokens + put_back, float(self.throttle.burst))
        self.filled_at = now
        return max(1.0 - self.tokens, 0.0)


class Limiter:
    """Lets calls in as long as there are tokens for them, and counts them."""

    def __init__(self, throttles: Sequence[Throttle] = (), now: float = 0.0) -> None:
        self._buckets = [_Bucket(throttle, float(throttle.burst), now) for throttle in throttles]
        self.calls: Counter[str] = Counter()
        """Calls by name, those that were refused too."""
        self.refused: Counter[str] = Counter()

    def admit(self, call: CloudCall, now: float) -> None:
        """Take a token of every bucket that the call shares.

        Raises:
            Throttled: one of them is empty.
        """
        self.calls[call.value] += 1
        buckets = [bucket for bucket in self._buckets if call in bucket.throttle.calls]
        for bucket in buckets:
            missing = bucket.missing(now)
            if missing > _RESIDUE:
                self.refused[call.value] += 1
                raise _refusal(call, bucket.throttle, missing)
        for bucket in buckets:
            bucket.tokens -= 1

    def clear_up(self) -> None:
        """Let every call in from now on."""
        self._buckets = []


_RESIDUE = 1e-6
"""What may be missing of a token, since time is kept in floats."""


def _refusal(call: CloudCall, throttle: Throttle, missing: float) -> Throttled:
    if not throttle.says_when:
        return Throttled(f"RequestLimitExceeded: request limit exceeded for {call.value}")
    wait_s = float(math.ceil(missing / throttle.per_s - _RESIDUE))
    return Throttled(f"TooManyRequests: too many {call.value} requests, retry after {wait_s:.0f} s", wait_s)

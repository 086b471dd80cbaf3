"""How many calls a cloud takes: token buckets, as EC2 and Azure Resource Manager have them."""

from __future__ import annotations

import enum

import attrs

from karpy.sim.terse import Terse, at_least_one, kind_of, positive

__all__ = ["ARM_LIMITS", "EC2_LIMITS", "Call", "Throttle"]


class Call(enum.StrEnum):
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
            kind_of(Call, call)


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

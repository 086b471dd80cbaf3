"""Notices: what a cloud says of machines without being asked."""

from __future__ import annotations

import attrs

from karpy.sim.terse import Span, Terse, amount, share, span

__all__ = ["Delivery"]


@attrs.frozen(repr=False)
class Delivery(Terse):
    """How notices come to whoever reads them."""

    late_s: Span = attrs.field(default=(0.0, 0.0), validator=span)
    lost: float = attrs.field(default=0.0, validator=share)
    repeated: float = attrs.field(default=0.0, validator=share)
    foreign_per_hour: float = attrs.field(default=0.0, validator=amount)
    """Notices about other people's machines, and some that nobody can read."""

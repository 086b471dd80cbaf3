"""What an account may run at a time."""

from __future__ import annotations

import attrs

from karpy.sim.terse import Terse, amount
from karpy.sim.where import Where

__all__ = ["Quota"]


@attrs.frozen(repr=False)
class Quota(Terse):
    """So many vCPU, so many machines, or both, of these offerings together."""

    where: Where = Where()
    vcpus: int | None = attrs.field(default=None, validator=attrs.validators.optional(amount))
    machines: int | None = attrs.field(default=None, validator=attrs.validators.optional(amount))

"""How a machine comes to be: when it joins, and what is wrong with it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from karpy.cloud.instancetype import InstanceType, Offering, Price, as_bought
from karpy.cloud.model import CloudModel
from karpy.objects.nodeclaim import NodeClaim
from karpy.requirements import Requirements
from karpy.sim.machines import Machine
from karpy.sim.region.terse import Span
from karpy.sim.region.timing import Timing
from karpy.sim.region.troubles import TroubleKind
from karpy.taints import UNREGISTERED, merge_taints

__all__ = ["Assembly"]


class Assembly:
    """Makes machines. Delays are drawn from the seed in the order of launches."""

    def __init__(self, timing: Timing, read_lag_s: Span, seed: int) -> None:
        self._timing = timing
        self._seed = seed
        self._dice = random.Random(f"cloud/{seed}")
        self._read_lag_s = read_lag_s

    def ends_after_s(self) -> float:
        """How long the next machine takes to terminate."""
        return self._draw(self._timing.terminate)

    def clear_up(self) -> None:
        """From now on the cloud's API is up to date."""
        self._read_lag_s = (0.0, 0.0)

    def machine(
        self,
        serial: int,
        model: CloudModel,
        claim: NodeClaim,
        bought: tuple[InstanceType, Offering],
        price: Price,
        troubles: Mapping[TroubleKind, float],
        now: float,
    ) -> Machine:
        """The machine of this number, launched now for ``claim``, with what goes wrong with it."""
        choice, offering = bought
        instance_type = as_bought(choice, offering)
        joins_at = now + self._draw(self._timing.boot) + troubles.get(TroubleKind.SLOW, 0.0)
        ready_at = joins_at + self._draw(self._timing.ready)
        joins = TroubleKind.NEVER_JOINS not in troubles
        return Machine(
            serial=serial,
            model=model.name,
            provider_id=model.provider_id(serial, offering.zone, claim.name),
            node_name=model.node_name(serial, claim.name),
            claim=claim.name,
            instance_type=instance_type,
            offering=offering,
            labels={
                **_settled(choice.requirements, claim.requirements),
                **choice.requirements.labels(),
                **offering.requirements.labels(),
            },
            taints=merge_taints(merge_taints(claim.taints, claim.startup_taints), (UNREGISTERED,)),
            price=price,
            created=now,
            joins_at=joins_at if joins else math.inf,
            ready_at=ready_at if joins else math.inf,
            image_id="sim-image",
            lag_s=self._lag_s(serial),
            joins=joins,
            memory_factor=1.0 - troubles.get(TroubleKind.LESS_MEMORY, 0.0),
            late_resources_s=_late(instance_type, troubles),
        )

    def _draw(self, span: Span) -> float:
        return round(self._dice.uniform(*span), 3)

    def _lag_s(self, serial: int) -> float:
        least, most = self._read_lag_s
        return round(random.Random(f"lag/{self._seed}/{serial}").uniform(least, most), 3) if most else 0.0


def _settled(offered: Requirements, wanted: Requirements) -> dict[str, str]:
    """Of what a type can be in several ways, such as shared or dedicated, a machine is in one: of those that the claim asks for."""
    both = {key: offered[key] & requirement for key, requirement in wanted.items() if key in offered}
    return {key: min(either.values) for key, either in both.items() if either.values and not either.complement}


def _late(instance_type: InstanceType, troubles: Mapping[TroubleKind, float]) -> dict[str, float]:
    """Extended resources are those with a domain in their name."""
    late_s = troubles.get(TroubleKind.LATE_RESOURCES)
    return {} if late_s is None else {name: late_s for name in instance_type.capacity if "/" in name}

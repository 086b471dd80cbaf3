"""Token buckets, as EC2 limits calls with: one for reads, one for changes, and one for machines that are launched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from karpy_aws.testing.refusals import Refused

__all__ = ["EC2_LIMITS", "Buckets", "Limit"]


@attrs.frozen
class Limit:
    """A bucket holds ``most`` tokens and gets ``per_second`` of them back."""

    most: float
    per_second: float


EC2_LIMITS: Final[Mapping[str, Limit]] = {
    "reads": Limit(100, 20),
    "changes": Limit(50, 5),
    "machines": Limit(1_000, 2),
}


@attrs.define
class Buckets:
    """What is left of each limit."""

    limits: Mapping[str, Limit] = EC2_LIMITS
    _left: dict[str, tuple[float, float]] = attrs.field(factory=dict)

    def spend(self, operation: str, request: Mapping[str, Any], now: float) -> None:
        """Take what a call costs, or refuse it when there is not enough."""
        costs = _costs(operation, request)
        left = {name: self._refilled(name, now) for name in costs}
        if any(left[name] < cost for name, cost in costs.items()):
            raise Refused("RequestLimitExceeded", "Request limit exceeded.", 503)
        for name, cost in costs.items():
            self._left[name] = (left[name] - cost, now)

    def _refilled(self, name: str, now: float) -> float:
        limit = self.limits[name]
        left, since = self._left.get(name, (limit.most, now))
        return min(limit.most, left + (now - since) * limit.per_second)


def _costs(operation: str, request: Mapping[str, Any]) -> dict[str, float]:
    if operation.startswith("Describe"):
        return {"reads": 1}
    if operation == "CreateFleet":
        return {"changes": 1, "machines": request["TargetCapacitySpecification"]["TotalTargetCapacity"]}
    return {"changes": 1}

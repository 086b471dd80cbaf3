"""Machines that their cloud is about to take away are given up in time: their nodes are drained, and their pods get other ones.

What is acknowledged was dealt with; a process that dies before that gets the notice again. Without a queue there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.notices import GivingNotice, Notice, NoticeKind
from karpy.controllers.base import DONE, Request, Result, Source, singleton, when_new
from karpy.controllers.shared import Shared
from karpy.errors import KarpyError, ProviderError
from karpy.metrics import INTERRUPTION_DELETED_MESSAGES, INTERRUPTION_QUEUE_DURATION, INTERRUPTION_RECEIVED_MESSAGES
from karpy.objects.kinds import NODE, NODE_CLAIM
from karpy.objects.nodeclaim import NodeClaim

__all__ = ["Interruption"]

_POLL_S = 4.0
_AT_ONCE = 10
"""How many notices are taken at a time."""


@attrs.frozen
class _Meaning:
    """What a notice says on the claim and its node, and whether the machine is given up for it."""

    reason: str
    message: str
    gives_up: bool = True


_MEANINGS: Mapping[NoticeKind, _Meaning] = {
    NoticeKind.SPOT_INTERRUPTION: _Meaning("SpotInterrupted", "Spot interruption warning was triggered"),
    NoticeKind.REBALANCE: _Meaning(
        "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered", gives_up=False
    ),
    NoticeKind.SCHEDULED_CHANGE: _Meaning("InstanceUnhealthy", "An unhealthy warning was triggered for the instance"),
    NoticeKind.STOPPED: _Meaning("InstanceStopping", "Instance is stopping"),
    NoticeKind.TERMINATED: _Meaning("InstanceTerminating", "Instance is terminating"),
    NoticeKind.RESERVATION_INTERRUPTION: _Meaning(
        "CapacityReservationInstanceInterrupted", "Capacity Reservation interruption warning was triggered"
    ),
}


class Interruption:
    """Reads the notices of every cloud that gives any, as long as there are claims."""

    name = "interruption"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        """The first claim begins it. From then on it wakes itself."""
        return (Source(NODE_CLAIM, when_new(singleton)),) if self._shared.clouds.giving_notice else ()

    def reconcile(self, _request: Request) -> Result:
        """Deal with what is there. One notice, or one cloud, that cannot be dealt with holds up no other."""
        if not self._shared.state.has_claims:
            return DONE
        found = [self._look(cloud) for cloud in self._shared.clouds.giving_notice]
        return Result(0 if any(found) else _POLL_S)

    def _look(self, cloud: GivingNotice) -> bool:
        """Whether there was something, and so may be more."""
        try:
            notices = cloud.messages(_AT_ONCE)
        except ProviderError as error:
            self._shared.log.error("failed to receive messages from the queue", error=str(error))
            return False
        for notice in notices:
            try:
                self._deal_with(notice, cloud)
            except KarpyError as error:  # it comes again
                self._shared.log.error("failed to handle message", error=str(error), messageKind=notice.kind.value)
        return bool(notices)

    def _deal_with(self, notice: Notice, cloud: GivingNotice) -> None:
        shared = self._shared
        shared.metrics.add(INTERRUPTION_RECEIVED_MESSAGES, message_type=notice.kind.value or "no_op")
        claim = shared.state.claim_by_provider_id(notice.provider_id) if notice.provider_id else None
        meaning = _MEANINGS.get(notice.kind)
        if claim is not None and meaning is not None and not claim.metadata.is_deleting and shared.serves(claim):
            self._tell(claim, meaning.reason, meaning.message, warning=meaning.gives_up)
            if meaning.gives_up:
                self._give_up(claim, notice)
        cloud.acknowledge(notice)
        shared.metrics.add(INTERRUPTION_DELETED_MESSAGES)
        shared.metrics.observe(INTERRUPTION_QUEUE_DURATION, max(shared.clock.now() - notice.sent, 0.0))

    def _give_up(self, claim: NodeClaim, notice: Notice) -> None:
        shared = self._shared
        shared.log.info(
            "initiating delete from interruption message",
            NodeClaim=claim.name,
            messageKind=notice.kind.value,
            capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
        )
        shared.delete_claim(claim)
        self._tell(claim, "TerminatingOnInterruption", "Interruption triggered termination for the {}", warning=True)

    def _tell(self, claim: NodeClaim, reason: str, message: str, *, warning: bool) -> None:
        """On the claim, and on its node if it has joined."""
        recorder = self._shared.recorder
        tell = recorder.warning if warning else recorder.normal
        node = self._shared.state.node_of(claim)
        for kind, about in ((NODE_CLAIM, claim.metadata), *(((NODE, node.metadata),) if node is not None else ())):
            tell(kind, about, reason, message.format(kind.kind))

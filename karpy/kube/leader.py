"""Leader election over a Lease: of several processes one acts, and one that cannot say so any more in time stops.

The rules are those of client-go. A holder that did not manage to renew for ``renew_deadline_s`` no longer leads. That is well
before the others may take over, which is when they have seen no renewal for ``lease_duration_s`` by their own clocks: nobody
compares times with another machine.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from karpy.clock import Clock
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects.kinds import LEASE

__all__ = ["ELECTION_NAME", "ELECTION_NAMESPACE", "LeaderElector"]

ELECTION_NAME = "karpenter-leader-election"
ELECTION_NAMESPACE = "kube-system"


class LeaderElector:
    """One candidate. ``clock`` must not jump: time between two looks at it is what counts."""

    def __init__(
        self,
        kube: KubeClient,
        clock: Clock,
        identity: str,
        *,
        name: str = ELECTION_NAME,
        namespace: str = ELECTION_NAMESPACE,
        lease_duration_s: float = 15.0,
        renew_deadline_s: float = 10.0,
        retry_period_s: float = 2.0,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._identity = identity
        self._name = name
        self._namespace = namespace
        self._lease_duration_s = lease_duration_s
        self._renew_deadline_s = renew_deadline_s
        self._retry_period_s = retry_period_s
        self._renewed = -math.inf
        self._seen: tuple[str, float] = ("", -math.inf)
        """The version of the lease that was seen last, and when it was seen first."""
        self.next_at = -math.inf
        """When `attend` has something to do again."""

    @property
    def is_leader(self) -> bool:
        """Whether this process may act now. To be asked before each piece of work."""
        return self._clock.now() < self._renewed + self._renew_deadline_s

    def attend(self) -> bool:
        """Try to acquire or to renew the lease if that is due; returns whether this process leads."""
        now = self._clock.now()
        if now >= self.next_at:
            self.next_at = now + self._retry_period_s
            try:
                if self._try(now):
                    self._renewed = now
            except KubeError:
                pass  # neither renewed nor lost: the deadline decides
        return self.is_leader

    def _try(self, now: float) -> bool:
        try:
            lease = self._kube.get(LEASE, self._name, self._namespace)
        except KubeError as error:
            if not error.not_found:
                raise
            self._kube.create(LEASE, self._lease({}, now), self._namespace)
            return True
        seen_at = (
            self._clock.now()
        )  # not ``now``: the answer may have been long in coming, and tell of what was only just written
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, seen_at)
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder and holder != self._identity and seen_at < self._seen[1] + self._lease_duration_s:
            return False
        self._kube.replace(LEASE, self._lease(lease, now))
        return True

    def _lease(self, old: RawObject, now: float) -> dict[str, Any]:
        """The lease as this process holds it; of ``old`` the version, so that only one of several takes it."""
        known = old.get("spec") or {}
        spec = {
            **known,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._lease_duration_s),
            "renewTime": _micro_time(now),
        }
        if known.get("holderIdentity") != self._identity:
            spec["acquireTime"] = spec["renewTime"]
            spec["leaseTransitions"] = known.get("leaseTransitions", -1) + 1
        metadata = old.get("metadata") or {"name": self._name, "namespace": self._namespace}
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


def _micro_time(seconds: float) -> str:
    """metav1.MicroTime."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

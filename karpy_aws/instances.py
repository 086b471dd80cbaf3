"""The machines that EC2 runs for this cluster: found by their tags, ended and tagged.

EC2 counts calls, and the core asks for one machine often, so that what the last list said is remembered. Nothing is gone by being
absent from an answer that failed or came too early: only EC2 saying that there is no such machine, a while after it was launched,
or that it is terminated, makes it gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.clock import Clock, SystemClock
from karpy.errors import NodeClaimNotFound, ProviderError
from karpy_aws import labels
from karpy_aws.api import EC2API, Request, items
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.machines import (
    ALIVE,
    CLUSTER_NAME_TAG,
    TERMINATING,
    Machine,
    instance_id,
    is_owned,
    read_machine,
    zone_of,
)

__all__ = ["Instances", "list_request"]

_SETTLING_S: Final = 60.0
"""For so long EC2 may not know a machine yet that it launched itself."""


def _filters(*filters: tuple[str, Iterable[str]]) -> list[dict[str, Any]]:
    return [{"Name": name, "Values": list(values)} for name, values in filters]


def list_request(cluster: str, *, legacy: bool = False) -> Request:
    """All machines of the cluster that are not gone; ``legacy``: those of Karpenter up to 0.31, by the tags of its day."""
    owned: Sequence[tuple[str, Iterable[str]]] = (
        (("tag-key", [core.PROVISIONER_NAME]), ("tag-key", [f"kubernetes.io/cluster/{cluster}"]))
        if legacy
        else (
            ("tag-key", [core.NODEPOOL]),
            ("tag-key", [labels.NODE_CLASS]),
            (f"tag:{CLUSTER_NAME_TAG}", [cluster]),
        )
    )
    return {"Filters": _filters(*owned, ("instance-state-name", ALIVE)), "MaxResults": 1_000}


def _get_request(id_: str) -> Request:
    return {"InstanceIds": [id_], "Filters": _filters(("instance-state-name", ALIVE))}


class Instances:
    """The machines of one cluster.

    ``is_shifted`` says of a zone whether traffic was shifted away from it. What EC2 says of such a zone may be wrong: what is known
    is kept, and nothing is ended or tagged there.
    """

    def __init__(
        self,
        ec2: EC2API,
        cluster: str,
        *,
        legacy: bool = False,
        reserved_capacity: bool = True,
        is_shifted: Callable[[str], bool] = lambda _zone: False,
        clock: Clock | None = None,
    ) -> None:
        self._ec2 = ec2
        self._cluster = cluster
        self._legacy = legacy
        self._reserved_capacity = reserved_capacity
        self._is_shifted = is_shifted
        self._clock = clock or SystemClock()
        self._known: dict[str, Machine] = {}
        self._is_listed = False
        self._lock = threading.Lock()
        self._looking_up = threading.Lock()

    def remember(self, machine: Machine) -> None:
        """A machine that was launched just now, which EC2 may not list yet."""
        with self._lock:
            self._known[machine.id] = machine

    def launched_for(self, claim: str) -> Machine | None:
        """The machine that was launched for a claim and is still there. What an earlier life launched is looked up once.

        Raises:
            AWSError: EC2 does not say what there is.
        """
        with self._looking_up:  # once for all launches that wait for it
            if not self._is_listed:
                self.list()
        with self._lock:
            candidates = [machine for machine in self._known.values() if machine.claim == claim]
        return next((machine for known in candidates if (machine := self._still_there(known)) is not None), None)

    def _still_there(self, known: Machine) -> Machine | None:
        try:
            machine = self.get(known.provider_id, fresh=True)
        except NodeClaimNotFound:
            return None
        return None if machine.is_terminating else machine

    def doubt(self) -> None:
        """A launch came to an end that nobody knows: look before the next one."""
        self._is_listed = False

    def known(self, id_: str) -> Machine | None:
        """The machine as it was when EC2 was last asked; None when nothing is known of it."""
        with self._lock:
            return self._known.get(id_)

    def all_known(self) -> tuple[Machine, ...]:
        """The machines as they were when EC2 was last asked."""
        with self._lock:
            return tuple(self._known.values())

    def list(self) -> tuple[Machine, ...]:
        """All machines, by id. Those that are new, or in a shifted zone, are still there when the answer misses them.

        Raises:
            AWSError: what was known stays known.
        """
        reservations = items(
            self._ec2.describe_instances, list_request(self._cluster, legacy=self._legacy), "Reservations"
        )
        machines = (self._read(entry) for reservation in reservations for entry in reservation.get("Instances") or ())
        found = {machine.id: machine for machine in machines if is_owned(machine, self._cluster, legacy=self._legacy)}
        with self._lock:
            found = {id_: _with_claim(machine, self._known.get(id_)) for id_, machine in found.items()}
            kept = {
                id_: known for id_, known in self._known.items() if self._is_new(known) or self._is_shifted(known.zone)
            }
            self._known = kept | found
            self._is_listed = True
            return tuple(machine for _, machine in sorted(self._known.items()))

    def get(self, provider: str, *, fresh: bool = False) -> Machine:
        """One machine, as it was when EC2 was last asked; ``fresh``: as it is.

        Raises:
            NodeClaimNotFound: EC2 says that it is gone.
            AWSError: EC2 says nothing.
        """
        id_ = instance_id(provider)
        with self._lock:
            known = self._known.get(id_)
        if known is not None and (not fresh or self._is_shifted(known.zone)):
            return known
        machine = self._ask(id_, known)
        with self._lock:
            if machine is None:
                self._known.pop(id_, None)
            else:
                machine = self._known[id_] = _with_claim(machine, known)
        if machine is None:
            raise NodeClaimNotFound(f"instance {id_} is gone")
        return machine

    def delete(self, provider: str) -> None:
        """Have a machine ended. Called until it raises that the machine is gone.

        Raises:
            NodeClaimNotFound: EC2 says that it is gone.
            ProviderError: nothing is ended in a zone that traffic was shifted away from, or EC2 refused.
        """
        self._leave_shifted_zones(provider, "ended")
        machine = self.get(provider, fresh=True)
        if machine.is_terminating:
            return
        try:
            self._ec2.terminate_instances({"InstanceIds": [machine.id]})
        except AWSError as error:
            raise self._told(error, machine.id) from error
        with self._lock:
            self._known[machine.id] = attrs.evolve(machine, state=TERMINATING)

    def tag(self, provider: str, tags: Mapping[str, str]) -> None:
        """Add tags to a machine.

        Raises:
            NodeClaimNotFound: EC2 says that it is gone.
            ProviderError: nothing is tagged in a zone that traffic was shifted away from, or EC2 refused.
        """
        self._leave_shifted_zones(provider, "tagged")
        id_ = instance_id(provider)
        written = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
        try:
            self._ec2.create_tags({"Resources": [id_], "Tags": written})
        except AWSError as error:
            raise self._told(error, id_) from error
        with self._lock:
            known = self._known.get(id_)
            if known is not None:
                self._known[id_] = attrs.evolve(known, tags={**known.tags, **tags})

    def _read(self, entry: Mapping[str, Any]) -> Machine:
        return read_machine(entry, reserved_capacity=self._reserved_capacity)

    def _told(self, error: AWSError, id_: str) -> ProviderError:
        """What EC2's refusal of a machine means: one that it does not know is gone, unless it is too new to be known."""
        if not error.has(ErrorClass.NOT_FOUND):
            return error
        with self._lock:
            known = self._known.get(id_)
        if known is not None and self._is_new(known):
            return ProviderError(f"EC2 does not show instance {id_} yet: {error}")
        return NodeClaimNotFound(f"instance {id_} is gone")

    def _is_new(self, machine: Machine) -> bool:
        return machine.launched + _SETTLING_S > self._clock.now()

    def _ask(self, id_: str, known: Machine | None) -> Machine | None:
        """The machine, or None when it is gone."""
        try:
            answer = self._ec2.describe_instances(_get_request(id_))
        except AWSError as error:
            if not error.has(ErrorClass.NOT_FOUND):
                raise
            return known if known is not None and self._is_new(known) else None
        found = (
            self._read(entry) for reservation in answer["Reservations"] for entry in reservation.get("Instances") or ()
        )
        return next((machine for machine in found if machine.state in ALIVE), None)

    def _leave_shifted_zones(self, provider: str, verb: str) -> None:
        zone = zone_of(provider)
        if self._is_shifted(zone):
            raise ProviderError(f"{provider} is not {verb}: traffic was shifted away from zone {zone}")


def _with_claim(machine: Machine, known: Machine | None) -> Machine:
    """EC2 does not say whom a machine was launched for until it is tagged."""
    return attrs.evolve(machine, launched_for=known.launched_for) if known and known.launched_for else machine

"""`Discovery`: what the things that a node class refers to are in the account now.

Each kind of thing is looked up by itself. One that AWS refuses to tell keeps the value that it had, so that no class loses what its
nodes run on over a refused call; only what was never known is a problem then. What AWS says is not there, is not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from karpy.clock import Clock
from karpy.errors import InvalidObject, ProviderError
from karpy_aws.api import APIs, Request, Response, items
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.imagelookup import ImageLookup
from karpy_aws.networks import FoundSubnet, group_requests, read_groups, read_subnets, subnet_requests
from karpy_aws.objects.nodeclass import NodeClass, PlacementGroupSelector
from karpy_aws.objects.status import (
    AMI,
    CapacityReservation,
    NodeClassStatusFields,
    PlacementGroup,
    SecurityGroup,
    Subnet,
)
from karpy_aws.placementgroups import placement_group_request, read_placement_group
from karpy_aws.profiles import Profiles, WantedProfile, profile_name
from karpy_aws.remembered import Answer, Remembered
from karpy_aws.reservations import ReservationCounts, available_counts, reservation_request, resolve_reservations
from karpy_aws.settings import AWSSettings
from karpy_aws.typelabels import partitions

__all__ = ["Discovered", "Discovery", "Problem"]

T = TypeVar("T")
Entries = tuple[Mapping[str, Any], ...]

_FRESH_S: Final = 60.0
_NO_GROUP: Final = "InvalidPlacementGroup"
"""How the codes begin with which EC2 says that there is no such group."""


@attrs.frozen
class Problem:
    """Why nothing can be launched from a class. Reasons are Karpenter's where it has one."""

    reason: str
    message: str
    may_pass: bool = False
    """Looking again may find another answer without anybody doing anything about it."""


@attrs.frozen(kw_only=True)
class Discovered:
    """What was found, and what is in the way of launching."""

    status: NodeClassStatusFields
    problems: tuple[Problem, ...] = ()
    kept: tuple[str, ...] = ()
    """What AWS would not say now, so that its last answer still holds: one line each."""


class _Findings:
    """Collects problems and notes while one class is looked up."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.kept: list[str] = []

    def look_up(self, what: str, ask: Callable[[], Answer[T]], known: T, none: Problem | None = None) -> T:
        """What ``ask`` answers, with the problem ``none`` if that is nothing; ``known`` where it is refused."""
        try:
            answer = ask()
        except InvalidObject as error:
            self.problems.append(Problem("ValidationFailed", str(error)))
            return known
        except ProviderError as error:
            if known:
                self.kept.append(f"{what} is still taken to be what it was: {error}")
            else:
                self.problems.append(Problem(f"{what}ResolutionFailed", str(error), error.retryable))
            return known
        if answer.error is not None:
            self.kept.append(f"{what} is still taken to be what it was: {answer.error}")
        if not answer.value and none is not None:
            self.problems.append(none)
        return answer.value


class Discovery:
    """Looks things up for the node classes of one cluster, and remembers answers for a minute. Safe to use from several threads."""

    def __init__(
        self,
        apis: APIs,
        settings: AWSSettings,
        clock: Clock,
        *,
        images: ImageLookup,
        profiles: Profiles,
        counts: ReservationCounts,
        reserved_capacity: bool = True,
        free_addresses: Callable[[Mapping[str, int]], object] = lambda _free: None,
    ) -> None:
        """``free_addresses`` is told how many addresses each subnet has left, whenever EC2 was asked."""
        self._apis = apis
        self._settings = settings
        self._clock = clock
        self._images = images
        self._profiles = profiles
        self._counts = counts
        self._reserved_capacity = reserved_capacity
        self._free_addresses = free_addresses
        self._networks: Remembered[Entries] = Remembered(clock, settings.subnet_refresh_interval_s)
        self._reservations: Remembered[Entries] = Remembered(clock, _FRESH_S)
        self._placement: Remembered[PlacementGroup | None] = Remembered(clock, _FRESH_S)

    def discover(self, node_class: NodeClass, facts: ClusterFacts) -> Discovered:
        """All of it. What could not be asked is as the class's status has it."""
        found = _Findings()
        status = attrs.evolve(
            node_class.status,
            amis=self._find_images(node_class, facts, found),
            capacity_reservations=self._find_reservations(node_class, found),
            placement_group=self._find_placement_group(node_class, found),
            subnets=self._find_subnets(node_class, found),
            security_groups=self._find_groups(node_class, found),
            instance_profile=self._find_profile(node_class, found),
        )
        return Discovered(status=status, problems=tuple(found.problems), kept=tuple(found.kept))

    def _subnets(self, node_class: NodeClass) -> Answer[tuple[FoundSubnet, ...]]:
        """The class's subnets with their free addresses.

        Raises:
            AWSError: EC2 does not tell, and never did.
            InvalidObject: a term that selects everything.
        """
        answer = self._ask(self._networks, self._describe_subnets, "Subnets", subnet_requests(node_class))
        return Answer(read_subnets(answer.value), answer.error)

    def placement_group(self, node_class: NodeClass) -> Answer[PlacementGroup | None]:
        """The class's placement group, which its status has no place for; None when it selects none, or there is none.

        Raises:
            AWSError: EC2 does not tell, and never did.
        """
        if node_class.placement_group_selector is None:
            return Answer(None)
        request = placement_group_request(node_class.placement_group_selector)
        return self._placement.ask(_question(request), lambda: self._describe_group(request))

    def has_partitions(self, group: str) -> bool:
        """Whether the machines of a placement group are in one of its partitions each.

        Raises:
            AWSError: EC2 does not tell, and never did.
        """
        request = placement_group_request(PlacementGroupSelector(id=group))
        found = self._placement.ask(_question(request), lambda: self._describe_group(request)).value
        return bool(partitions(found))

    # One kind of thing each

    def _find_images(self, node_class: NodeClass, facts: ClusterFacts, found: _Findings) -> tuple[AMI, ...]:
        if node_class.launch_template:
            return ()

        def ask() -> Answer[tuple[AMI, ...]]:
            try:
                images = self._images.images(node_class, facts.version)
            except AWSError:
                raise
            except ProviderError as error:  # nothing was refused: there are none
                found.problems.append(Problem("AMINotFound", str(error)))
                return Answer(())
            found.kept.extend(images.kept)
            if not images.images:
                found.problems.append(Problem(images.reason, images.message))
            return Answer(images.images)

        return found.look_up("AMIs", ask, node_class.status.amis)

    def _find_subnets(self, node_class: NodeClass, found: _Findings) -> tuple[Subnet, ...]:
        none = Problem("SubnetsNotFound", "SubnetSelector did not match any Subnets")
        known = tuple(
            FoundSubnet(id=each.id, zone=each.zone, zone_id=each.zone_id) for each in node_class.status.subnets
        )
        subnets = found.look_up("Subnets", lambda: self._subnets(node_class), known, none)
        return tuple(subnet.as_status for subnet in subnets)

    def _find_groups(self, node_class: NodeClass, found: _Findings) -> tuple[SecurityGroup, ...]:
        if node_class.launch_template:
            return ()

        def ask() -> Answer[tuple[SecurityGroup, ...]]:
            call, requests = self._apis.ec2.describe_security_groups, group_requests(node_class)
            answer = self._ask(self._networks, call, "SecurityGroups", requests)
            return Answer(read_groups(answer.value, node_class, self._settings.cluster_name), answer.error)

        none = Problem("SecurityGroupsNotFound", "SecurityGroupSelector did not match any SecurityGroups")
        return found.look_up("SecurityGroups", ask, node_class.status.security_groups, none)

    def _find_reservations(self, node_class: NodeClass, found: _Findings) -> tuple[CapacityReservation, ...]:
        terms = node_class.capacity_reservation_selector_terms
        if not self._reserved_capacity or not terms:
            return ()

        def ask() -> Answer[tuple[CapacityReservation, ...]]:
            answer = self._ask(
                self._reservations,
                self._describe_reservations,
                "CapacityReservations",
                [reservation_request(term) for term in terms],
            )
            return Answer(resolve_reservations(answer.value, self._clock.now()), answer.error)

        return found.look_up("CapacityReservations", ask, node_class.status.capacity_reservations)

    def _find_placement_group(self, node_class: NodeClass, found: _Findings) -> PlacementGroup | None:
        if node_class.placement_group_selector is None:
            return None
        none = Problem("PlacementGroupNotFound", "PlacementGroupSelector did not match an available placement group")
        return found.look_up("PlacementGroup", lambda: self.placement_group(node_class), None, none)

    def _find_profile(self, node_class: NodeClass, found: _Findings) -> str:
        """The profile that machines are launched with; the one of a role is made if there is none."""
        if node_class.launch_template or node_class.instance_profile:
            return node_class.instance_profile or ""
        if not node_class.role:
            none = Problem(
                "InstanceProfileNotFound",
                "the node class names no instance profile, and there is no default (setting aws.defaultInstanceProfile)",
            )
            return found.look_up("InstanceProfile", lambda: Answer(self._settings.default_instance_profile), "", none)
        current = node_class.status.instance_profile
        wanted = WantedProfile(
            class_name=node_class.name,
            class_uid=node_class.metadata.uid,
            role=node_class.role,
            tags={**self._settings.tags, **(node_class.tags or {})},
        )
        if self._settings.isolated_vpc:
            none = Problem(
                "InstanceProfileNotFound",
                "IAM cannot be asked from an isolated VPC: name an instance profile in spec.instanceProfile",
            )
            return found.look_up("InstanceProfile", lambda: Answer(current), "", none)
        # a profile by another name may have another role, and machines with the wrong one would never drift
        trusted = profile_name(self._settings.cluster_name, self._apis.region, wanted)
        return found.look_up(
            "InstanceProfile",
            lambda: Answer(self._profiles.ensure(wanted, current)),
            current if current == trusted else "",
        )

    # Asking

    def _ask(
        self,
        memory: Remembered[Entries],
        call: Callable[[Request], Response],
        member: str,
        requests: Iterable[Request],
    ) -> Answer[Entries]:
        """What the requests find together; the error of the first that failed, where its last answer stands in."""
        found: list[Mapping[str, Any]] = []
        error: AWSError | None = None
        for request in requests:
            answer = memory.ask((member, _question(request)), partial(_all, call, request, member))
            found.extend(answer.value)
            error = error or answer.error
        return Answer(tuple(found), error)

    def _describe_subnets(self, request: Request) -> Response:
        answer = self._apis.ec2.describe_subnets(request)
        self._free_addresses({subnet.id: subnet.free_addresses for subnet in read_subnets(answer.get("Subnets") or ())})
        return answer

    def _describe_reservations(self, request: Request) -> Response:
        """A term that names a reservation which is gone finds nothing, and the others are not worse for it."""
        try:
            answer = self._apis.ec2.describe_capacity_reservations(request)
        except AWSError as error:
            if not error.has(ErrorClass.NOT_FOUND):
                raise
            return {"CapacityReservations": []}
        self._counts.synced(available_counts(answer.get("CapacityReservations") or ()), self._clock.now())
        return answer

    def _describe_group(self, request: Request) -> PlacementGroup | None:
        try:
            return read_placement_group([self._apis.ec2.describe_placement_groups(request)])
        except AWSError as error:
            if not error.code.startswith(_NO_GROUP):
                raise
            return None


def _all(call: Callable[[Request], Response], request: Request, member: str) -> Entries:
    return tuple(items(call, request, member))


def _question(request: Request) -> str:
    return json.dumps(request, sort_keys=True)

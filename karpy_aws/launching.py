"""`Launcher`: launches one machine for one claim, with all that EC2 has to be asked and told on the way.

What to ask for is decided elsewhere (`choice`, `subnets`, `launchtemplates`, `fleet`), and what errors mean too (`fleeterrors`).
Here things happen in their order, and whatever is learned is remembered for the next launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import attrs

from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType
from karpy.cloud.provider import Instance
from karpy.errors import CreateFailed, InsufficientCapacity, InvalidObject, ProviderError, Throttled
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws.api import EC2API
from karpy_aws.capacity import EFA
from karpy_aws.choice import flexibility_warning
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.fleet import Pool, asked_for, fleet_request, launched_machine, pools
from karpy_aws.fleeterrors import FleetError, Launched, launch_error, lessons, read_fleet_errors
from karpy_aws.instances import Instances
from karpy_aws.launched import claim_annotations, instance_of, new_machine
from karpy_aws.launchorder import LaunchOrder, order_launch
from karpy_aws.launchtemplates import LaunchTemplate, launch_templates
from karpy_aws.machines import Machine
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.status import Subnet
from karpy_aws.reservations import ReservationCounts
from karpy_aws.subnets import SubnetAddresses, addresses_wanted
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.templategroups import KubeletOf
from karpy_aws.unavailable import UnavailableOfferings

__all__ = ["LaunchNotes", "Launcher", "Machinery"]

_READY: Final = "Ready"
_SERVER_ERRORS: Final = 500
_CUSTOM: Final = "Custom"
_TEMPLATES: Final = "Error getting launch template configs"
_FLEET: Final = "Error creating fleet request"
_TEMPLATES_GONE: Final = "Launch templates not found when creating fleet request"


class _TemplatesGone(Exception):
    """EC2 does not know a template any more that the cache does; ``refused`` is what to raise if that is so once more."""

    def __init__(self, refused: ProviderError) -> None:
        self.refused = refused
        super().__init__(str(refused))


class _LaunchThrottled(CreateFailed, Throttled):
    """EC2 asks to slow down, and the claim's condition says so."""


@attrs.frozen(kw_only=True)
class Machinery:
    """What launches share with one another, and with whoever reads and ends machines. ``ec2`` sends equal launches together."""

    ec2: EC2API
    clock: Clock
    templates: LaunchTemplateCache
    instances: Instances
    addresses: SubnetAddresses
    unavailable: UnavailableOfferings
    reservations: ReservationCounts


@attrs.frozen(kw_only=True)
class LaunchNotes:
    """What a launch tells beside its outcome, for metrics, events and logs."""

    failed: Callable[[str, FleetError], object] = lambda _capacity_type, _error: None
    """A pool had no machine: the capacity type that was asked for, and what EC2 said."""
    warned: Callable[[NodeClaim, str], object] = lambda _claim, _text: None
    made: Callable[[NodeClass, Sequence[LaunchTemplate]], object] = lambda _node_class, _templates: None
    """The templates that a launch uses."""


class Launcher:
    """Launches machines of one cluster in one region. Called from many threads."""

    def __init__(
        self,
        machinery: Machinery,
        *,
        region: str,
        tags: Mapping[str, str] | None = None,
        sells_reserved: bool = True,
        strict_min_values: bool = True,
        notes: LaunchNotes | None = None,
    ) -> None:
        """``tags`` are those that settings of 0.25 want on everything; ``sells_reserved`` is the feature gate ReservedCapacity."""
        self._with = machinery
        self._region = region
        self._tags = tags or {}
        self._sells_reserved = sells_reserved
        self._strict_min_values = strict_min_values
        self._notes = notes or LaunchNotes()

    def create(
        self,
        claim: NodeClaim,
        node_class: NodeClass,
        types: Sequence[InstanceType],
        *,
        cluster: ClusterFacts,
        kubelet_of: KubeletOf,
    ) -> Instance:
        """Launch one of ``types`` for ``claim``, or find the machine that was launched for it already.

        Raises:
            InsufficientCapacity, NodeClassNotReady, CreateFailed, Throttled, or another ProviderError that is retried.
        """
        machine = self._with.instances.launched_for(claim.name)
        if machine is None:
            order = order_launch(
                claim,
                node_class,
                types,
                cluster=cluster,
                kubelet_of=kubelet_of,
                region=self._region,
                everywhere=self._tags,
                sells_reserved=self._sells_reserved,
                strict_min_values=self._strict_min_values,
            )
            try:
                machine = self._launch(order)
            except _TemplatesGone:
                machine = self._launch_again(order)
        has_efa = EFA in claim.requests or bool(node_class.network_interfaces)
        return instance_of(machine, types, claim_annotations(node_class, cluster.ca_bundle), has_efa=has_efa)

    def _launch_again(self, order: LaunchOrder) -> Machine:
        try:
            return self._launch(order)
        except _TemplatesGone as gone:
            raise gone.refused from gone.__cause__

    def _launch(self, order: LaunchOrder) -> Machine:
        with self._templates(order) as templates, self._subnets(order) as (subnets, used):
            found = pools(templates, order.choice, subnets)
            if not found:
                raise InsufficientCapacity("no capacity offerings are currently available given the constraints")
            self._warn_of_little_choice(order, found)
            answer = self._ask(fleet_request(found, order.choice, order.node_class, order.claim, order.tags))
            errors = read_fleet_errors(answer)
            self._learn(order, errors, asked_for(found, order.choice, order.node_class))
            launched = launched_machine(answer, found)
            if launched is None:
                raise launch_error(errors)
            machine = self._machine(order, *launched)
            used.add(machine.subnet_id)
            return machine

    def _machine(self, order: LaunchOrder, id_: str, pool: Pool | None) -> Machine:
        if pool is None:
            self._with.instances.doubt()
            raise ProviderError(f"EC2 launched {id_} and did not say what it is; it is looked up the next time")
        now = self._with.clock.now()
        machine = new_machine(id_, pool, order.choice, order.node_class, order.claim, order.tags, now)
        if machine.reservation_id:
            self._with.reservations.launched(machine.reservation_id, now)
        self._with.instances.remember(machine)
        return machine

    # What a launch needs while it is under way

    @contextmanager
    def _templates(self, order: LaunchOrder) -> Iterator[tuple[LaunchTemplate, ...]]:
        with ExitStack() as stack:
            try:
                made = launch_templates(order.choice.types, order.settings, order.kubelet_of)
                stack.enter_context(self._with.templates.using(made))
            except AWSError as error:
                refused = _refused(_TEMPLATES, error)
                is_gone = error.has(ErrorClass.LAUNCH_TEMPLATE_NOT_FOUND)
                raise (_TemplatesGone(refused) if is_gone else refused) from error
            except (CreateFailed, InvalidObject) as error:
                raise CreateFailed(f"{_TEMPLATES}: Instance launch failed: {error}") from error
            self._notes.made(order.node_class, made)
            yield made

    @contextmanager
    def _subnets(self, order: LaunchOrder) -> Iterator[tuple[Mapping[str, Subnet], set[str]]]:
        """The subnets to launch into by zone, and the set to put those into that were used."""
        choice, now = order.choice, self._with.clock.now()
        full = self._with.unavailable.at(now).subnets
        wanted = addresses_wanted(choice.types, choice.wanted)
        held = self._with.addresses.hold(order.node_class.status.subnets, wanted, full)
        used: set[str] = set()
        try:
            yield held.subnets, used
        finally:
            self._with.addresses.settle(held, used)

    # Calls, and what is learned from their answers

    def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return self._with.ec2.create_fleet(request)
        except AWSError as error:
            if error.has(ErrorClass.LAUNCH_TEMPLATE_NOT_FOUND):
                configs = request["LaunchTemplateConfigs"]
                names = [each["LaunchTemplateSpecification"]["LaunchTemplateName"] for each in configs]
                self._with.templates.forget(names)
                raise _TemplatesGone(_refused(_TEMPLATES_GONE, error)) from error
            may_have_launched = not error.status or error.status >= _SERVER_ERRORS
            if may_have_launched and not error.has(ErrorClass.THROTTLED):
                self._with.instances.doubt()
            raise _refused(_FLEET, error) from error

    def _learn(self, order: LaunchOrder, errors: Sequence[FleetError], launched: Launched) -> None:
        now = self._with.clock.now()
        for error in errors:
            self._notes.failed(launched.capacity_type, error)
        learned = lessons(errors, launched)
        for key, reason in learned.offerings.items():
            self._with.unavailable.mark(key, now, reason)
        for capacity_type in learned.capacity_types:
            self._with.unavailable.mark_capacity_type(capacity_type, now)
        for subnet in learned.subnets:
            self._with.unavailable.mark_subnet(subnet, now)
            self._with.addresses.exhausted(subnet)
        for reservation in learned.reservations:
            self._with.reservations.exhausted(reservation, now)
        roleless = [each for each in errors if ErrorClass.NO_SERVICE_LINKED_ROLE in each.classes]
        if roleless:
            told = f'Attempted to launch a spot instance but failed due to "{roleless[0].code}"'
            self._notes.warned(order.claim, told)

    def _warn_of_little_choice(self, order: LaunchOrder, found: Sequence[Pool]) -> None:
        count = len({pool.instance_type.name for pool in found})
        warning = flexibility_warning(order.claim.requirements, order.choice.capacity_type, count)
        if warning:
            self._notes.warned(order.claim, warning)


def _refused(doing: str, error: AWSError) -> ProviderError:
    """What to raise for a call that failed. One that AWS did not get, or whose answer did not come, is told as it is."""
    if not error.status:
        return error
    kind = _LaunchThrottled if error.has(ErrorClass.THROTTLED) else CreateFailed
    return kind(f"{doing}: {error.reason.message}: {error}", error.reason.reason)

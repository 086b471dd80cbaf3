"""`AWSProvider`: EC2 behind karpy's cloud protocol, a thin front to the modules that do the work.

It has no threads of its own: what must be asked again now and then is asked by the slow calls (`karpy_aws.upkeep`), above all by
`list`, which the core makes every two minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import structlog

from karpy.clock import Clock, SystemClock
from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.cloud.notices import Notice
from karpy.cloud.provider import Instance, NodeClassStatus, RawNodeClass, RegistrationHook, RepairPolicy
from karpy.errors import InvalidObject, NodeClaimNotFound, NodeClassNotReady, ProviderError
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy_aws import defaults
from karpy_aws.api import APIs
from karpy_aws.batching import WINDOWS, BatchedEC2, Window
from karpy_aws.classtypes import ClassTypes
from karpy_aws.clusterfacts import Cluster, Seen, version_problem
from karpy_aws.discovery import Discovery
from karpy_aws.drift import drift_reason
from karpy_aws.errors import AWSError
from karpy_aws.fleeterrors import FleetError
from karpy_aws.imagelookup import ImageLookup
from karpy_aws.instances import Instances
from karpy_aws.interruption import InterruptionQueue
from karpy_aws.labels import AWS_LABELS
from karpy_aws.launching import Launcher, LaunchNotes, Machinery
from karpy_aws.noticing import NamesOfMachines, Notices
from karpy_aws.objects import NODE_CLASSES, NodeClass
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.hashing import hash_annotations
from karpy_aws.poolkubelets import PoolKubelets
from karpy_aws.pricing import PriceBook
from karpy_aws.profiles import Profiles
from karpy_aws.registration import MemoryHook, PartitionHook, TaggingHook
from karpy_aws.reservations import EXPIRING
from karpy_aws.resolving import Resolver
from karpy_aws.sales import Sales
from karpy_aws.settings import AWSSettings
from karpy_aws.shippedprices import shipped_prices
from karpy_aws.subnets import SubnetAddresses
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.upkeep import Upkeep
from karpy_aws.validation import Validation

__all__ = ["AWSProvider"]

_REPAIR_POLICIES: Final = (
    *(RepairPolicy("Ready", status, 1_800.0) for status in ("False", "Unknown")),
    RepairPolicy("AcceleratedHardwareReady", "False", 600.0),
    *(
        RepairPolicy(part, "False", 1_800.0)
        for part in ("StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady")
    ),
)
"""The conditions beside Ready are set by EKS's node monitoring agent."""


class AWSProvider:
    """One cluster's machines in one region. Methods may be called from several threads.

    It is a `karpy.cloud.provider.CloudProvider`, and `Defaulting`, `Repairing`, `WithRegistrationHooks` and
    `karpy.cloud.notices.GivingNotice` beside; these say what its methods do.
    """

    name = "aws"
    labels: LabelSpec = AWS_LABELS
    node_classes: Sequence[Kind] = NODE_CLASSES
    repair_policies: Sequence[RepairPolicy] = _REPAIR_POLICIES

    def __init__(
        self,
        apis: APIs,
        settings: AWSSettings,
        *,
        clock: Clock | None = None,
        seen: Seen | None = None,
        reserved_capacity: bool = True,
        strict_min_values: bool = True,
        windows: Mapping[str, Window] = WINDOWS,
        log: Any = None,
    ) -> None:
        """``seen`` is what is known of the cluster without EKS; ``windows`` say how long calls wait for others to go with;
        ``reserved_capacity`` and ``strict_min_values`` are settings of the core; ``log`` is a structlog logger."""
        clock, cluster_name = clock or SystemClock(), settings.cluster_name
        self._clock = clock
        self._log = log or structlog.get_logger().bind(provider=self.name)
        self._keeps_out_of_zones = settings.enable_zonal_shift
        self._cluster = Cluster(apis.eks, settings, seen, clock=clock)
        self._sales = Sales(
            apis,
            clock,
            prices=PriceBook(shipped=shipped_prices(apis.region)),
            isolated=settings.isolated_vpc,
            told=self._tell,
        )
        ec2 = BatchedEC2(apis.ec2, windows=windows, clock=clock)
        self._instances = Instances(
            ec2,
            cluster_name,
            reserved_capacity=reserved_capacity,
            is_shifted=self._sales.is_shifted,
            clock=clock,
        )
        images = ImageLookup(apis.ec2, apis.ssm, clock)
        profiles = Profiles(apis.iam, cluster_name, apis.region, clock=clock)
        templates = LaunchTemplateCache(apis.ec2, clock, cluster=cluster_name)
        addresses = SubnetAddresses()
        self._upkeep = Upkeep(
            settings,
            clock,
            self._log,
            cluster=self._cluster,
            sales=self._sales,
            images=images,
            templates=templates,
            profiles=profiles,
            instances=self._instances,
        )
        discovery = Discovery(
            apis,
            settings,
            clock,
            images=images,
            profiles=profiles,
            counts=self._sales.reservations,
            reserved_capacity=reserved_capacity,
            free_addresses=addresses.synced,
        )
        self._types = ClassTypes(self._sales, settings, self._upkeep.ensure_sales, reserved_capacity=reserved_capacity)
        self._kubelets = PoolKubelets()
        validation = Validation(apis.ec2, templates, clock, region=apis.region, tags=settings.tags)
        self._resolver = Resolver(
            self._cluster,
            discovery,
            self._types,
            None if settings.disable_dry_run else validation,
            keeping=self._tell_kept,
            profile_needed=self._upkeep.profile_needed,
        )
        machinery = Machinery(
            ec2=ec2,
            clock=clock,
            templates=templates,
            instances=self._instances,
            addresses=addresses,
            unavailable=self._sales.unavailable,
            reservations=self._sales.reservations,
        )
        self._launcher = Launcher(
            machinery,
            region=apis.region,
            tags=settings.tags,
            sells_reserved=reserved_capacity,
            strict_min_values=strict_min_values,
            notes=LaunchNotes(failed=self._tell_failed_pool, warned=self._tell_warning),
        )
        names = NamesOfMachines(self._instances, clock)
        name = settings.interruption_queue
        self._notices = Notices(
            apis.ec2,
            InterruptionQueue(apis.sqs, name, names, clock=clock) if name else None,
            self._instances,
            self._sales.unavailable,
            self._sales.reservations,
            clock,
            expiring=self._expiring_blocks,
            failed=self._tell_failed_check,
        )
        self.registration_hooks: Sequence[RegistrationHook] = (
            PartitionHook(self._instances, discovery.has_partitions),
            TaggingHook(self._instances, cluster_name, self._tell_failed_tags),
            MemoryHook(self._note_memory),
        )

    def check_cluster(self) -> None:
        """Whether all is known that machines need to join, and zones can be kept out of where that is asked for.

        Raises:
            AWSError: EKS does not tell of the cluster, or zonal shift does not know it.
            InvalidObject: what is told cannot be read.
        """
        facts = self._cluster.facts()
        problem = version_problem(facts.version) if facts.version else ""
        if problem:
            self._log.warning(problem)
        if self._keeps_out_of_zones:
            self._sales.refresh_shifts(facts)

    # What can be bought

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        with _unreadable(NodeClassNotReady):
            return self._types.types(self._kubelets.of_pool(self._resolver.get(node_class), pool))

    def default_requirements(self, pool: NodePool) -> Requirements:
        return defaults.default_requirements(pool)

    # Machines

    def create(self, claim: NodeClaim, node_class: RawNodeClass, choices: Sequence[InstanceType]) -> Instance:
        self._upkeep.ensure_sales()
        with _unreadable(NodeClassNotReady):
            found, cluster = self._resolver.get_to_launch(node_class), self._cluster.facts()
            kubelet_of = self._types.kubelet_of(self._kubelets.of_claim(found, claim), cluster)
        return self._launcher.create(claim, found, choices, cluster=cluster, kubelet_of=kubelet_of)

    def delete(self, provider_id: str) -> None:
        self._upkeep.at_any_call()
        known = self._instances.known(provider_id.rpartition("/")[2])
        try:
            with _unreadable(NodeClaimNotFound):
                self._instances.delete(provider_id)
        except NodeClaimNotFound:
            if known is not None and known.reservation_id:
                self._sales.reservations.ended(known.reservation_id, self._clock.now())
            raise

    def get(self, provider_id: str) -> Instance:
        self._upkeep.at_any_call()
        with _unreadable(NodeClaimNotFound):
            return self._instances.get(provider_id, fresh=True).instance()

    def list(self) -> Sequence[Instance]:
        self._upkeep.at_any_call()
        machines = self._instances.list()
        self._upkeep.at_slow_calls()
        return tuple(machine.instance() for machine in machines)

    # Node classes

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        with _unreadable(ProviderError):
            return self._resolver.resolve(node_class)

    def drift_reason(self, claim: NodeClaim, pool: NodePool, node_class: RawNodeClass) -> str | None:
        del pool
        with _unreadable(ProviderError):
            found = self._resolver.get(node_class)
            group = found.status.placement_group
            return drift_reason(
                claim,
                found,
                self._types.types(found).derived(_by_name),
                self._instances.get,
                hashes=self._hashes(found),
                group=group.id if group else "",
            )

    def _hashes(self, node_class: NodeClass) -> Mapping[str, str]:
        """What claims are marked with now; generations before EC2NodeClass were not compared by hash."""
        if node_class.origin != EC2_NODE_CLASS:
            return {}
        return hash_annotations(node_class, self._cluster.facts().ca_bundle)

    def _note_memory(self, claim: NodeClaim, instance_type: str, memory: int) -> None:
        for images in {frozenset(ami.id for ami in status.amis) for status in self._resolver.statuses}:
            self._sales.measured.note(instance_type, images, claim.image_id, memory, self._clock.now())

    # Notices

    def messages(self, most: int = 10) -> Sequence[Notice]:
        return self._notices.messages(most)

    def acknowledge(self, notice: Notice) -> None:
        self._notices.acknowledge(notice)

    def _expiring_blocks(self) -> frozenset[str]:
        reservations = (each for status in self._resolver.statuses for each in status.capacity_reservations)
        return frozenset(each.id for each in reservations if each.state == EXPIRING)

    # Telling

    def _tell(self, event: str, counts: Mapping[str, int]) -> None:
        self._log.info(event, **counts)

    def _tell_kept(self, node_class: str, line: str) -> None:
        self._log.warning("looking up a node class failed, what was known stays", NodeClass=node_class, error=line)

    def _tell_failed_pool(self, capacity_type: str, error: FleetError) -> None:
        about = {"capacity-type": capacity_type, "instance-type": error.instance_type, "zone": error.zone}
        self._log.debug("a launch got nothing of an offering", error=error.text, **about)

    def _tell_warning(self, claim: NodeClaim, text: str) -> None:
        self._log.warning(text, NodeClaim=claim.name)

    def _tell_failed_tags(self, claim: NodeClaim, error: Exception) -> None:
        self._log.warning("tagging an instance failed", NodeClaim=claim.name, error=str(error))

    def _tell_failed_check(self, error: AWSError) -> None:
        self._log.warning("checking the status of instances failed", error=str(error))


@contextmanager
def _unreadable(kind: type[ProviderError]) -> Iterator[None]:
    """What the core gives may be unreadable here. It then counts as ``kind``: the core expects nothing else of a cloud."""
    try:
        yield
    except InvalidObject as error:
        raise kind(str(error)) from error


def _by_name(types: InstanceTypes) -> dict[str, InstanceType]:
    return {found.name: found for found in types}

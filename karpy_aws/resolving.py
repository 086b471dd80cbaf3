"""`Resolver`: looks node classes up, judges whether machines can be launched from them, and remembers what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from karpy.cloud.provider import NodeClassStatus, RawNodeClass
from karpy.errors import InvalidObject
from karpy.objects.meta import Condition
from karpy_aws.classtypes import ClassTypes
from karpy_aws.clusterfacts import Cluster, ClusterFacts
from karpy_aws.discovery import Discovery, Problem
from karpy_aws.nodeclasses import NodeClasses
from karpy_aws.objects.inlineprovider import with_default_selectors
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.status import NodeClassStatusFields
from karpy_aws.resolution import node_class_status, raise_problems
from karpy_aws.validation import Trial, Validation

__all__ = ["Resolver"]


class Resolver:
    """``validation`` is None where nothing may be tried out. ``keeping`` is told what AWS would not say: a class's name and a line;
    ``profile_needed`` the instance profile of each class that is looked up."""

    def __init__(
        self,
        cluster: Cluster,
        discovery: Discovery,
        types: ClassTypes,
        validation: Validation | None,
        *,
        keeping: Callable[[str, str], object],
        profile_needed: Callable[[str], object],
    ) -> None:
        self._cluster = cluster
        self._discovery = discovery
        self._types = types
        self._validation = validation
        self._keeping = keeping
        self._profile_needed = profile_needed
        self._refusals: dict[tuple[str, str], str] = {}
        """What spoke against each class when it was last looked up; empty when nothing did."""
        self._classes = NodeClasses(self._find, self._adapted)

    def get(self, raw: RawNodeClass) -> NodeClass:
        """The class with what it refers to; the same value while nothing changed.

        Raises:
            InvalidObject: it cannot be read.
            NodeClassNotReady: something that it refers to is not there.
            ProviderError: AWS did not tell.
        """
        return self._classes.get(raw)

    def get_to_launch(self, raw: RawNodeClass) -> NodeClass:
        """The same, with the condition that it is not ready if something spoke against it the last time: the object may not say so
        yet, and a Provisioner never does.

        Raises:
            InvalidObject, NodeClassNotReady, ProviderError: as above.
        """
        node_class = self.get(raw)
        refusal = self._refusals.get((node_class.origin.kind, node_class.name))
        if not refusal:
            return node_class
        not_ready = Condition("Ready", "False", "NotReady", refusal)
        return attrs.evolve(node_class, status=attrs.evolve(node_class.status, conditions=(not_ready,)))

    def resolve(self, raw: RawNodeClass) -> NodeClassStatus:
        """What there is to say of a class now.

        Raises:
            ProviderError: AWS did not answer, and may do so soon.
        """
        try:
            node_class = self._classes.last_known(raw)
        except InvalidObject as error:
            return NodeClassStatus(False, "ValidationFailed", str(error))
        self._profile_needed(node_class.status.instance_profile)
        cluster = self._cluster.facts()
        found = self._discovery.discover(node_class, cluster)
        for line in found.kept:
            self._keeping(node_class.name, line)
        self._profile_needed(found.status.instance_profile)
        self._classes.found(node_class, found.status)
        further = self._further_problems(self._classes.last_known(raw), found.problems, cluster)
        status = node_class_status(found, node_class.origin, further)
        self._refusals[node_class.origin.kind, node_class.name] = status.message
        return status

    @property
    def statuses(self) -> tuple[NodeClassStatusFields, ...]:
        """What was found last for each class."""
        return self._classes.statuses

    def _further_problems(
        self, node_class: NodeClass, found: Sequence[Problem], cluster: ClusterFacts
    ) -> tuple[Problem, ...]:
        """What speaks against a class beside what it refers to; it is only tried out when all of that was found."""
        kubelet = self._types.kubelet_problem(node_class)
        if kubelet is not None:
            return (kubelet,)
        if node_class.ami_family == "AL2023" and not cluster.service_cidr and not node_class.launch_template:
            return (Problem("ClusterCIDRResolutionFailed", "EKS has not told the range of the services' addresses"),)
        if found or self._validation is None:
            return ()
        try:
            types, kubelet_of = self._types.types(node_class), self._types.kubelet_of(node_class, cluster)
        except InvalidObject as error:
            return (Problem("ValidationFailed", str(error)),)
        return self._validation.problems(
            Trial(node_class=node_class, cluster=cluster, types=types, kubelet_of=kubelet_of)
        )

    def _adapted(self, node_class: NodeClass) -> NodeClass:
        return with_default_selectors(node_class, self._cluster.name)

    def _find(self, node_class: NodeClass) -> NodeClassStatusFields:
        """What a class refers to that was not looked up since karpy started: its own status knows it, if it has one."""
        known = node_class.status
        if known.subnets and (known.amis or node_class.launch_template):
            return attrs.evolve(known, placement_group=self._discovery.placement_group(node_class).value)
        found = self._discovery.discover(node_class, self._cluster.facts())
        raise_problems(found.problems)
        return found.status

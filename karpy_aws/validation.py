"""`Validation`: whether EC2 would launch from a node class whose things were all found, tried out with calls that change nothing.

Only a launch template is really made, for the trials name it; it is the very kind that a launch makes, and goes when it is idle.
What speaks against a class is what holds for every launch: a missing permission or profile, user data that EC2 does not take.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType, InstanceTypes, cheapest, order_by_price
from karpy.errors import InvalidObject, NodeClassNotReady, ProviderError
from karpy.objects.meta import ObjectMeta
from karpy.objects.nodeclaim import NodeClaim
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.api import EC2API, Request
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.discovery import Problem
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.fleet import Pool, fleet_request, pools
from karpy_aws.images import image_of
from karpy_aws.launchorder import order_launch
from karpy_aws.launchtemplates import LaunchTemplate, launch_templates
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.templatecache import LaunchTemplateCache
from karpy_aws.templategroups import KubeletOf

__all__ = ["Trial", "Validation"]

_GOOD_FOR_S: Final = 1_800.0
_NOBODY: Final = "validation"
_WANTED: Final = Requirements([Requirement.in_(core.CAPACITY_TYPE, core.ON_DEMAND)])
_RARE: Final = (labels.INSTANCE_GPU_COUNT, labels.INSTANCE_ACCELERATOR_COUNT)


@attrs.frozen(kw_only=True)
class Trial:
    """What the trials of a class are made with."""

    node_class: NodeClass
    cluster: ClusterFacts
    types: InstanceTypes
    kubelet_of: KubeletOf


class Validation:
    """Remembers for half an hour that a class is fine, for as long as nothing about it changes, an annotation included. One that is
    not is tried again each time, so that it is ready soon after somebody has helped."""

    def __init__(
        self, ec2: EC2API, templates: LaunchTemplateCache, clock: Clock, *, region: str, tags: Mapping[str, str]
    ) -> None:
        self._ec2 = ec2
        self._templates = templates
        self._clock = clock
        self._region = region
        self._tags = tags
        self._lock = threading.Lock()
        self._fine: dict[tuple[str, str], tuple[NodeClass, float]] = {}

    def problems(self, trial: Trial) -> tuple[Problem, ...]:
        """What speaks against the class; nothing for one that is as it was when nothing did."""
        node_class, now = trial.node_class, self._clock.now()
        key, subject = (node_class.origin.kind, node_class.name), _subject(node_class)
        with self._lock:
            known, until = self._fine.get(key, (None, 0.0))
        if known == subject and now < until:
            return ()
        problem = self._try(trial)
        with self._lock:
            if problem is None:
                self._fine[key] = subject, now + _GOOD_FOR_S
            else:
                self._fine.pop(key, None)
        return () if problem is None else (problem,)

    def _try(self, trial: Trial) -> Problem | None:
        node_class = _without_conditions(trial.node_class)  # whatever was said of it before
        chosen = typical(trial.types, node_class)
        if chosen is None or node_class.launch_template:
            return None  # there is nothing to try it with, or it is the user's to see that it works
        claim = NodeClaim(name=_NOBODY, metadata=ObjectMeta(name=_NOBODY, labels={core.NODEPOOL: _NOBODY}))
        claim = attrs.evolve(claim, requirements=_WANTED)
        try:
            order = order_launch(
                claim,
                node_class,
                [chosen],
                cluster=trial.cluster,
                kubelet_of=trial.kubelet_of,
                region=self._region,
                everywhere=self._tags,
            )
        except NodeClassNotReady as error:
            return Problem("TagValidationFailed", str(error))
        try:
            made = launch_templates(order.choice.types, order.settings, order.kubelet_of)
        except (InvalidObject, ProviderError) as error:
            return Problem("ValidationFailed", str(error))
        by_zone = {subnet.zone: subnet for subnet in reversed(node_class.status.subnets)}
        found = pools(made, order.choice, by_zone)
        try:
            with self._templates.using(made):
                return self._dry_runs(
                    found, fleet_request(found, order.choice, node_class, claim, order.tags), node_class
                )
        except AWSError as error:
            return judged("CreateLaunchTemplate", error, node_class)

    def _dry_runs(self, found: Sequence[Pool], fleet: Mapping[str, Any], node_class: NodeClass) -> Problem | None:
        """A fleet looks at permissions alone; what machines are told is looked at by running one, in any of the subnets."""
        refused = _refusal(self._ec2.create_fleet, fleet)
        if refused is not None:
            problem = judged("CreateFleet", refused, node_class)
            if problem is not None:
                return problem
        first: AWSError | None = None
        for pool in found:
            refused = _refusal(self._ec2.run_instances, run_request(pool, fleet))
            if refused is None:
                return None
            first = first or refused
        return None if first is None else judged("RunInstances", first, node_class)


def _without_conditions(node_class: NodeClass) -> NodeClass:
    return attrs.evolve(node_class, status=attrs.evolve(node_class.status, conditions=()))


def _subject(node_class: NodeClass) -> NodeClass:
    """The class without what changes by itself: the order of subnets is that of their free addresses."""
    meta, subnets = node_class.metadata, sorted(node_class.status.subnets, key=lambda subnet: subnet.id)
    return attrs.evolve(
        node_class,
        metadata=ObjectMeta(name=node_class.name, uid=meta.uid, annotations=meta.annotations),
        status=attrs.evolve(node_class.status, subnets=tuple(subnets), conditions=()),
    )


def typical(types: InstanceTypes, node_class: NodeClass) -> InstanceType | None:
    """The type to try with: the cheapest that can be had and that one of the class's images is for, accelerators last."""
    fitting = [
        each
        for each in order_by_price(types, _WANTED)
        if cheapest(each, _WANTED) is not None and image_of(each, node_class.status.amis) is not None
    ]
    usual = [each for each in fitting if not any(_has(each, key) for key in _RARE)]
    return next(iter(usual or fitting), None)


def _has(instance_type: InstanceType, key: str) -> bool:
    found = instance_type.requirements.get(key)
    return found is not None and found.single() is not None


def run_request(pool: Pool, fleet: Mapping[str, Any]) -> dict[str, Any]:
    """The trial of running one machine of a pool. A subnet goes with the interfaces where a template has some."""
    template: LaunchTemplate = pool.template
    data = (template.request or {}).get("LaunchTemplateData") or {}
    interfaces = [{**each, "SubnetId": pool.subnet.id} for each in data.get("NetworkInterfaces") or ()]
    return {
        "DryRun": True,
        "MinCount": 1,
        "MaxCount": 1,
        "InstanceType": pool.instance_type.name,
        "LaunchTemplate": {"LaunchTemplateName": template.name, "Version": template.version},
        "TagSpecifications": [each for each in fleet["TagSpecifications"] if each["ResourceType"] != "fleet"],
        **({"NetworkInterfaces": interfaces} if interfaces else {"SubnetId": pool.subnet.id}),
    }


def _refusal(call: Callable[[Request], object], request: Mapping[str, Any]) -> AWSError | None:
    """Why EC2 would not do it; None when it would."""
    try:
        call({**request, "DryRun": True})
    except AWSError as error:
        return None if error.has(ErrorClass.DRY_RUN_SUCCEEDED) else error
    return None


def judged(call: str, error: AWSError, node_class: NodeClass) -> Problem | None:
    """What a refused trial says of the class. A refusal that is of the type or the moment says nothing of it."""
    if error.has(ErrorClass.UNAUTHORIZED):
        return Problem(f"{call}AuthCheckFailed", f"Controller isn't authorized to call ec2:{call}: {error}")
    if error.has(ErrorClass.INSTANCE_PROFILE_NOT_FOUND):
        # IAM's own profiles are known everywhere only some seconds after they are made
        return Problem("InstanceProfileNotFound", str(error), may_pass=not node_class.instance_profile)
    if error.has(ErrorClass.USER_DATA_TOO_LARGE):
        return Problem("UserDataSizeLimitExceeded", str(error))
    if error.code.startswith("InvalidUserData"):
        return Problem("ValidationFailed", str(error))
    if error.has(ErrorClass.THROTTLED) or error.has(ErrorClass.SERVER) or not error.status:
        return Problem(f"{call}Failed", str(error), may_pass=True)
    return None

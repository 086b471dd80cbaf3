"""The IAM policies that the controller's role needs: the calls of `karpy_aws.api`, and changes of the cluster's own alone.

For today's node classes they are Karpenter's six policies, statement for statement, so that who has those needs nothing new. The
older generations had one policy without conditions, and their machines do not carry the tags that conditions would ask for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.errors import InvalidObject, shown
from karpy_aws import labels
from karpy_aws.machines import CLUSTER_NAME_TAG, NAME_TAG, NODE_CLAIM_TAG

__all__ = ["GENERATIONS", "PolicyScope", "actions_of", "partition_of", "policies"]

GENERATIONS: Final = ("v1", "v1beta1", "v1alpha1", "v1alpha5")
"""By the API version of their node classes; v1alpha5 has them inside Provisioners."""
_SCOPED: Final = frozenset({"v1", "v1beta1"})

Document = dict[str, Any]
ANY: Final = "*"
"""Instead of a region or an account: whichever it is."""
_REGION_TAG: Final = "topology.kubernetes.io/region"
_READS: Final = (
    *("CapacityReservations", "Images", "Instances", "InstanceStatus", "InstanceTypeOfferings", "InstanceTypes"),
    *("LaunchTemplates", "PlacementGroups", "SecurityGroups", "SpotPriceHistory", "Subnets"),
)


@attrs.frozen(kw_only=True)
class PolicyScope:
    """Whom the policies are for. An account that is not given stands for any."""

    cluster: str
    region: str
    account: str = "*"
    partition: str = "aws"
    node_role: str = ""
    """Empty: ``KarpenterNodeRole-`` and the cluster, as the guides name it."""
    queue: str = ""
    """Empty: named like the cluster."""

    def arn(self, service: str, resource: str, *, account: str | None = None, region: str | None = None) -> str:
        region = self.region if region is None else region
        return f"arn:{self.partition}:{service}:{region}:{self.account if account is None else account}:{resource}"

    @property
    def node_role_arn(self) -> str:
        return self.arn("iam", f"role/{self.node_role or self.usual_node_role}", region="")

    @property
    def usual_node_role(self) -> str:
        return f"KarpenterNodeRole-{self.cluster}"

    @property
    def cluster_arn(self) -> str:
        return self.arn("eks", f"cluster/{self.cluster}")

    @property
    def owned(self) -> str:
        return f"kubernetes.io/cluster/{self.cluster}"


def policies(scope: PolicyScope, generation: str = "v1") -> dict[str, Document]:
    """The documents by name.

    Raises:
        InvalidObject: there is no such generation, or a name is none; the path is the field of ``scope``.
    """
    _check(scope)
    if generation not in GENERATIONS:
        raise InvalidObject(f"found {shown(generation)}", path="generation", accepted=", ".join(GENERATIONS))
    if generation not in _SCOPED:
        return {"KarpenterControllerPolicy": _document(*_unscoped(scope))}
    return {
        "NodeLifecyclePolicy": _document(*_node_lifecycle(scope)),
        "IAMIntegrationPolicy": _document(*_iam(scope)),
        "EKSIntegrationPolicy": _document(
            _allow("AllowAPIServerEndpointDiscovery", "eks:DescribeCluster", scope.cluster_arn)
        ),
        "InterruptionPolicy": _document(_queue(scope)),
        "ZonalShiftPolicy": _document(
            _allow(
                "AllowZonalShiftStatusReadOnly",
                "arc-zonal-shift:GetManagedResource",
                "*",
                StringEquals={"arc-zonal-shift:ResourceIdentifier": scope.cluster_arn},
            )
        ),
        "ResourceDiscoveryPolicy": _document(*_discovery(scope)),
    }


_FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "cluster": (r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", "letters, digits, - and _, at most 100"),
    "region": (r"[a-z]+(-[a-z]+)+-[0-9]+|\*", "a region such as us-west-2"),
    "account": (r"[0-9]{12}|\*", "twelve digits"),
    "node_role": (r"(([\w+=,.@-]+/)*[\w+=,.@-]{1,64})?", "a role's name, with its path if it has one"),
    "queue": (r"([A-Za-z0-9_-]{1,80})?", "letters, digits, - and _, at most 80"),
}
"""What names look like. A sign that IAM reads as "any" must not come in by a slip."""
_LONGEST_ROLE: Final = 64


def _check(scope: PolicyScope) -> None:
    for field, (form, accepted) in _FORMS.items():
        text = getattr(scope, field)
        if not re.fullmatch(form, text, re.ASCII):
            raise InvalidObject(f"found {shown(text)}", path=field, accepted=accepted)
    if not scope.node_role and len(scope.usual_node_role) > _LONGEST_ROLE:
        problem = f"{scope.usual_node_role} is longer than the {_LONGEST_ROLE} letters that IAM takes"
        raise InvalidObject(problem, path="node_role", accepted="the name of the role that nodes have")


_PARTITIONS: Final = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "eu-isoe-": "aws-iso-e",
    "us-isof-": "aws-iso-f",
    "eusc-": "aws-eusc",
}


def partition_of(region: str) -> str:
    """The partition that a region is in, as names of resources begin with it.

    >>> partition_of("eu-central-1"), partition_of("cn-north-1")
    ('aws', 'aws-cn')
    """
    return next((partition for prefix, partition in _PARTITIONS.items() if region.startswith(prefix)), "aws")


def actions_of(documents: Iterable[Document]) -> frozenset[str]:
    """All actions that the documents allow."""
    return frozenset(action for document in documents for part in document["Statement"] for action in part["Action"])


def _document(*statements: Document) -> Document:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _allow(
    sid: str, actions: str | Iterable[str], resources: str | Iterable[str], **conditions: Mapping[str, Any]
) -> Document:
    """One statement. Conditions are by operator; ``IfExists`` is part of its name."""
    found: Document = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": [actions] if isinstance(actions, str) else list(actions),
        "Resource": [resources] if isinstance(resources, str) else list(resources),
    }
    return found | ({"Condition": conditions} if conditions else {})


def _queue(scope: PolicyScope) -> Document:
    actions = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
    return _allow("AllowInterruptionQueueActions", actions, scope.arn("sqs", scope.queue or scope.cluster))


def _pass_role(scope: PolicyScope) -> Document:
    services = ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]
    return _allow(
        "AllowPassingInstanceRole", "iam:PassRole", scope.node_role_arn, StringEquals={"iam:PassedToService": services}
    )


def _node_lifecycle(scope: PolicyScope) -> tuple[Document, ...]:
    def arns(*kinds: str) -> list[str]:
        return [scope.arn("ec2", f"{kind}/*", account="*") for kind in kinds]

    launch = ("ec2:RunInstances", "ec2:CreateFleet")
    made = arns("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
    public = [scope.arn("ec2", f"{kind}/*", account="") for kind in ("image", "snapshot")]
    used = public + arns("security-group", "subnet", "capacity-reservation", "placement-group")
    is_owned = {f"aws:ResourceTag/{scope.owned}": "owned"}
    has_pool = {f"aws:ResourceTag/{core.NODEPOOL}": "*"}
    asks_owned = {f"aws:RequestTag/{scope.owned}": "owned", f"aws:RequestTag/{CLUSTER_NAME_TAG}": scope.cluster}
    asks_pool = {f"aws:RequestTag/{core.NODEPOOL}": "*"}
    creating = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    retagging: Mapping[str, Mapping[str, Any]] = {
        "StringEquals": is_owned,
        "StringLike": has_pool,
        "StringEqualsIfExists": {f"aws:RequestTag/{CLUSTER_NAME_TAG}": scope.cluster},
        "ForAllValues:StringEquals": {"aws:TagKeys": [CLUSTER_NAME_TAG, NODE_CLAIM_TAG, NAME_TAG]},
    }
    return (
        _allow("AllowScopedEC2InstanceAccessActions", launch, used),
        _allow(
            "AllowScopedEC2LaunchTemplateAccessActions",
            launch,
            arns("launch-template"),
            StringEquals=is_owned,
            StringLike=has_pool,
        ),
        _allow(
            "AllowScopedEC2InstanceActionsWithTags",
            (*launch, "ec2:CreateLaunchTemplate"),
            made,
            StringEquals=asks_owned,
            StringLike=asks_pool,
        ),
        _allow(
            "AllowScopedResourceCreationTagging",
            "ec2:CreateTags",
            made,
            StringEquals=asks_owned | creating,
            StringLike=asks_pool,
        ),
        _allow(
            "AllowScopedResourceTagging",
            "ec2:CreateTags",
            arns("instance"),
            **retagging,
        ),
        _allow(
            "AllowScopedDeletion",
            ("ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"),
            arns("instance", "launch-template"),
            StringEquals=is_owned,
            StringLike=has_pool,
        ),
    )


def _iam(scope: PolicyScope) -> tuple[Document, ...]:
    profiles = scope.arn("iam", "instance-profile/*", region="")

    def tagged(where: str, *, named: bool) -> dict[str, str]:
        tags = {scope.owned: "owned", _REGION_TAG: scope.region} | ({CLUSTER_NAME_TAG: scope.cluster} if named else {})
        return {f"aws:{where}/{key}": value for key, value in tags.items() if value != ANY}

    has_class, asks_class = ({f"aws:{where}/{labels.NODE_CLASS}": "*"} for where in ("ResourceTag", "RequestTag"))
    return (
        _pass_role(scope),
        _allow(
            "AllowScopedInstanceProfileCreationActions",
            "iam:CreateInstanceProfile",
            profiles,
            StringEquals=tagged("RequestTag", named=True),
            StringLike=asks_class,
        ),
        _allow(
            "AllowScopedInstanceProfileTagActions",
            "iam:TagInstanceProfile",
            profiles,
            StringEquals=tagged("ResourceTag", named=False) | tagged("RequestTag", named=True),
            StringLike=has_class | asks_class,
        ),
        _allow(
            "AllowScopedInstanceProfileActions",
            ("iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"),
            profiles,
            StringEquals=tagged("ResourceTag", named=False),
            StringLike=has_class,
        ),
    )


def _discovery(scope: PolicyScope) -> tuple[Document, ...]:
    reads = [f"ec2:Describe{name}" for name in _READS]
    where = {} if scope.region == ANY else {"StringEquals": {"aws:RequestedRegion": scope.region}}
    return (
        _allow("AllowRegionalReadActions", reads, "*", **where),
        _allow("AllowSSMReadActions", "ssm:GetParameter", scope.arn("ssm", "parameter/aws/service/*", account="")),
        _allow("AllowPricingReadActions", "pricing:GetProducts", "*"),
        _allow("AllowUnscopedInstanceProfileListAction", "iam:ListInstanceProfiles", "*"),
        _allow(
            "AllowInstanceProfileReadActions",
            "iam:GetInstanceProfile",
            scope.arn("iam", "instance-profile/*", region=""),
        ),
    )


_NEWER: Final = frozenset({"CapacityReservations", "PlacementGroups"})


def _unscoped(scope: PolicyScope) -> tuple[Document, ...]:
    """Node classes of older generations have neither reservations nor groups, and name their profile themselves.

    karpy looks after their machines' health and after profiles that are left over all the same, and so reads a little more than
    Karpenter did.
    """
    changes = (
        "CreateFleet",
        "CreateLaunchTemplate",
        "CreateTags",
        "DeleteLaunchTemplate",
        "RunInstances",
        "TerminateInstances",
    )
    reads = (f"Describe{name}" for name in _READS if name not in _NEWER)
    others = ("iam:ListInstanceProfiles", "pricing:GetProducts", "ssm:GetParameter")
    return (
        _allow("AllowEC2", [*(f"ec2:{name}" for name in (*changes, *reads)), *others], "*"),
        _queue(scope),
        _pass_role(scope),
        _allow("AllowAPIServerEndpointDiscovery", "eks:DescribeCluster", scope.cluster_arn),
    )

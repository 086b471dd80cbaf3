"""What AWS answers when it refuses: the one place that knows its error codes.

`AWSError` is what a refused call raises. `classify` says what an error means for a launch, a read or a removal, and
`launch_reason` what of it belongs on a NodeClaim's condition. A fleet's own errors come as values inside a reply that
succeeded, so both take the code and the message, and no exception.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from karpy.errors import ProviderError, Throttled, plain

__all__ = [
    "CREDENTIALS_MISSING",
    "INVALID_REQUEST",
    "REGION_MISSING",
    "TIMED_OUT",
    "UNREACHABLE",
    "UNREADABLE",
    "AWSError",
    "AWSThrottled",
    "ErrorClass",
    "LaunchReason",
    "aws_error",
    "classify",
    "launch_reason",
    "permissions",
    "resource_named_in",
]

CREDENTIALS_MISSING: Final = "CredentialsMissing"
REGION_MISSING: Final = "RegionMissing"
UNREACHABLE: Final = "EndpointUnreachable"
TIMED_OUT: Final = "TimedOut"
UNREADABLE: Final = "UnreadableAnswer"
INVALID_REQUEST: Final = "InvalidRequest"
"""Codes of karpy's own, for calls that AWS did not get or whose answer did not come."""


class ErrorClass(enum.StrEnum):
    """What an error means. One may mean several things."""

    UNFULFILLABLE = "unfulfillable"
    """The offering is not to be had for now, another may be."""
    NO_ADDRESSES = "no_addresses"
    RESERVATION_EXCEEDED = "reservation_exceeded"
    SPREAD_LIMIT = "spread_limit"
    """The placement group takes no more machines in that zone."""
    NO_SERVICE_LINKED_ROLE = "no_service_linked_role"
    """The account has never used spot, and the caller may not make the role for it."""
    NOT_FOUND = "not_found"
    LAUNCH_TEMPLATE_NOT_FOUND = "launch_template_not_found"
    """A template that a cache still knows: the launch is tried once more with a new one."""
    INSTANCE_PROFILE_NOT_FOUND = "instance_profile_not_found"
    ALREADY_EXISTS = "already_exists"
    USER_DATA_TOO_LARGE = "user_data_too_large"
    UNAUTHORIZED = "unauthorized"
    CREDENTIALS = "credentials"
    """The caller is nobody: no credentials, or some that expired or are another account's."""
    THROTTLED = "throttled"
    DRY_RUN_SUCCEEDED = "dry_run_succeeded"
    SERVER = "server"
    """AWS itself failed."""


_LAUNCH_TEMPLATE_NAME_NOT_FOUND: Final = "InvalidLaunchTemplateName.NotFoundException"
_RESERVATION_EXCEEDED: Final = "ReservationCapacityExceeded"
_NO_ADDRESSES: Final = "InsufficientFreeAddressesInSubnet"
_SPREAD_LIMIT: Final = "limit of instances in this spread placement group"

_CODES: Final[Mapping[ErrorClass, frozenset[str]]] = {
    ErrorClass.UNFULFILLABLE: frozenset(
        {
            "InsufficientInstanceCapacity",
            "MaxSpotInstanceCountExceeded",
            "VcpuLimitExceeded",
            "UnfulfillableCapacity",
            "Unsupported",
            "MaxFleetCountExceeded",
            _NO_ADDRESSES,
            _RESERVATION_EXCEEDED,
        }
    ),
    ErrorClass.NO_ADDRESSES: frozenset({_NO_ADDRESSES}),
    ErrorClass.RESERVATION_EXCEEDED: frozenset({_RESERVATION_EXCEEDED}),
    ErrorClass.NO_SERVICE_LINKED_ROLE: frozenset({"AuthFailure.ServiceLinkedRoleCreationNotPermitted"}),
    ErrorClass.NOT_FOUND: frozenset(
        {
            "InvalidInstanceID.NotFound",
            "InvalidLaunchTemplateId.NotFound",
            "InvalidCapacityReservationId.NotFound",
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",  # the same, as the query protocol of SQS spells it
            "NoSuchEntity",
            "ParameterNotFound",
            _LAUNCH_TEMPLATE_NAME_NOT_FOUND,
        }
    ),
    ErrorClass.LAUNCH_TEMPLATE_NOT_FOUND: frozenset({_LAUNCH_TEMPLATE_NAME_NOT_FOUND}),
    ErrorClass.ALREADY_EXISTS: frozenset({"EntityAlreadyExists"}),
    ErrorClass.UNAUTHORIZED: frozenset(
        {
            "UnauthorizedOperation",
            "AccessDenied",
            "AccessDeniedException",
            "AuthorizationError",
            "AuthorizationErrorException",
        }
    ),
    ErrorClass.CREDENTIALS: frozenset(
        {
            CREDENTIALS_MISSING,
            "ExpiredToken",
            "ExpiredTokenException",
            "RequestExpired",
            "InvalidClientTokenId",
            "InvalidIdentityToken",
            "UnrecognizedClientException",
            "SignatureDoesNotMatch",
        }
    ),
    ErrorClass.THROTTLED: frozenset(
        {
            "RequestLimitExceeded",
            "Throttling",
            "ThrottlingException",
            "ThrottledException",
            "RequestThrottled",
            "TooManyRequestsException",
            "SlowDown",
        }
    ),
    ErrorClass.DRY_RUN_SUCCEEDED: frozenset({"DryRunOperation"}),
}
_TEXTS: Final[Mapping[ErrorClass, tuple[str, str]]] = {
    ErrorClass.INSTANCE_PROFILE_NOT_FOUND: ("InvalidParameterValue", "Invalid IAM Instance Profile name"),
    ErrorClass.USER_DATA_TOO_LARGE: ("InvalidUserData.Malformed", "User data is limited to"),
    ErrorClass.CREDENTIALS: ("AuthFailure", "validate the provided access credentials"),
    ErrorClass.SPREAD_LIMIT: ("InsufficientInstanceCapacity", _SPREAD_LIMIT),
}
"""Where the code alone says too little: code, and what the message must hold."""


def classify(code: str, message: str = "", status: int = 0) -> frozenset[ErrorClass]:
    """What an error means; ``status`` is that of the HTTP answer, 0 for an error inside a fleet's reply.

    >>> sorted(classify("InsufficientFreeAddressesInSubnet"))
    [<ErrorClass.NO_ADDRESSES: 'no_addresses'>, <ErrorClass.UNFULFILLABLE: 'unfulfillable'>]
    """
    found = {kind for kind, codes in _CODES.items() if code in codes}
    found.update(kind for kind, (its_code, text) in _TEXTS.items() if code == its_code and text in message)
    if status >= 500:
        found.add(ErrorClass.SERVER)
    return frozenset(found)


@attrs.frozen
class LaunchReason:
    """What a NodeClaim's ``Launched`` condition says of a launch that failed."""

    reason: str
    message: str


def _unauthorized(because: str) -> LaunchReason:
    return LaunchReason("Unauthorized", f"User is not authorized to perform this operation {because}")


_IMAGE_REFUSED: Final = LaunchReason(
    "AMIAuthorizationFailure", "User is not authorized for AMI used in instance launch"
)
_NO_POLICY: Final = _unauthorized("because no identity-based policy allows it")
_REASONS: Final[tuple[tuple[str, LaunchReason], ...]] = (
    (
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
        LaunchReason(
            "SpotSLRCreationFailed",
            "User does not have sufficient permission to create the Spot ServiceLinkedRole to launch spot instances",
        ),
    ),
    ("explicit deny in a permissions boundary", _unauthorized("due to a permission boundary")),
    ("explicit deny in a service control policy", _unauthorized("due to a service control policy")),
    ("Not authorized for images", _IMAGE_REFUSED),
    ("UnauthorizedOperation", _NO_POLICY),
    ("AccessDenied", _NO_POLICY),
    ("AuthFailure", _NO_POLICY),
    (
        "belong to different networks",
        LaunchReason("SecurityGroupSubnetVPCMismatch", "Security groups and subnets must be in the same VPC."),
    ),
    (
        "Invalid IAM Instance Profile name",
        LaunchReason(
            "InstanceProfileNameInvalid", "Instance profile name used from EC2NodeClass status does not exist"
        ),
    ),
    (
        "InvalidLaunchTemplateId.NotFound",
        LaunchReason("LaunchTemplateNotFound", "Launch template used for instance launch wasn't found"),
    ),
    (
        "User data is limited to",
        LaunchReason("UserDataSizeLimitExceeded", "Rendered user data exceeds the EC2 user data size limit"),
    ),
    ("InvalidAMIID.Malformed", LaunchReason("InvalidAMIID", "AMI used for instance launch is invalid")),
    (
        "InvalidAMIID.NotFound",
        LaunchReason(
            "AMINotFound", "AMI used for instance launch either does not exist or you don't have permissions to use it"
        ),
    ),
    ("RequestLimitExceeded", LaunchReason("RequestLimitExceeded", "Request limit exceeded")),
    ("InternalError", LaunchReason("InternalError", "An internal error has occurred")),
    (
        "not eligible for Free Tier",
        LaunchReason("FreeTierIneligible", "The specified instance type is not eligible for Free Tier"),
    ),
    (
        "MaxFleetCountExceeded",
        LaunchReason(
            "FleetQuotaExceeded", "A fleet launch was requested but this would exceed your fleet request quota"
        ),
    ),
    (
        "PendingVerification",
        LaunchReason(
            "AccountPendingVerification",
            "An instance launch was requested but the request for launching resources in this region is still being "
            "verified",
        ),
    ),
    (
        "MaxSpotInstanceCountExceeded",
        LaunchReason(
            "SpotQuotaExceeded",
            "A spot instance launch was requested but this would exceed your spot instance quota",
        ),
    ),
    (
        "VcpuLimitExceeded",
        LaunchReason("VCPULimitExceeded", "An instance was requested that would exceed your VCPU quota"),
    ),
    (
        _NO_ADDRESSES,
        LaunchReason(_NO_ADDRESSES, "There are not enough free IP addresses to launch an instance in this subnet"),
    ),
)
"""The first whose text stands in the code or the message is right. Reasons and messages are Karpenter's, which people search
for and write alerts on."""
_LAUNCH_FAILED: Final = LaunchReason("LaunchFailed", "Instance launch failed")


def launch_reason(code: str, message: str = "") -> LaunchReason:
    """What to tell of a launch that ended with this error.

    >>> launch_reason("VcpuLimitExceeded").reason
    'VCPULimitExceeded'
    """
    told = f"{code}: {message}"
    return next((reason for text, reason in _REASONS if text in told), _LAUNCH_FAILED)


_FINAL: Final = frozenset(
    {ErrorClass.UNAUTHORIZED, ErrorClass.NOT_FOUND, ErrorClass.ALREADY_EXISTS, ErrorClass.USER_DATA_TOO_LARGE}
)
"""The same call gives the same answer until somebody does something about it."""


class AWSError(ProviderError):
    """A call that AWS refused, or that never reached it.

    ``call`` is also the name of the IAM action (``ec2:CreateFleet``), ``resource`` what the call was about, where it names it.
    """

    def __init__(self, call: str, code: str, message: str = "", *, status: int = 0, resource: str = "") -> None:
        self.call = call
        self.code = code
        self.message = message
        self.status = status
        self.resource = resource
        self.classes = classify(code, message, status)
        self.retryable = not self.classes & _FINAL and not code.startswith("Invalid")
        super().__init__(message)
        self.args = (call, code, message)

    @property
    def reason(self) -> LaunchReason:
        return launch_reason(self.code, self.message)

    def has(self, kind: ErrorClass) -> bool:
        return kind in self.classes

    def __str__(self) -> str:
        about = f" of {plain(self.resource)}" if self.resource else ""
        told = ": ".join(part for part in (self.code, self.message) if part)
        return f"{self.call}{about}: {told}{self._advice()}"

    def _advice(self) -> str:
        if self.has(ErrorClass.UNAUTHORIZED):
            return f" (the controller's role needs {' and '.join(permissions(self.call))})"
        if self.has(ErrorClass.CREDENTIALS):
            return " (the controller needs valid credentials: IRSA, EKS Pod Identity or an AWS profile)"
        if self.code in (UNREACHABLE, TIMED_OUT):
            return " (is the region right, and is there a route or a VPC endpoint to the service?)"
        return ""


class AWSThrottled(AWSError, Throttled):
    """The same, where AWS asks to slow down. It names no time to wait."""


def aws_error(call: str, code: str, message: str = "", *, status: int = 0, resource: str = "") -> AWSError:
    """The error to raise for an answer with this code."""
    kind = AWSThrottled if ErrorClass.THROTTLED in classify(code) else AWSError
    return kind(call, code, message, status=status, resource=resource)


_LAUNCHING: Final = ("ec2:RunInstances", "ec2:CreateTags", "iam:PassRole")
_FURTHER_PERMISSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "ec2:CreateFleet": _LAUNCHING,
    "ec2:RunInstances": _LAUNCHING[1:],
    "ec2:CreateLaunchTemplate": ("ec2:CreateTags",),
    "iam:CreateInstanceProfile": ("iam:TagInstanceProfile",),
    "iam:AddRoleToInstanceProfile": ("iam:PassRole",),
}


def permissions(call: str) -> tuple[str, ...]:
    """The IAM actions that a call needs, its own first."""
    return (call, *_FURTHER_PERMISSIONS.get(call, ()))


_NAMING: Final = (
    *("LaunchTemplateName", "LaunchTemplateNames", "LaunchTemplateId", "LaunchTemplateIds", "InstanceIds", "ImageIds"),
    *("CapacityReservationIds", "GroupNames", "GroupIds", "Resources", "InstanceProfileName", "Name", "name"),
    *("QueueName", "QueueUrl", "resourceIdentifier", "LaunchTemplate", "LaunchTemplateConfigs", "Filters"),
)
"""The members of requests that name what they are about, the more telling first."""
_SHOWN_NAMES: Final = 3


def resource_named_in(request: Mapping[str, Any]) -> str:
    """What a request is about, as an error tells it; empty when it names nothing.

    >>> resource_named_in({"InstanceIds": ["i-1", "i-2", "i-3", "i-4"]})
    'i-1, i-2, i-3 and 1 more'
    """
    names = next((found for member in _NAMING if (found := [*_names(request.get(member))])), [])
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)
    elif isinstance(value, Mapping) and "Values" in value:  # a filter
        yield f"{value.get('Name')}={'|'.join(value['Values'])}"
    elif isinstance(value, Mapping):  # a launch template, or what a fleet wants of one
        yield from _names(
            value.get("LaunchTemplateName") or value.get("LaunchTemplateId") or value.get("LaunchTemplateSpecification")
        )

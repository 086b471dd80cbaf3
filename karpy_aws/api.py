"""The calls to AWS that karpy makes, as narrow protocols, and the only module that imports the SDK.

A request and its answer are dicts in the shape that botocore gives them, so builders and readers of them are pure functions
elsewhere. Everything goes through one `Transport`: `connect` gives the one over boto3, `karpy_aws.testing` one over a cloud in
memory. Whatever goes wrong comes out as an `AWSError` that names the call, what it was about and what is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Protocol, cast

import attrs

from karpy.errors import PluginError
from karpy_aws.errors import (
    CREDENTIALS_MISSING,
    INVALID_REQUEST,
    REGION_MISSING,
    TIMED_OUT,
    UNREACHABLE,
    UNREADABLE,
    AWSError,
    aws_error,
    resource_named_in,
)

__all__ = [
    "EC2API",
    "EKSAPI",
    "IAMAPI",
    "SERVICES",
    "SQSAPI",
    "SSMAPI",
    "APIs",
    "Connection",
    "PricingAPI",
    "Request",
    "Response",
    "Transport",
    "ZonalShiftAPI",
    "apis",
    "connect",
    "items",
    "pages",
]

Request = Mapping[str, Any]
Response = dict[str, Any]


class EC2API(Protocol):
    """What karpy asks of EC2."""

    def describe_instance_types(self, request: Request) -> Response: ...
    def describe_instance_type_offerings(self, request: Request) -> Response: ...
    def describe_spot_price_history(self, request: Request) -> Response: ...
    def describe_subnets(self, request: Request) -> Response: ...
    def describe_security_groups(self, request: Request) -> Response: ...
    def describe_images(self, request: Request) -> Response: ...
    def describe_capacity_reservations(self, request: Request) -> Response: ...
    def describe_placement_groups(self, request: Request) -> Response: ...
    def describe_launch_templates(self, request: Request) -> Response: ...
    def create_launch_template(self, request: Request) -> Response: ...
    def delete_launch_template(self, request: Request) -> Response: ...
    def create_fleet(self, request: Request) -> Response: ...
    def run_instances(self, request: Request) -> Response: ...
    def describe_instances(self, request: Request) -> Response: ...
    def describe_instance_status(self, request: Request) -> Response: ...
    def terminate_instances(self, request: Request) -> Response: ...
    def create_tags(self, request: Request) -> Response: ...


class SSMAPI(Protocol):
    """The parameters that name the newest images."""

    def get_parameter(self, request: Request) -> Response: ...


class IAMAPI(Protocol):
    """Instance profiles."""

    def get_instance_profile(self, request: Request) -> Response: ...
    def list_instance_profiles(self, request: Request) -> Response: ...
    def create_instance_profile(self, request: Request) -> Response: ...
    def delete_instance_profile(self, request: Request) -> Response: ...
    def tag_instance_profile(self, request: Request) -> Response: ...
    def add_role_to_instance_profile(self, request: Request) -> Response: ...
    def remove_role_from_instance_profile(self, request: Request) -> Response: ...


class SQSAPI(Protocol):
    """The queue of interruptions."""

    def get_queue_url(self, request: Request) -> Response: ...
    def receive_message(self, request: Request) -> Response: ...
    def delete_message(self, request: Request) -> Response: ...


class PricingAPI(Protocol):
    """On-demand prices."""

    def get_products(self, request: Request) -> Response: ...


class EKSAPI(Protocol):
    """Facts of the cluster."""

    def describe_cluster(self, request: Request) -> Response: ...


class ZonalShiftAPI(Protocol):
    """Which zones traffic was shifted away from."""

    def get_managed_resource(self, request: Request) -> Response: ...


@attrs.frozen(kw_only=True)
class APIs:
    """All services together."""

    ec2: EC2API
    ssm: SSMAPI
    iam: IAMAPI
    sqs: SQSAPI
    pricing: PricingAPI
    eks: EKSAPI
    zonal_shift: ZonalShiftAPI
    region: str


SERVICES: Final[Mapping[str, type]] = {
    "ec2": EC2API,
    "ssm": SSMAPI,
    "iam": IAMAPI,
    "sqs": SQSAPI,
    "pricing": PricingAPI,
    "eks": EKSAPI,
    "arc-zonal-shift": ZonalShiftAPI,
}
"""The name that AWS has for each service, in the SDK and in IAM's actions, and what karpy asks of it."""


class Transport(Protocol):
    """Carries calls to AWS, or to something that acts like it. Used from many threads."""

    def call(self, service: str, operation: str, request: Request) -> Response:
        """The answer to ``operation`` (``DescribeInstances``) of ``service`` (``ec2``).

        Raises:
            AWSError: whatever went wrong.
        """
        ...


class _Service:
    """The methods of one protocol over a transport."""

    def __init__(self, transport: Transport, service: str) -> None:
        self._transport = transport
        self._service = service

    def __getattr__(self, name: str) -> Callable[[Request], Response]:
        if name not in vars(SERVICES[self._service]):
            raise AttributeError(f"karpy does not ask {name} of {self._service}")
        return partial(self._transport.call, self._service, "".join(word.capitalize() for word in name.split("_")))


def apis(transport: Transport, region: str) -> APIs:
    """The protocols over a transport."""
    return APIs(
        ec2=cast("EC2API", _Service(transport, "ec2")),
        ssm=cast("SSMAPI", _Service(transport, "ssm")),
        iam=cast("IAMAPI", _Service(transport, "iam")),
        sqs=cast("SQSAPI", _Service(transport, "sqs")),
        pricing=cast("PricingAPI", _Service(transport, "pricing")),
        eks=cast("EKSAPI", _Service(transport, "eks")),
        zonal_shift=cast("ZonalShiftAPI", _Service(transport, "arc-zonal-shift")),
        region=region,
    )


def pages(call: Callable[[Request], Response], request: Request) -> Iterator[Response]:
    """The answer to ``request`` page by page: most services hand on a ``NextToken``, IAM a ``Marker``.

    Raises:
        AWSError: a page failed, or a service hands out one token for ever.
    """
    seen: set[str] = set()
    asked = dict(request)
    while True:
        answer = call(asked)
        yield answer
        member, token = _continuation(answer)
        if not token:
            return
        if token in seen:
            raise AWSError(
                "paging", UNREADABLE, "the same page comes again and again", resource=resource_named_in(request)
            )
        seen.add(token)
        asked = {**request, member: token}


def _continuation(answer: Response) -> tuple[str, str]:
    if answer.get("IsTruncated"):
        return "Marker", answer.get("Marker", "")
    return "NextToken", answer.get("NextToken") or ""


def items(call: Callable[[Request], Response], request: Request, member: str) -> Iterator[Any]:
    """What the pages of an answer list as ``member``: ``items(ec2.describe_subnets, {}, "Subnets")``."""
    for page in pages(call, request):
        yield from page.get(member) or ()


@attrs.frozen(kw_only=True)
class Connection:
    """How AWS is reached. What is left empty is found by the SDK itself: region and credentials from the environment, the
    service account or the machine. Times are seconds."""

    region: str = ""
    endpoint_urls: Mapping[str, str] = attrs.field(factory=dict)
    """By service; ``""`` for all that are not named."""
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 60.0
    """Longer than the twenty seconds that a queue is waited on."""
    max_attempts: int = 4
    """Of each call, with growing pauses; what EC2 refuses for want of capacity is not tried again."""
    max_connections: int = 100
    user_agent: str = "karpy"


def connect(connection: Connection | None = None) -> APIs:
    """AWS over boto3. Makes no call, except for the region on a machine whose environment does not name it.

    Raises:
        PluginError: boto3 is not installed.
        AWSError: there is no telling which region is meant.
    """
    connection = connection or Connection()
    try:
        transport = _Boto(connection)
    except ImportError as error:
        raise PluginError(f"cloud provider 'aws': {error}; install karpy[aws]") from error
    return apis(transport, transport.region)


_PRICING_REGIONS: Final = {"ap-": "ap-south-1", "cn-": "cn-northwest-1", "eu-": "eu-central-1"}
"""Prices are told in few regions; the nearest is asked."""


def _region_for(service: str, region: str) -> str:
    if service != "pricing":
        return region
    return next((asked for prefix, asked in _PRICING_REGIONS.items() if region.startswith(prefix)), "us-east-1")


class _Boto:
    """A transport over boto3. Clients are made when they are first needed; once made they are shared by all threads."""

    def __init__(self, connection: Connection) -> None:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        self._connection = connection
        try:
            self._session = boto3.session.Session(region_name=connection.region or None)
            self.region = self._session.region_name or _region_of_the_machine()
        except BotoCoreError as error:  # such as a profile that the SDK's own files do not have
            raise aws_error("connecting to AWS", _code_of(error), str(error)) from error
        self._config = Config(
            connect_timeout=connection.connect_timeout_s,
            read_timeout=connection.read_timeout_s,
            retries={"mode": "standard", "total_max_attempts": connection.max_attempts},
            max_pool_connections=connection.max_connections,
            user_agent_extra=connection.user_agent,
        )
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()  # sessions are not made for threads, clients are

    def call(self, service: str, operation: str, request: Request) -> Response:
        from botocore import xform_name
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        about = resource_named_in(request)
        try:
            method = getattr(self._client(service), xform_name(operation))
            answer = cast("Response", method(**request))
        except ClientError as error:
            # credentials are fetched on the way: then it is that call which was refused
            asked = f"{service}:{operation}" if error.operation_name == operation else f"sts:{error.operation_name}"
            told = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            raise aws_error(
                asked, told.get("Code", ""), told.get("Message", ""), status=status, resource=about
            ) from error
        except (BotoCoreError, ResponseParserError, ValueError) as error:  # a URL that is none is a ValueError
            raise aws_error(f"{service}:{operation}", _code_of(error), str(error), resource=about) from error
        answer.pop("ResponseMetadata", None)
        return answer

    def _client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                urls = self._connection.endpoint_urls
                self._clients[service] = self._session.client(
                    service,
                    region_name=_region_for(service, self.region),
                    endpoint_url=urls.get(service, urls.get("")),
                    config=self._config,
                )
            return self._clients[service]


def _region_of_the_machine() -> str:
    """What the metadata service of an EC2 instance says."""
    from botocore.utils import InstanceMetadataRegionFetcher

    region = InstanceMetadataRegionFetcher().retrieve_region()
    if not region:
        raise aws_error(
            "connecting to AWS",
            REGION_MISSING,
            "no region is set: set AWS_REGION, or region in the SDK's configuration",
        )
    return str(region)


def _code_of(error: Exception) -> str:
    """A code for what the SDK says by itself, without an answer from AWS."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    codes: Mapping[str, tuple[type[Exception], ...]] = {
        CREDENTIALS_MISSING: (
            *(exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.CredentialRetrievalError),
            *(exceptions.TokenRetrievalError, exceptions.ProfileNotFound, exceptions.SSOError),
        ),
        REGION_MISSING: (exceptions.NoRegionError,),
        TIMED_OUT: (exceptions.ConnectTimeoutError, exceptions.ReadTimeoutError),
        INVALID_REQUEST: (exceptions.ParamValidationError,),
        UNREACHABLE: (
            *(exceptions.ConnectionError, exceptions.HTTPClientError, exceptions.EndpointResolutionError),
            ValueError,
        ),
        UNREADABLE: (ResponseParserError,),
    }
    return next((code for code, kinds in codes.items() if isinstance(error, kinds)), type(error).__name__)

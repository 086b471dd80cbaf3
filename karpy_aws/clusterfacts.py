"""What machines must know of the cluster that they join: where its API server is, who signs for it, its version and its addresses.

What the settings do not say EKS does. An endpoint must be known; a cluster that EKS does not run, or that may not be asked about,
goes without what only EKS could have told.
"""

from __future__ import annotations

import ipaddress
import re
import threading
from collections.abc import Mapping
from typing import Any, Final

import attrs

from karpy.clock import Clock, SystemClock
from karpy.errors import InvalidObject, shown
from karpy_aws.api import EC2API, EKSAPI
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.settings import AWSSettings

__all__ = ["Cluster", "ClusterFacts", "Seen", "check_access", "discover", "minor_version", "version_problem"]

_REFRESH_S: Final = 300.0
_OLDEST: Final = (1, 26)
_NEWEST: Final = (1, 36)
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
_DNS_ADDRESS: Final = 10
"""EKS gives its DNS service the tenth address of the services' range."""


@attrs.frozen(kw_only=True)
class ClusterFacts:
    """What is known. What is not is empty."""

    name: str
    endpoint: str
    ca_bundle: str = ""
    version: str = ""
    """``1.34``."""
    service_cidr: str = ""
    dns_ip: str = ""
    arn: str = ""

    @property
    def is_ipv6(self) -> bool:
        """The family of the addresses is that of the DNS service."""
        return ":" in self.dns_ip


@attrs.frozen(kw_only=True)
class Seen:
    """What the core saw of the cluster through its API server."""

    version: str = ""
    dns_ip: str = ""
    ca_bundle: str = ""


def discover(eks: EKSAPI, settings: AWSSettings, seen: Seen | None = None) -> ClusterFacts:
    """Ask EKS and put together what settings, API server and EKS say; the settings count most.

    Raises:
        AWSError: EKS does not answer, and the endpoint or the version that it was to tell is in no setting.
        InvalidObject: a version that is none.
    """
    seen = seen or Seen()
    told = _describe(eks, settings)
    network = told.get("kubernetesNetworkConfig") or {}
    cidr = network.get("serviceIpv6Cidr") or network.get("serviceIpv4Cidr") or ""
    version = told.get("version", "") if settings.eks_control_plane else seen.version or told.get("version", "")
    return ClusterFacts(
        name=settings.cluster_name,
        endpoint=settings.cluster_endpoint or told.get("endpoint", ""),
        ca_bundle=settings.cluster_ca_bundle
        or seen.ca_bundle
        or (told.get("certificateAuthority") or {}).get("data", ""),
        version=minor_version(version) if version else "",
        service_cidr=cidr,
        dns_ip=seen.dns_ip or _dns_ip(cidr),
        arn=told.get("arn", ""),
    )


def _describe(eks: EKSAPI, settings: AWSSettings) -> Mapping[str, Any]:
    """The cluster as EKS has it; nothing where it is not needed and not to be had."""
    try:
        found: Mapping[str, Any] = eks.describe_cluster({"name": settings.cluster_name})["cluster"]
    except AWSError:
        if settings.eks_control_plane or not settings.cluster_endpoint:
            raise
        return {}
    return found


def _dns_ip(cidr: str) -> str:
    return str(ipaddress.ip_network(cidr)[_DNS_ADDRESS]) if cidr else ""


def minor_version(text: str) -> str:
    """Major and minor part of a version, as image names and parameters have it.

    >>> minor_version("v1.34.2-eks-1a2b3c"), minor_version("1.34+")
    ('1.34', '1.34')

    Raises:
        InvalidObject: it is no version.
    """
    found = _VERSION.match(text)
    if found is None:
        raise InvalidObject(f"found {shown(text)}", path="version", accepted="a version such as 1.34")
    return f"{found[1]}.{found[2]}"


def version_problem(version: str) -> str:
    """What to warn of once, when the cluster is older or newer than karpy knows; empty otherwise. Nothing fails for it.

    >>> version_problem("1.34")
    ''
    """
    major, _, minor = version.partition(".")
    if _OLDEST <= (int(major), int(minor)) <= _NEWEST:
        return ""
    known = f"{_OLDEST[0]}.{_OLDEST[1]} to {_NEWEST[0]}.{_NEWEST[1]}"
    return f"Kubernetes {version} is not among the versions that are known to work, {known}"


class Cluster:
    """The facts, looked up again every five minutes. Once they are known a failure changes nothing."""

    def __init__(
        self, eks: EKSAPI, settings: AWSSettings, seen: Seen | None = None, *, clock: Clock | None = None
    ) -> None:
        self._eks = eks
        self._settings = settings
        self._seen = seen
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._facts: ClusterFacts | None = None
        self._until = 0.0

    @property
    def name(self) -> str:
        return self._settings.cluster_name

    def facts(self) -> ClusterFacts:
        """Raises: AWSError: nothing is known yet, and EKS does not tell."""
        with self._lock:
            now = self._clock.now()
            if self._facts is None or now >= self._until:
                try:
                    self._facts = discover(self._eks, self._settings, self._seen)
                except AWSError:
                    if self._facts is None:
                        raise
                self._until = now + _REFRESH_S
            return self._facts


def check_access(ec2: EC2API) -> None:
    """Whether EC2 can be reached and asked: a call that changes nothing. Some stand-ins for EC2 answer it as if it were meant.

    Raises:
        AWSError: naming the call and what is missing.
    """
    try:
        ec2.describe_instance_types({"DryRun": True})
    except AWSError as error:
        if not error.has(ErrorClass.DRY_RUN_SUCCEEDED):
            raise

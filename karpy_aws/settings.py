"""The settings of the EC2 provider, read from what each generation of Karpenter read them from.

Since 0.32 they are flags and environment variables; 0.25 had the ConfigMap ``karpenter-global-settings``; 0.5.3 had flags and
variables too, but fewer, and wanted the endpoint. Names and defaults are Karpenter's. All that is wrong is told at once.

Unlike Karpenter, a variable that cannot be read and a feature gate that is unknown are refused instead of passed over: a name or
a number with a slip would change nothing, and nobody would know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import attrs

from karpy.errors import InvalidObject, shown
from karpy.objects.duration import parse_duration
from karpy.settings import Settings

__all__ = [
    "CONFIG_MAP",
    "AWSSettings",
    "InvalidSettings",
    "flags_of",
    "read_config_map",
    "read_options",
    "read_v053_options",
]

CONFIG_MAP: Final = "karpenter-global-settings"

_IP_NAME: Final = "ip-name"
_CONVENTIONS: Final = (_IP_NAME, "resource-name")
_SHORTEST_REFRESH_S: Final = 60.0
_NODE_CLASS_CEL: Final = "NodeClassCEL"
_NO_GATES: Final[Mapping[str, bool]] = {}

Value = TypeVar("Value")


@attrs.frozen(kw_only=True)
class AWSSettings:
    """One value for all generations. Durations are seconds."""

    cluster_name: str
    cluster_endpoint: str = ""
    """Empty: EKS is asked for it."""
    cluster_ca_bundle: str = ""
    """PEM in base64; empty: EKS is asked for it."""
    interruption_queue: str = ""
    """The name of the queue of interruptions; empty: there is none."""
    isolated_vpc: bool = False
    """There is no way to services without an endpoint in the VPC: prices and IAM are left alone."""
    eks_control_plane: bool = False
    """The version is EKS's, not the API server's."""
    vm_memory_overhead_percent: float = 0.075
    """The part of a machine's memory that its hypervisor keeps, until a node of the type has told."""
    reserved_enis: int = 0
    """Network interfaces that pods get no addresses from."""
    disable_dry_run: bool = False
    """Node classes are not tried out with calls that change nothing."""
    enable_zonal_shift: bool = False
    ami_refresh_interval_s: float = 60.0
    subnet_refresh_interval_s: float = 60.0
    node_class_cel: bool = False
    """Feature gate NodeClassCEL: the kubelet block may have expressions."""

    default_instance_profile: str = ""
    """0.25: the profile of node templates that name none."""
    enable_pod_eni: bool = False
    """0.25: machines have room for interfaces of pods."""
    eni_limited_pod_density: bool = True
    """0.25: a machine takes as many pods as its interfaces have addresses, and else 110."""
    node_name_convention: str = _IP_NAME
    """Until 0.25: what EC2 names machines by."""
    tags: Mapping[str, str] = attrs.field(factory=dict)
    """0.25: on everything that is made, whatever its node template says."""


class InvalidSettings(InvalidObject):
    """Everything that is wrong with the settings, a line each."""

    def __init__(self, source: str, problems: Sequence[InvalidObject]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)), object_name=source)

    def __str__(self) -> str:
        return "\n".join(str(problem.at(object_name=self.object_name)) for problem in self.problems)


class _Reader:
    """Reads texts by name, and notes what it cannot read."""

    def __init__(self, source: str, given: Mapping[str, str]) -> None:
        self._source = source
        self._given = given
        self.problems: list[InvalidObject] = []

    def read(self, name: str, parse: Callable[[str], Value], default: Value) -> Value:
        """What ``name`` says, or the default when it says nothing or nothing that can be read."""
        text = self._given.get(name, "")
        if not text:
            return default
        try:
            return parse(text)
        except InvalidObject as error:
            self.problems.append(error.at(path=name))
            return default

    def require(self, *names: str) -> None:
        self.problems.extend(
            InvalidObject("is required and not set", path=name) for name in names if not self._given.get(name)
        )

    def finish(self, settings: Value) -> Value:
        """Raises: InvalidSettings: something could not be read."""
        if self.problems:
            raise InvalidSettings(self._source, self.problems)
        return settings


def read_options(environment: Mapping[str, str], arguments: Sequence[str] = ()) -> AWSSettings:
    """The settings of Karpenter since 0.32: variables such as ``CLUSTER_NAME``, and flags such as ``--cluster-name``, which win.

    Variables and flags of other names are somebody else's.

    >>> read_options({"CLUSTER_NAME": "a"}, ["--cluster-name=b", "--isolated-vpc"]).cluster_name
    'b'

    Raises:
        InvalidSettings: with everything that is wrong.
    """
    reader = _Reader("options", _options(environment, arguments))
    reader.require("CLUSTER_NAME")
    read = reader.read
    return reader.finish(
        AWSSettings(
            cluster_name=read("CLUSTER_NAME", str, ""),
            cluster_endpoint=read("CLUSTER_ENDPOINT", _url, ""),
            cluster_ca_bundle=read("CLUSTER_CA_BUNDLE", str, ""),
            interruption_queue=read("INTERRUPTION_QUEUE", str, ""),
            isolated_vpc=read("ISOLATED_VPC", _switch, False),
            eks_control_plane=read("EKS_CONTROL_PLANE", _switch, False),
            vm_memory_overhead_percent=read("VM_MEMORY_OVERHEAD_PERCENT", _share, 0.075),
            reserved_enis=read("RESERVED_ENIS", _count, 0),
            disable_dry_run=read("DISABLE_DRY_RUN", _switch, False),
            enable_zonal_shift=read("ENABLE_ZONAL_SHIFT", _switch, False),
            ami_refresh_interval_s=read("AMI_REFRESH_INTERVAL", _interval, 60.0),
            subnet_refresh_interval_s=read("SUBNET_REFRESH_INTERVAL", _interval, 60.0),
            node_class_cel=read("AWS_FEATURE_GATES", _gates, _NO_GATES).get(_NODE_CLASS_CEL, False),
        )
    )


def read_v053_options(environment: Mapping[str, str], arguments: Sequence[str] = ()) -> AWSSettings:
    """The settings of Karpenter 0.5.3, which needs the endpoint, and knows only how EC2 names machines beside.

    Raises:
        InvalidSettings: with everything that is wrong.
    """
    reader = _Reader("options", _options(environment, arguments))
    reader.require("CLUSTER_NAME", "CLUSTER_ENDPOINT")
    read = reader.read
    return reader.finish(
        AWSSettings(
            cluster_name=read("CLUSTER_NAME", str, ""),
            cluster_endpoint=read("CLUSTER_ENDPOINT", _url, ""),
            node_name_convention=read("AWS_NODE_NAME_CONVENTION", _convention, _IP_NAME),
        )
    )


def read_config_map(data: Mapping[str, str]) -> tuple[AWSSettings, Settings]:
    """The settings of Karpenter 0.25, and those of the core that stand in the same ConfigMap.

    The gate ``featureGates.driftEnabled`` is read and has no effect: drift has no gate any more.

    Raises:
        InvalidSettings: with everything that is wrong.
    """
    reader = _Reader(f"ConfigMap {CONFIG_MAP}", data)
    reader.require("aws.clusterName")
    if data.get("aws.nodeNameConvention") == "":
        reader.require("aws.nodeNameConvention")
    read = reader.read
    read("featureGates.driftEnabled", _switch, False)
    usual = Settings()
    core = Settings(
        batch_max_duration_s=read("batchMaxDuration", _duration, usual.batch_max_duration_s),
        batch_idle_duration_s=read("batchIdleDuration", _duration, usual.batch_idle_duration_s),
    )
    found = AWSSettings(
        cluster_name=read("aws.clusterName", str, ""),
        cluster_endpoint=read("aws.clusterEndpoint", _url, ""),
        default_instance_profile=read("aws.defaultInstanceProfile", str, ""),
        enable_pod_eni=read("aws.enablePodENI", _switch, False),
        eni_limited_pod_density=read("aws.enableENILimitedPodDensity", _switch, True),
        isolated_vpc=read("aws.isolatedVPC", _switch, False),
        node_name_convention=read("aws.nodeNameConvention", _convention, _IP_NAME),
        vm_memory_overhead_percent=read("aws.vmMemoryOverheadPercent", _share, 0.075),
        interruption_queue=read("aws.interruptionQueueName", str, ""),
        reserved_enis=read("aws.reservedENIs", _count, 0),
        tags=read("aws.tags", _tags, {}),
    )
    return reader.finish((found, core))


_NAMES: Final = frozenset(
    {"CLUSTER_NAME", "CLUSTER_ENDPOINT", "CLUSTER_CA_BUNDLE", "INTERRUPTION_QUEUE", "ISOLATED_VPC", "EKS_CONTROL_PLANE"}
    | {"VM_MEMORY_OVERHEAD_PERCENT", "RESERVED_ENIS", "DISABLE_DRY_RUN", "ENABLE_ZONAL_SHIFT", "AWS_FEATURE_GATES"}
    | {"AMI_REFRESH_INTERVAL", "SUBNET_REFRESH_INTERVAL", "AWS_NODE_NAME_CONVENTION"}
)


def _options(environment: Mapping[str, str], arguments: Sequence[str]) -> dict[str, str]:
    """Variables, with flags put over them by the name of their variable."""
    flags = {name.replace("-", "_").upper(): value for name, value in flags_of(arguments).items()}
    return {name: text for name, text in {**environment, **flags}.items() if name in _NAMES}


def flags_of(arguments: Iterable[str]) -> dict[str, str]:
    """Flags by name, in the forms that Go's flags have: ``--name=value``, ``--name value``, and ``--name`` for a switch.

    >>> flags_of(["--cluster-name", "a", "-isolated-vpc", "--reserved-enis=1"])
    {'cluster-name': 'a', 'isolated-vpc': 'true', 'reserved-enis': '1'}
    """
    found: dict[str, str] = {}
    open_flag = ""
    for argument in arguments:
        if argument.startswith("-"):
            open_flag, given, value = argument.lstrip("-").partition("=")
            found[open_flag] = value if given else "true"
            open_flag = "" if given else open_flag
        elif open_flag:
            found[open_flag] = argument
            open_flag = ""
    return found


_TRUE: Final = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "False", "FALSE"})


def _switch(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise InvalidObject(f"found {shown(text)}", accepted="true or false")


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    if parts is None or not parts.scheme or not parts.hostname:
        raise InvalidObject(
            f"found {shown(text)}", accepted="a URL such as https://ABC.gr7.us-west-2.eks.amazonaws.com"
        )
    return text


def _share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise InvalidObject(f"found {shown(text)}", accepted="a number from 0 on, such as 0.075")
    return found


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise InvalidObject(f"found {shown(text)}", accepted="a whole number from 0 on")
    return int(text)


def _duration(text: str) -> float:
    found = parse_duration(text)
    if found < 0:
        raise InvalidObject(f"found {shown(text)}", accepted='a duration from 0 on, such as "10s"')
    return found


def _interval(text: str) -> float:
    found = parse_duration(text)
    if found < _SHORTEST_REFRESH_S:
        raise InvalidObject(f"found {shown(text)}", accepted='a duration of at least "1m"')
    return found


def _convention(text: str) -> str:
    if text not in _CONVENTIONS:
        raise InvalidObject(f"found {shown(text)}", accepted=" or ".join(_CONVENTIONS))
    return text


def _gates(text: str) -> Mapping[str, bool]:
    found: dict[str, bool] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = map(str.strip, part.partition("="))
        if name != _NODE_CLASS_CEL:
            raise InvalidObject(f"found {shown(name)}", accepted=_NODE_CLASS_CEL)
        try:
            found[name] = _switch(value)
        except InvalidObject as error:
            raise error.at(path=name) from None
    return found


def _tags(text: str) -> dict[str, str]:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidObject(f"found {shown(text)}", accepted='a JSON object of texts, such as {"team": "a"}')
    return found

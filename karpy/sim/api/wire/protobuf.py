"""Reading Kubernetes protobuf bodies: newer kubectl commands and Go clients send what they create in that form only.

Field numbers are listed for the kinds that kubectl creates from its own arguments, for evictions and for reviews. Anything else
is answered with 415.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import msgspec

from karpy.clock import format_time
from karpy.errors import KubeError
from karpy.sim.api import status

__all__ = ["MAGIC", "MEDIA_TYPE", "decode_object"]

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MESSAGES: Mapping[str, str] = {
    "ObjectMeta": "1 name 2 generateName 3 namespace 5 uid 6 resourceVersion 7 generation 8 creationTimestamp:Time "
    "9 deletionTimestamp:Time 10 deletionGracePeriodSeconds 11 labels{} 12 annotations{} 13 ownerReferences[]:OwnerReference "
    "14 finalizers[] 17 managedFields[]:ManagedFieldsEntry 4 selfLink",
    "OwnerReference": "1 kind 3 name 4 uid 5 apiVersion 6 controller? 7 blockOwnerDeletion?",
    "ManagedFieldsEntry": "1 manager 2 operation 3 apiVersion 4 time:Time 6 fieldsType 7 fieldsV1:Raw 8 subresource",
    "LabelSelector": "1 matchLabels{} 2 matchExpressions[]:Expression",
    "Expression": "1 key 2 operator 3 values[]",
    "DeleteOptions": "1 gracePeriodSeconds#? 2 preconditions:Preconditions 3 orphanDependents? 4 propagationPolicy 5 dryRun[]",
    "Preconditions": "1 uid 2 resourceVersion",
    "Namespace": "1 metadata:ObjectMeta 2 spec:NamespaceSpec 3 status:Skip",
    "NamespaceSpec": "1 finalizers[]",
    "ConfigMap": "1 metadata:ObjectMeta 2 data{} 3 binaryData{bytes} 4 immutable?",
    "Secret": "1 metadata:ObjectMeta 2 data{bytes} 3 type 4 stringData{} 5 immutable?",
    "ServiceAccount": "1 metadata:ObjectMeta 2 secrets[]:ObjectReference 3 imagePullSecrets[]:NameOnly "
    "4 automountServiceAccountToken?",
    "NameOnly": "1 name",
    "ObjectReference": "1 kind 2 namespace 3 name 4 uid 5 apiVersion 6 resourceVersion 7 fieldPath",
    "ResourceQuota": "1 metadata:ObjectMeta 2 spec:ResourceQuotaSpec 3 status:Skip",
    "ResourceQuotaSpec": "1 hard{Quantity} 2 scopes[]",
    "Service": "1 metadata:ObjectMeta 2 spec:ServiceSpec 3 status:Skip",
    "ServiceSpec": "1 ports[]:ServicePort 2 selector{} 3 clusterIP 4 type 5 externalIPs[] 7 sessionAffinity 8 loadBalancerIP "
    "9 loadBalancerSourceRanges[] 10 externalName 11 externalTrafficPolicy 12 healthCheckNodePort "
    "13 publishNotReadyAddresses 17 ipFamilyPolicy 18 clusterIPs[] 19 ipFamilies[] 22 internalTrafficPolicy",
    "ServicePort": "1 name 2 protocol 3 port# 4 targetPort:IntOrString 5 nodePort 6 appProtocol",
    "Event": "1 metadata:ObjectMeta 2 involvedObject:ObjectReference 3 reason 4 message 5 source:EventSource "
    "6 firstTimestamp:Time 7 lastTimestamp:Time 8 count 9 type 10 eventTime:MicroTime 11 series:EventSeries 12 action "
    "13 related:ObjectReference 14 reportingComponent 15 reportingInstance",
    "EventSource": "1 component 2 host",
    "EventSeries": "1 count 2 lastObservedTime:MicroTime",
    "Binding": "1 metadata:ObjectMeta 2 target:ObjectReference",
    "Deployment": "1 metadata:ObjectMeta 2 spec:DeploymentSpec 3 status:Skip",
    "DeploymentSpec": "1 replicas#? 2 selector:LabelSelector 3 template:PodTemplate 4 strategy:DeploymentStrategy "
    "5 minReadySeconds 6 revisionHistoryLimit#? 7 paused 9 progressDeadlineSeconds#?",
    "DeploymentStrategy": "1 type 2 rollingUpdate:Rolling",
    "Rolling": "1 maxUnavailable:IntOrString 2 maxSurge:IntOrString",
    "PodTemplate": "1 metadata:ObjectMeta 2 spec:PodSpec",
    "Pod": "1 metadata:ObjectMeta 2 spec:PodSpec 3 status:Skip",
    "PodSpec": "1 volumes[]:Volume 2 containers[]:Container 3 restartPolicy 4 terminationGracePeriodSeconds#? "
    "5 activeDeadlineSeconds#? 6 dnsPolicy 7 nodeSelector{} 8 serviceAccountName 9 serviceAccount 10 nodeName 11 hostNetwork "
    "12 hostPID 13 hostIPC 14 securityContext:PodSecurity 15 imagePullSecrets[]:NameOnly 16 hostname 17 subdomain "
    "19 schedulerName 20 initContainers[]:Container 21 automountServiceAccountToken? 22 tolerations[]:Toleration "
    "24 priorityClassName 25 priority#? 30 enableServiceLinks?",
    "Volume": "1 name",
    "PodSecurity": "2 runAsUser#? 3 runAsNonRoot? 5 fsGroup#? 6 runAsGroup#?",
    "Toleration": "1 key 2 operator 3 value 4 effect 5 tolerationSeconds#?",
    "Container": "1 name 2 image 3 command[] 4 args[] 5 workingDir 6 ports[]:ContainerPort 7 env[]:EnvVar "
    "8 resources:ResourceNeeds 13 terminationMessagePath 14 imagePullPolicy 16 stdin 17 stdinOnce 18 tty "
    "20 terminationMessagePolicy 24 restartPolicy",
    "ContainerPort": "1 name 2 hostPort 3 containerPort# 4 protocol 5 hostIP",
    "EnvVar": "1 name 2 value",
    "ResourceNeeds": "1 limits{Quantity} 2 requests{Quantity}",
    "Job": "1 metadata:ObjectMeta 2 spec:JobSpec 3 status:Skip",
    "JobSpec": "1 parallelism#? 2 completions#? 3 activeDeadlineSeconds#? 4 selector:LabelSelector 5 manualSelector? "
    "6 template:PodTemplate 7 backoffLimit#? 8 ttlSecondsAfterFinished#? 9 completionMode 10 suspend?",
    "CronJob": "1 metadata:ObjectMeta 2 spec:CronJobSpec 3 status:Skip",
    "CronJobSpec": "1 schedule 2 startingDeadlineSeconds#? 3 concurrencyPolicy 4 suspend? 5 jobTemplate:JobTemplate "
    "6 successfulJobsHistoryLimit#? 7 failedJobsHistoryLimit#? 8 timeZone",
    "JobTemplate": "1 metadata:ObjectMeta 2 spec:JobSpec",
    "PodDisruptionBudget": "1 metadata:ObjectMeta 2 spec:BudgetSpec 3 status:Skip",
    "BudgetSpec": "1 minAvailable:IntOrString 2 selector:LabelSelector 3 maxUnavailable:IntOrString 4 unhealthyPodEvictionPolicy",
    "Eviction": "1 metadata:ObjectMeta 2 deleteOptions:DeleteOptions",
    "HorizontalPodAutoscaler": "1 metadata:ObjectMeta 2 spec:AutoscalerSpec 3 status:Skip",
    "AutoscalerSpec": "1 scaleTargetRef:ScaleTarget 2 minReplicas#? 3 maxReplicas# 4 metrics[]:Metric 5 behavior:Skip",
    "ScaleTarget": "1 kind 2 name 3 apiVersion",
    "Metric": "1 type 4 resource:ResourceMetric",
    "ResourceMetric": "1 name 2 target:MetricTarget",
    "MetricTarget": "1 type 2 value:Quantity 3 averageValue:Quantity 4 averageUtilization#?",
    "PriorityClass": "1 metadata:ObjectMeta 2 value# 3 globalDefault 4 description 5 preemptionPolicy",
    "SelfSubjectAccessReview": "1 metadata:ObjectMeta 2 spec:AccessSpec 3 status:Skip",
    "SelfSubjectRulesReview": "1 metadata:ObjectMeta 2 spec:RulesSpec 3 status:Skip",
    "RulesSpec": "1 namespace",
    "SelfSubjectReview": "1 metadata:ObjectMeta 2 status:Skip",
    "AccessSpec": "1 resourceAttributes:AccessAttributes 2 nonResourceAttributes:PathAttributes",
    "AccessAttributes": "1 namespace 2 verb 3 group 4 version 5 resource 6 subresource 7 name",
    "PathAttributes": "1 path 2 verb",
    "TokenRequest": "1 metadata:ObjectMeta 2 spec:TokenSpec 3 status:Skip",
    "TokenSpec": "1 audiences[] 3 boundObjectRef:BoundObject 4 expirationSeconds#?",
    "BoundObject": "1 kind 2 apiVersion 3 name 4 uid",
    "Role": "1 metadata:ObjectMeta 2 rules[]:Rule",
    "ClusterRole": "1 metadata:ObjectMeta 2 rules[]:Rule",
    "Rule": "1 verbs[] 2 apiGroups[] 3 resources[] 4 resourceNames[] 5 nonResourceURLs[]",
    "RoleBinding": "1 metadata:ObjectMeta 2 subjects[]:Subject 3 roleRef:RoleRef",
    "ClusterRoleBinding": "1 metadata:ObjectMeta 2 subjects[]:Subject 3 roleRef:RoleRef",
    "Subject": "1 kind 2 apiGroup 3 name 4 namespace",
    "RoleRef": "1 apiGroup 2 kind 3 name",
    "Lease": "1 metadata:ObjectMeta 2 spec:LeaseSpec",
    "LeaseSpec": "1 holderIdentity 2 leaseDurationSeconds#? 3 acquireTime:MicroTime 4 renewTime:MicroTime 5 leaseTransitions#?",
}
"""Fields by number. ``[]`` repeats, ``{T}`` is a map, ``:T`` a message, ``#`` a number that is kept when it is zero,
``?`` a pointer, whose zero value means something; other zero values are what was never set."""


@attrs.frozen
class _Field:
    name: str
    message: str = ""
    repeats: bool = False
    values: str | None = None
    keeps_zero: bool = False
    is_flag: bool = False


@functools.cache
def _fields(message: str) -> Mapping[int, _Field]:
    words = _MESSAGES[message].split()
    return {int(number): _field(word) for number, word in zip(words[::2], words[1::2], strict=True)}


_FLAGS = frozenset(
    {
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "paused",
        "stdin",
        "stdinOnce",
        "tty",
        "globalDefault",
        "publishNotReadyAddresses",
    }
)


def _field(word: str) -> _Field:
    text, _, message = word.partition(":")
    name = text.rstrip("#?")
    pointer, number = "?" in text, "#" in text
    if name.endswith("[]"):
        return _Field(name[:-2], message, repeats=True)
    if name.endswith("}"):
        name, _, values = name[:-1].partition("{")
        return _Field(name, values=values)
    return _Field(name, message, keeps_zero=pointer or number, is_flag=(pointer and not number) or name in _FLAGS)


def decode_object(body: bytes) -> dict[str, Any]:
    """The JSON form of a protobuf object in its envelope.

    Raises:
        KubeError: 415 its kind is not one that is known here, 400 it is damaged.
    """
    try:
        envelope = dict(_wire(body[len(MAGIC) :]))
        kind = dict(_wire(envelope[1]))
        name, api_version = kind[2].decode(), kind[1].decode()
        if name not in _MESSAGES:
            raise _unreadable(name)
        return {"kind": name, "apiVersion": api_version, **_message(name, envelope.get(2, b""))}
    except (IndexError, KeyError, UnicodeDecodeError, AttributeError) as error:
        raise status.bad_request("the body is not a protobuf object") from error


def _unreadable(what: str) -> KubeError:
    return status.unsupported_media_type(f"this server does not read {what} as protobuf; send application/json")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value - (1 << 64) if value >= 1 << 63 else value), at
        shift += 7


def _wire(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number and value (bytes, or an integer)."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(data, at)
                if at + length > len(data):
                    raise IndexError
                yield tag >> 3, data[at : at + length]
                at += length
            case 1:
                yield tag >> 3, data[at : at + 8]
                at += 8
            case 5:
                yield tag >> 3, data[at : at + 4]
                at += 4
            case _:
                raise IndexError


def _message(message: str, data: bytes) -> dict[str, Any]:
    fields = _fields(message)
    obj: dict[str, Any] = {}
    for number, value in _wire(data):
        field = fields.get(number)
        if field is None:
            if value:
                raise _unreadable(f"field {number} of {message}")
        elif field.repeats:
            obj.setdefault(field.name, []).append(_value(field, value))
        elif field.values is not None:
            key, member = _entry(field.values, value)
            obj.setdefault(field.name, {})[key] = member
        else:
            decoded = _value(field, value)
            if decoded is not None and (field.keeps_zero or decoded not in ("", 0, False) or field.message):
                obj[field.name] = decoded
    return obj


def _value(field: _Field, value: Any) -> Any:
    if field.message:
        special = _SPECIAL.get(field.message)
        return special(value) if special is not None else _message(field.message, value)
    if isinstance(value, bytes):
        return value.decode()
    return bool(value) if field.is_flag else value


def _entry(values: str, data: bytes) -> tuple[str, Any]:
    found = dict(_wire(data))
    raw = found.get(2, b"")
    if values == "bytes":
        member: Any = base64.b64encode(raw).decode()
    elif values == "Quantity":
        member = _quantity(raw)
    else:
        member = raw.decode()
    return found.get(1, b"").decode(), member


def _quantity(data: bytes) -> str:
    return str(dict(_wire(data)).get(1, b"0").decode())


def _int_or_string(data: bytes) -> Any:
    found = dict(_wire(data))
    return found.get(3, b"").decode() if found.get(1) else found.get(2, 0)


def _time(data: bytes) -> str | None:
    return format_time(dict(_wire(data)).get(1, 0)) if data else None


def _micro_time(data: bytes) -> str | None:
    if not data:
        return None
    found = dict(_wire(data))
    return f"{format_time(found.get(1, 0))[:-1]}.{found.get(2, 0) // 1000:06d}Z"


def _raw(data: bytes) -> Any:
    return msgspec.json.decode(dict(_wire(data)).get(1, b"{}"))


def _skip(_data: bytes) -> None:
    return None


_SPECIAL = {
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "Time": _time,
    "MicroTime": _micro_time,
    "Raw": _raw,
    "Skip": _skip,
}

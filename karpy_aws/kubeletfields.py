"""The fields of the kubelet's own configuration (``kubelet.config.k8s.io/v1beta1``), as a schema.

Image families that take a whole configuration get all of them passed on, so a misspelt field or a value of the wrong type
would otherwise come to light on the machine only, when it does not join.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from karpy_aws.objects.schema import Rule, Schema, integer, listing, open_object, record, text, truth, with_rules

__all__ = ["CONFIGURATION", "go_duration"]

_INT32: Final = integer(minimum=-(2**31), maximum=2**31 - 1)
_INT64: Final = integer(minimum=-(2**63), maximum=2**63 - 1)
_NUMBER: Final = {"type": "number"}
_TEXT: Final = text()
_TRUTH: Final = truth()
_TEXTS: Final = listing(text())
_NUMBERS: Final = listing(_INT32)

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"[-+]?(0|({_PART.pattern})+)")


def go_duration(written: str) -> float | None:
    """Seconds of a duration such as ``1h2m`` or ``-90s``; None when it is none.

    >>> go_duration("1m30s"), go_duration("60")
    (90.0, None)
    """
    if not _WHOLE.fullmatch(written):
        return None
    seconds = sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(written))
    return -seconds if written.startswith("-") else seconds


_DURATION: Final = with_rules(
    text(),
    Rule(
        "",
        "a duration such as 30s or 1h2m",
        lambda value: "" if go_duration(value) is not None else f"{value!r} is not a duration",
    ),
)


def _map(values: Schema) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": dict(values)}


def _all(field: Schema, names: str) -> dict[str, Schema]:
    return dict.fromkeys(names.split(), field)


_FIELDS: Final[Mapping[str, Schema]] = {
    **_all(
        _TEXT,
        "apiVersion kind staticPodPath podLogsDir staticPodURL address tlsCertFile tlsPrivateKeyFile tlsMinVersion "
        "imagePullCredentialsVerificationPolicy healthzBindAddress clusterDomain kubeletCgroups systemCgroups "
        "cgroupRoot cgroupDriver cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy topologyManagerScope "
        "hairpinMode podCIDR resolvConf contentType containerLogMaxSize configMapAndSecretChangeDetectionStrategy "
        "reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup volumePluginDir "
        "providerID memoryReservationPolicy containerRuntimeEndpoint imageServiceEndpoint",
    ),
    **_all(
        _TRUTH,
        "enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers enableContentionProfiling "
        "cgroupsPerQOS singleProcessOOMKill runOnce cpuCFSQuota serializeImagePulls mergeDefaultEvictionSettings "
        "enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains failSwapOn kernelMemcgNotification "
        "enableSystemLogHandler enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler seccompDefault "
        "registerNode localStorageCapacityIsolation failCgroupV1",
    ),
    **_all(
        _INT32,
        "port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj "
        "nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent nodeStatusMaxImages "
        "kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore iptablesMasqueradeBit "
        "iptablesDropBit containerLogMaxFiles containerLogMaxWorkers",
    ),
    **_all(_INT64, "podPidsLimit maxOpenFiles"),
    **_all(_NUMBER, "memoryThrottlingFactor"),
    **_all(
        _DURATION,
        "syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout nodeStatusUpdateFrequency "
        "nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod cpuManagerReconcilePeriod "
        "draManagerReconcilePeriod runtimeRequestTimeout cpuCFSQuotaPeriod evictionPressureTransitionPeriod "
        "containerLogMonitorInterval shutdownGracePeriod shutdownGracePeriodCriticalPods",
    ),
    **_all(
        _TEXTS,
        "tlsCipherSuites preloadedImagesVerificationAllowlist clusterDNS enforceNodeAllocatable allowedUnsafeSysctls",
    ),
    **_all(_NUMBERS, "tlsCurvePreferences"),
    **_all(
        _map(_TEXT),
        "cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard evictionSoft "
        "evictionSoftGracePeriod evictionMinimumReclaim systemReserved kubeReserved",
    ),
    "featureGates": _map(_TRUTH),
    "staticPodURLHeader": _map(_TEXTS),
    "maxPods": {"x-kubernetes-int-or-string": True, "minimum": -(2**31), "maximum": 2**31 - 1},
    "authentication": record(
        {
            "x509": record({"clientCAFile": _TEXT}),
            "webhook": record({"enabled": _TRUTH, "cacheTTL": _DURATION}),
            "anonymous": record({"enabled": _TRUTH}),
        }
    ),
    "authorization": record(
        {"mode": _TEXT, "webhook": record({"cacheAuthorizedTTL": _DURATION, "cacheUnauthorizedTTL": _DURATION})}
    ),
    "memorySwap": record({"swapBehavior": _TEXT}),
    "shutdownGracePeriodByPodPriority": listing(record({"priority": _INT32, "shutdownGracePeriodSeconds": _INT64})),
    "crashLoopBackOff": record({"maxContainerRestartPeriod": _DURATION}),
    "reservedMemory": listing(
        record({"numaNode": _INT32, "limits": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}})
    ),
    "registerWithTaints": listing(open_object()),
    "logging": open_object(),
    "tracing": record({"endpoint": _TEXT, "samplingRatePerMillion": _INT32}),
    "userNamespaces": record({"idsPerPod": _INT64}),
}

CONFIGURATION: Final = record(_FIELDS)
"""The schema of a configuration; ``maxPods`` may be an expression as well."""

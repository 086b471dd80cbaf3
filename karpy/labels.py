"""Keys of labels, annotations, taints and finalizers, and `LabelSpec`: what a label key means to a provider.

Nothing here is ever changed at run time: two providers in one process cannot collide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

__all__ = ["CORE_LABELS", "LabelSpec"]

GROUP: Final = "karpenter.sh"

NODEPOOL: Final = "karpenter.sh/nodepool"
PROVISIONER_NAME: Final = "karpenter.sh/provisioner-name"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
REGISTERED: Final = "karpenter.sh/registered"
INITIALIZED: Final = "karpenter.sh/initialized"
DO_NOT_SYNC_TAINTS: Final = "karpenter.sh/do-not-sync-taints"

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
HOSTNAME: Final = "kubernetes.io/hostname"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"
EXCLUDE_FROM_LOAD_BALANCERS: Final = "node.kubernetes.io/exclude-from-external-load-balancers"

SPOT: Final = "spot"
ON_DEMAND: Final = "on-demand"
RESERVED: Final = "reserved"
CAPACITY_TYPES: Final = (ON_DEMAND, RESERVED, SPOT)

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT: Final = "karpenter.sh/do-not-evict"
DO_NOT_CONSOLIDATE: Final = "karpenter.sh/do-not-consolidate"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"
KUBELET_CONVERSION: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
"""The kubelet block of a pool of a generation that had one, as JSON; on its claims too."""
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

BUFFER_POD: Final = "karpenter.sh/capacity-buffer-fake-pod"
BUFFER_NAME: Final = "karpenter.sh/capacity-buffer-name"
BUFFER_NAMESPACE: Final = "karpenter.sh/capacity-buffer-namespace"

PRICE_OVERLAY_APPLIED: Final = "karpenter.sh/price-overlay-applied"
CAPACITY_OVERLAY_APPLIED: Final = "karpenter.sh/capacity-overlay-applied"

TERMINATION_FINALIZER: Final = "karpenter.sh/termination"
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"
NODEPOOL_HASH: Final = "karpenter.sh/nodepool-hash"
NODEPOOL_HASH_VERSION: Final = "karpenter.sh/nodepool-hash-version"

DISRUPTED_TAINT: Final = "karpenter.sh/disrupted"
UNREGISTERED_TAINT: Final = "karpenter.sh/unregistered"

ALIASES: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
}
"""Older names of labels; they are replaced wherever a requirement is built."""


@attrs.frozen
class LabelSpec:
    """What label keys mean: the core's and one provider's together.

    ``well_known``: keys whose value the chosen instance type or the cloud decides, so a pool need not define them.
    ``restricted_domains``: users may not ask for other keys of these domains.
    ``restricted``: keys that may never be asked for.
    """

    well_known: frozenset[str]
    restricted_domains: frozenset[str] = frozenset({GROUP})
    restricted: frozenset[str] = frozenset({HOSTNAME})

    def __or__(self, other: LabelSpec) -> LabelSpec:
        return LabelSpec(
            self.well_known | other.well_known,
            self.restricted_domains | other.restricted_domains,
            self.restricted | other.restricted,
        )

    def is_restricted(self, key: str) -> bool:
        """Whether a pod or a pool may not ask for ``key``.

        >>> CORE_LABELS.is_restricted("karpenter.sh/foo"), CORE_LABELS.is_restricted("karpenter.sh/capacity-type")
        (True, False)
        """
        if (
            key in self.well_known or key == PROVISIONER_NAME
        ):  # pods of the first API generation choose their pool by it
            return False
        if key in self.restricted:
            return True
        domain = key.rpartition("/")[0]
        return any(domain == held or domain.endswith(f".{held}") for held in self.restricted_domains)


CORE_LABELS: Final = LabelSpec(
    well_known=frozenset({NODEPOOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD})
)


def normalize(key: str) -> str:
    """The current name of a label key.

    >>> normalize("beta.kubernetes.io/arch")
    'kubernetes.io/arch'
    """
    return ALIASES.get(key, key)


def node_class_label(group: str, kind: str) -> str:
    """The label that names a node's node class: ``<group>/<lower-case kind>``."""
    return f"{group}/{kind.lower()}"

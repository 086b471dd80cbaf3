"""The differences between karpy and the recordings, each with its reason.

In a pattern an ellipsis stands for any text (see `tests.scenarios.lifecycle.comparing.Listed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.scenarios.lifecycle.comparing import Listed

__all__ = ["DELIBERATE", "EXPECTED_LATER", "LISTED", "NEXT", "NOT_COMPARABLE"]


def _listed(reason: str, *patterns: str, only: str = "") -> Iterator[Listed]:
    """Patterns for one reason; ``only``: the numbers of the scenarios that show them, each of them."""
    return (Listed(pattern, reason, frozenset(only.split())) for pattern in patterns)


DELIBERATE: Sequence[Listed] = (
    *_listed(
        "a condition that did not change stays: Ready does not flip when a pool's spec changes (finding 5)",
        "- NodePool …: Ready went Unknown > True > Unknown…",
        "- Event NodePool …: Normal Ready: Status condition transitioned, Type: Ready, Status: True -> Unknown…",
        "+ NodePool …: Ready went Unknown > True",
    ),
    *_listed(
        "events name the object that they are about (finding 4)",
        "- Event Node: Normal Finalized…",
        "- Event NodeClaim: Normal Finalized…",
        "+ Event Node …: Normal Finalized…",
        "+ Event NodeClaim …: Normal Finalized…",
    ),
    *_listed(
        "a claim has the capacity of its machine, and a pool what its machines have; kwok's have what pods asked for (12)",
        "- End: NodePool …: status.resources = …",
        "+ End: NodePool …: status.resources = …",
    ),
    *_listed(
        "pods stay with the machines that were planned for them, so that a burst buys less twice (finding 1)",
        "- End: 8 …",
        "+ End: 7 …",
        "- End: NodePool default: status.nodes = 8",
        "+ End: NodePool default: status.nodes = 7",
        "- Log INFO provisioner: computed unready node(s) will fit pod(s) …",
        only="01",
    ),
    *_listed(
        "a deleted pool, and pools that cannot be looked up, are no errors (finding 11)",
        "- Log ERROR state.nodeclaim: Reconciler error…",
        "- Counter karpenter_nodepools_cost_tracker_errors_total …",
        only="06 09",
    ),
    *_listed(
        "the text names for each pool what excludes how many of its instance types (see docs/differences.md)",
        "- Event Pod …: Warning FailedScheduling: Failed to schedule pod, did not tolerate taint…",
        "- Event Pod …: Warning FailedScheduling: Failed to schedule pod, no instance type …",
        "+ Event Pod …: Warning FailedScheduling: Failed to schedule pod, incompatible with nodepool …",
        "- Log ERROR provisioner: could not schedule pod | error=did not tolerate taint…",
        "- Log ERROR provisioner: could not schedule pod | error=no instance type …",
        "+ Log ERROR provisioner: could not schedule pod | error=incompatible with nodepool …",
        "- Log ERROR provisioner: could not schedule pod [NodePool, Pod, error, errorCauses, taint]",
        "+ Log ERROR provisioner: could not schedule pod [Pod, error]",
        "- Log DEBUG provisioner: instance types were excluded because they would breach limits …",
        only="09",
    ),
    *_listed(
        "a label that may not be asked for is named first, and well-known ones are not listed behind it",
        "- Event Pod …: Warning FailedScheduling: Failed to schedule pod, using label …",
        "+ Event Pod …: Warning FailedScheduling: Failed to schedule pod, label … is restricted; …",
        "- Log DEBUG provisioner: ignoring pod | error=using label …",
        "+ Log DEBUG provisioner: ignoring pod | error=label … is restricted; …",
        only="09",
    ),
    *_listed(
        "a pod that no pool can serve, because there is none or none is ready, is told so (finding 14)",
        "+ Event Pod …: Warning FailedScheduling",
        "+ Event Pod …: Warning FailedScheduling: Failed to schedule pod, no nodepool is ready to launch nodes",
        "+ Log ERROR provisioner: could not schedule pod | error=no nodepool is ready to launch nodes",
    ),
    *_listed(
        "that pod is in the log, too",
        "+ Log ERROR provisioner: could not schedule pod [Pod, error]",
        only="06 07 07b",
    ),
    *_listed(
        "a pool whose nodes keep failing to join rests, and says so",
        "+ NodePool default: Resting …",
        "+ Event NodePool default: Warning Resting…",
        "+ Log ERROR provisioner: ignoring nodepool, not ready …",
        "+ Log INFO provisioner: no dynamic nodepools found …",
        "- End: 1 NodeClaim default-*",
        "+ End: NodePool default: status.nodes = 0",
        "- End: NodePool default: status.nodes = 1",
        only="07",
    ),
    *_listed(
        "a claim made by hand that leaves the instance type open gets the cheapest; kwok cannot launch it (finding 13)",
        "+ …manual-norequirement…",
        "- NodeClaim manual-norequirement: …",
        "- Log ERROR nodeclaim.lifecycle: Reconciler error | error=launching nodeclaim, … requirement not found",
        only="07b",
    ),
    *_listed(
        "a claim that asks for what is not sold at all says so in the words of karpy, whatever the cloud",
        "- NodeClaim manual-notype: Launched is Unknown, LaunchFailed: translating nodeclaim to node, instance type not found …",
        "+ NodeClaim manual-notype: Launched is Unknown, LaunchFailed: no instance type that is sold here meets …",
        "- Log ERROR nodeclaim.lifecycle: Reconciler error [NodeClaim, error, instance-type]",
        "+ Log ERROR nodeclaim.lifecycle: Reconciler error [NodeClaim, error]",
        "- Log ERROR nodeclaim.lifecycle: Reconciler error | error=launching nodeclaim, … instance type not found …",
        "+ Log ERROR nodeclaim.lifecycle: Reconciler error | error=no instance type that is sold here meets …",
        only="07b",
    ),
    *_listed(
        "a claim that is given up at once gets no conditions first",
        "- NodeClaim manual-noclass: … went Unknown",
        "- NodeClaim manual-noclass: Ready is Unknown, ReconcilingDependents",
        "- NodeClaim manual-noclass: Registered is Unknown, NodeNotFound: …",
        only="07b",
    ),
    *_listed(
        "a launch that fails is over at the launch time-out; the time for registration begins with the machine",
        "- Counter karpenter_nodeclaims_disrupted_total […reason=registration_timeout…]",
        "- Log DEBUG nodeclaim.lifecycle: terminating due to timeout | reason=registration_timeout",
        "- Log DEBUG nodeclaim.lifecycle: terminating due to timeout | timeout=20s",
        only="07b",
    ),
    *_listed(
        "a class that is not ready says so itself",
        "+ Event KWOKNodeClass default: …",
        only="07b",
    ),
    *_listed(
        "the pods that wait are found though no pool is ready, so that they can be told",
        "+ Log INFO provisioner: found provisionable pod(s) …",
        only="07b",
    ),
    *_listed(
        "a node that is NotReady is not listed as an error of its pool alone: claim and pool have the event, too (finding 19)",
        "+ Event NodeClaim default-*: Warning NodeRepairBlocked…",
        "+ Event NodePool default: Warning NodeRepairBlocked…",
        only="12",
    ),
    *_listed(
        "a limit that leaves no room for all replicas is an event, too",
        "+ Event NodePool static: Warning NodeLimitReached…",
        only="11a",
    ),
    *_listed(
        "a conflict names the other overlay and what both set, and is an event",
        "- NodeOverlay conflict-a: ValidationSucceeded is False, Conflict: conflict with another overlay",
        "+ NodeOverlay conflict-a: ValidationSucceeded is False, Conflict: conflict with another overlay: …",
        "+ Event NodeOverlay conflict-a: Warning Conflict…",
        only="11b",
    ),
    *_listed(
        "overlays are judged together, so that none is ready before its conflict is found (finding 16)",
        "- NodeOverlay conflict-a: … went Unknown > True > False > True",
        "+ NodeOverlay conflict-a: … went Unknown > False > True",
        only="11b",
    ),
    *_listed(
        "a provisioning strategy that is not karpy's belongs to another autoscaler, and its buffer is left alone (finding 17)",
        "- CapacityBuffer t/strategy: …",
        "- Event CapacityBuffer t/strategy: …",
        "- NodeClaim default-*: requests cpu=10",
        "+ NodeClaim default-*: requests cpu=8",
        "- NodeClaim default-*: requests memory=2560Mi",
        "+ NodeClaim default-*: requests memory=2Gi",
        "- NodeClaim default-*: requests pods=5",
        "+ NodeClaim default-*: requests pods=4",
        only="11b",
    ),
    *_listed(
        "pods that do not exist get no events (finding 17)",
        "- Event Pod t/capacity-buffer-…",
        only="11b",
    ),
    *_listed(
        "what a buffer refers to and is not there is an event",
        "+ Event CapacityBuffer t/no-deployment: Warning ScalableRefNotFound…",
        "+ Event CapacityBuffer t/no-template: Warning PodTemplateNotFound…",
        only="11b",
    ),
    *_listed(
        "an empty node, and one whose pods have gone, is drained at once (finding 6)",
        "+ NodeClaim limited-*: Drained is True, Drained",
        "- NodeClaim limited-*: Drained went Unknown",
        "+ NodeClaim limited-*: Drained went Unknown > True",
        "+ NodeClaim limited-*: InstanceTerminating …",
        "+ Event NodeClaim limited-*: Normal Drained…",
        only="09",
    ),
)
"""What karpy does otherwise on purpose. Numbers are those of the findings in the README of the recordings."""

NOT_COMPARABLE: Sequence[Listed] = (
    *_listed(
        "the world's kubelets register nodes that are not ready yet, and its node controller taints them; the script did not",
        '+ NodeClaim …: Initialized is Unknown, KnownEphemeralTaintsExist: KnownEphemeralTaint "node.kubernetes.io/not-ready…',
        "+ NodeClaim …: Initialized is Unknown, NodeNotReady: Node status is NotReady",
        "+ Event Node …: Normal Ready",
        "+ Event Node …: Normal Ready: Status condition transitioned, Type: Ready, Status: False -> True…",
    ),
    *_listed(
        "Karpenter looked at the Node as it was before it had registered it",
        '- NodeClaim …: Initialized is Unknown, KnownEphemeralTaintsExist: KnownEphemeralTaint "karpenter.sh/unregistered…',
    ),
    *_listed(
        "whether Ready is written while another condition is unknown hangs on what is written at once",
        "- NodePool …: Ready is Unknown, ReconcilingDependents",
        "- NodeClaim …: Ready is Unknown, ReconcilingDependents",
        "- Event NodePool missing-class: Normal Ready: …, Message: NodeClassReady=False, ValidationSucceeded=Unknown",
        "+ Event NodePool missing-class: Normal Ready: …, Message: NodeClassReady=False",
    ),
    *_listed(
        "a Node of the world is registered in the moment in which it joins; kwok's took their time",
        "! Order: Node …, before NodeClaim is ConsistentStateFound",
    ),
    *_listed(
        "no template that the recording shows has this number; all others, and 601 vectors, agree with karpy's",
        "- … annotation karpenter.sh/nodepool-hash=1826800483357479643",
        "+ … annotation karpenter.sh/nodepool-hash=13019133343252369754",
        only="08",
    ),
    *_listed(
        "the message is that of the client who asked",
        '- …getting persistent volume claim, PersistentVolumeClaim "not-there" not found (PersistentVolumeClaim=not-there)',
        '+ …getting persistent volume claim, persistentvolumeclaims "not-there" not found (PersistentVolumeClaim=not-there)',
        only="09",
    ),
    *_listed(
        "kwok's machines have no image",
        "… Counter karpenter_nodeclaims_unhealthy_disrupted_total …",
        only="12",
    ),
    *_listed(
        "the world's machines say what they are, also those that no claim asked for",
        "+ Node stray: label …",
        "+ Node unmanaged: label …",
        only="14",
    ),
    *_listed(
        "when a pass of provisioning comes while a node joins is a matter of timing",
        "- Log INFO provisioner: computed unready node(s) will fit pod(s) …",
        "+ Log INFO provisioner: computed unready node(s) will fit pod(s) …",
    ),
)
"""What is otherwise around karpy than it was around Karpenter."""

NEXT: Sequence[Listed] = (
    *_listed(
        "why a node is not disrupted is said by the methods of disruption",
        "- Event Node …: Normal DisruptionBlocked…",
        "- Event NodeClaim …: Normal DisruptionBlocked…",
        "- Event NodePool …: Normal DisruptionBlocked…",
        "- Event Node …: Normal Unconsolidatable…",
        "- Event NodeClaim …: Normal Unconsolidatable…",
    ),
    *_listed(
        "what a command does is said by the queue of disruption",
        "- Event Node …: Normal ConsolidationCandidate…",
        "- Event NodeClaim …: Normal ConsolidationCandidate…",
        "- Event NodeClaim …: Normal DisruptionLaunching…",
        "- Event NodeClaim …: Normal DisruptionWaitingReadiness…",
        "- Log DEBUG disruption.queue: command succeeded…",
        "+ Log DEBUG disruption: command succeeded…",
        "- Counter karpenter_consolidation_moves_total …",
    ),
    *_listed(
        "a node that has drifted is replaced: it gets a taint, a reason, a replacement, is drained, and goes",
        "- Counter karpenter_nodeclaims_created_total […reason=drifted]",
        "- Counter karpenter_nodeclaims_disrupted_total […reason=drifted…]",
        "- Counter karpenter_pods_disruption_initiated_total […reason=drifted…]",
        "- Counter karpenter_pods_drained_total [reason=Drifted]",
        "- Counter karpenter_voluntary_disruption_decisions…reason=drifted]",
        "- Event Node …: Normal DisruptionTerminating…",
        "- Event NodeClaim …: Normal DisruptionTerminating…",
        "- Event Pod …: Normal Evicted: Evicted pod: Drifted",
        "- NodeClaim …: DisruptionReason is True, Drifted: Drifted",
        "- Log INFO disruption: created nodeclaim [NodeClaim, NodePool, instance-types, requests]",
        "- Log INFO disruption: disrupting node(s) | decision=replace",
        "- … annotation karpenter.sh/nodepool-hash=…",
        "- NodePool …: NodeRegistrationHealthy went Unknown > True > Unknown…",
        "+ NodePool …: NodeRegistrationHealthy went Unknown > True > Unknown…",
    ),
    *_listed(
        "the machine that replaces a drifted one is made by the new template",
        "- … label team=b",
        "- … label karpenter.sh/capacity-type=spot",
        "- … spec.requirements team In b",
        "- … spec.requirements karpenter.sh/capacity-type In spot",
        "- NodeClaim default-*: Drifted is True, RequirementsDrifted: RequirementsDrifted",
        "- Log DEBUG nodeclaim.disruption: marking drifted | reason=RequirementsDrifted",
        only="04",
    ),
    *_listed(
        "the machine that replaces a drifted one is made by the new template",
        "- Node …: label v=2",
        "- NodeClaim …: label v=2",
        "- NodeClaim …: spec.requirements v In 2",
        only="11a 13 13b",
    ),
)
"""What comes with the disruption methods."""

EXPECTED_LATER: Sequence[Listed] = ()
"""What is being built."""

LISTED: Sequence[Listed] = (*DELIBERATE, *NOT_COMPARABLE, *NEXT, *EXPECTED_LATER)

"""Whether a pod is looked at at all, whatever nodes there are (core specification 3.1, validation, and 3.12)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from karpy import labels
from karpy.labels import LabelSpec
from karpy.objects.podspec import NodeSelectorTerm, PodSpec
from karpy.scheduling.plan import RefusalKind

__all__ = ["CLAIMS_DEVICES", "Refused", "refusal_of"]

_POOL_LABELS = (labels.NODEPOOL, labels.PROVISIONER_NAME)
"""The label that machines of pools carry, in each API generation."""


@attrs.frozen
class Refused:
    """Why a pod is not looked at."""

    kind: RefusalKind
    reason: str


CLAIMS_DEVICES = Refused(
    RefusalKind.RESOURCE_CLAIM,
    "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter",
)


def refusal_of(spec: PodSpec, spec_of_labels: LabelSpec) -> Refused | None:
    """What the pod asks of its node that cannot be had of any pool, or that nobody may ask for; None when there is nothing."""
    terms = _required_terms(spec)
    opted_out = _opted_out(terms)
    if opted_out is not None:
        requirement = f"{opted_out} DoesNotExist"
        return Refused(
            RefusalKind.OPTED_OUT,
            f"configured to not run on a Karpenter provisioned node (requirement={requirement})",
        )
    problem = _forbidden(spec, terms, spec_of_labels)
    return Refused(RefusalKind.INVALID, problem) if problem is not None else None


def _required_terms(spec: PodSpec) -> Sequence[NodeSelectorTerm]:
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    required = node_affinity.required if node_affinity else None
    return required.node_selector_terms if required else ()


def _opted_out(terms: Sequence[NodeSelectorTerm]) -> str | None:
    """The label that every term, and so the pod, wants its node not to have; None when a machine of a pool will do."""
    excluded = [
        next((e.key for e in term.match_expressions if e.key in _POOL_LABELS and e.operator == "DoesNotExist"), None)
        for term in terms
    ]
    return excluded[0] if excluded and all(excluded) else None


def _forbidden(spec: PodSpec, terms: Sequence[NodeSelectorTerm], spec_of_labels: LabelSpec) -> str | None:
    for key in spec.node_selector or {}:
        if spec_of_labels.is_restricted(key):
            return f'label "{key}" is restricted; it cannot be used in a node selector'
    for term in terms:
        if term.match_fields:
            return "node selector term with matchFields is not supported"
        for expression in term.match_expressions:
            if spec_of_labels.is_restricted(expression.key):
                return f'label "{expression.key}" is restricted; it cannot be used in a node affinity'
            if expression.operator == "In" and not expression.values:  # else it would read as: without the label
                return f'node affinity on "{expression.key}" with operator In needs at least one value'
    return None

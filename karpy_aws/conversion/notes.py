"""What a conversion gives back: the manifest of the newer or older generation, and what it could not carry over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from karpy_aws.objects.schema import Schema
from karpy_aws.objects.schemacheck import violations

__all__ = ["NO_FACTS", "RENAMED", "ConversionFacts", "Converted", "Note", "carried_metadata", "left_to_do", "renamed"]

_SET_BY_SERVER: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink"),
    *("deletionGracePeriodSeconds", "finalizers", "ownerReferences"),
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
RENAMED: Final = {
    "karpenter.k8s.aws/nodetemplate-hash": "karpenter.k8s.aws/ec2nodeclass-hash",
    "karpenter.sh/provisioner-name": "karpenter.sh/nodepool",
    "karpenter.sh/do-not-evict": "karpenter.sh/do-not-disrupt",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
}
"""Labels and annotations that got another name with v1beta1."""


@attrs.frozen
class Note:
    """Something that is not as it was: where it stood, and what became of it.

    ``by_hand`` says that the user has to do something before the converted object can be used.
    """

    path: str
    text: str
    by_hand: bool = False

    def __str__(self) -> str:
        """
        >>> print(Note("spec.role", "it is not set", by_hand=True))
        spec.role: by hand: it is not set
        """
        return f"{self.path}: {'by hand: ' if self.by_hand else ''}{self.text}"


@attrs.frozen(kw_only=True)
class ConversionFacts:
    """What manifests do not say and older generations took from elsewhere.

    ``role_of_profile`` tells the IAM role inside an instance profile, by the profile's name.
    """

    cluster_name: str = ""
    default_instance_profile: str = ""
    role_of_profile: Mapping[str, str] = attrs.field(factory=dict)


NO_FACTS: Final = ConversionFacts()


@attrs.frozen(kw_only=True)
class Converted:
    """``kubelet`` is the block that belongs to the NodePool in the generation converted to; None when there is none."""

    manifest: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    kubelet: Mapping[str, Any] | None = None

    def after(self, earlier: Iterable[Note]) -> Converted:
        """The same, with the notes of the steps before."""
        return attrs.evolve(self, notes=(*earlier, *self.notes))


def carried_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of the converted object: what the user wrote, under today's keys."""
    carried = {key: value for key, value in metadata.items() if key not in _SET_BY_SERVER}
    for field in ("labels", "annotations"):
        if carried.get(field):
            carried[field] = renamed({key: value for key, value in carried[field].items() if key != _LAST_APPLIED})
    return {key: value for key, value in carried.items() if value not in ({}, None)}


def renamed(keys: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations under the names that they have since v1beta1.

    >>> renamed({"karpenter.sh/do-not-evict": "true", "team": "a"})
    {'karpenter.sh/do-not-disrupt': 'true', 'team': 'a'}
    """
    return {RENAMED.get(key, key): value for key, value in keys.items()}


def left_to_do(manifest: Mapping[str, Any], schema: Schema) -> tuple[Note, ...]:
    """What the new API still refuses in the converted object."""
    found = violations(manifest["spec"], schema, "spec")
    return tuple(Note(each.path, f"{each.problem} (accepted: {each.accepted})", by_hand=True) for each in found)

"""From the inline provider of a Provisioner to AWSNodeTemplate, and from there to EC2NodeClass v1beta1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from karpy_aws.conversion.notes import NO_FACTS, ConversionFacts, Converted, Note, carried_metadata, left_to_do
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec, is_restricted_tag
from karpy_aws.objects.inlineprovider import default_selector, read_inline_provider
from karpy_aws.objects.nodeclass import SelectorTerm
from karpy_aws.objects.nodetemplate import read_node_template, selector_terms

__all__ = [
    "node_class_of_template",
    "template_of_provisioner",
    "unchecked_node_class",
    "without_inline_provider",
]

_SELECTORS: Final = ("subnetSelector", "securityGroupSelector")
_COPIED: Final = ("userData", "context", "detailedMonitoring", "blockDeviceMappings")
_METADATA_OPTIONS: Final = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 2,
    "httpTokens": "required",
}


def template_of_provisioner(provisioner: Mapping[str, Any], facts: ConversionFacts = NO_FACTS) -> Converted:
    """The AWSNodeTemplate that says what a Provisioner says inline; it has the Provisioner's name.

    Raises:
        InvalidObject: the inline provider cannot be read.
    """
    read_inline_provider(provisioner)
    provider = {key: value for key, value in provisioner["spec"]["provider"].items() if value is not None}
    notes = []
    spec = {key: value for key, value in provider.items() if key not in ("apiVersion", "kind")}
    for selector in _SELECTORS:
        if selector not in spec and not (selector == "securityGroupSelector" and spec.get("launchTemplate")):
            spec[selector] = default_selector(facts.cluster_name or "CLUSTER_NAME")
            if not facts.cluster_name:
                notes.append(Note(f"spec.{selector}", "replace CLUSTER_NAME by the cluster's name", by_hand=True))
    manifest = {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": provisioner["metadata"]["name"]},
        "spec": spec,
    }
    return Converted(manifest=manifest, notes=tuple(notes))


def without_inline_provider(provisioner: Mapping[str, Any]) -> dict[str, Any]:
    """The Provisioner with a reference to the template instead of its inline provider."""
    spec = {key: value for key, value in provisioner["spec"].items() if key != "provider"}
    return {**provisioner, "spec": {**spec, "providerRef": {"name": provisioner["metadata"]["name"]}}}


def node_class_of_template(template: Mapping[str, Any], facts: ConversionFacts = NO_FACTS) -> Converted:
    """The EC2NodeClass v1beta1 that says what an AWSNodeTemplate says.

    Raises:
        InvalidObject: the template cannot be read.
    """
    made = unchecked_node_class(template, facts)
    left = left_to_do(made.manifest, ec2_node_class_spec("v1beta1"))
    return Converted(manifest=made.manifest, notes=(*made.notes, *left))


def unchecked_node_class(template: Mapping[str, Any], facts: ConversionFacts) -> Converted:
    """The same, without a word on what is missing in it."""
    read_node_template(template)
    old = {key: value for key, value in (template.get("spec") or {}).items() if value is not None}
    notes: list[Note] = []
    spec = _terms(old, notes)
    spec["amiFamily"] = old.get("amiFamily") or "AL2"
    spec.update({key: old[key] for key in _COPIED if key in old})
    spec.update(_identity(old, facts, notes))
    if old.get("launchTemplate"):
        text = "launch templates of your own are not supported any more: say here what it said"
        notes.append(Note("spec.launchTemplate", text, by_hand=True))
    if "tags" in old:
        spec["tags"] = _tags(old["tags"], notes)
    spec["metadataOptions"] = _metadata_options(old.get("metadataOptions"), notes)
    manifest: dict[str, Any] = {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": carried_metadata(template["metadata"]),
        "spec": spec,
    }
    status = template.get("status") or {}
    kept = {key: status[key] for key in ("subnets", "securityGroups", "amis") if status.get(key)}
    if kept:
        manifest["status"] = kept
    return Converted(manifest=manifest, notes=tuple(notes))


def _terms(old: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for selector, splits in (("subnetSelector", True), ("securityGroupSelector", True), ("amiSelector", False)):
        terms = selector_terms(old.get(selector), splits_values=splits)
        if terms:
            found[f"{selector}Terms"] = [msgspec.to_builtins(term) for term in _ids_alone(terms, selector, notes)]
    return found


def _ids_alone(terms: Sequence[SelectorTerm], selector: str, notes: list[Note]) -> list[SelectorTerm]:
    """An id stands alone in a term. What stood beside it narrowed the choice, which an id does by itself."""
    found: list[SelectorTerm] = []
    for term in terms:
        alone = SelectorTerm(id=term.id) if term.id else term
        if alone != term:
            beside = sorted({*(term.tags or {}), *(key for key in ("name", "owner") if getattr(term, key))})
            note = Note(f"spec.{selector}", f"{', '.join(beside)} beside ids: the ids alone select now")
            if note not in notes:
                notes.append(note)
        if alone not in found:
            found.append(alone)
    return found


def _identity(old: Mapping[str, Any], facts: ConversionFacts, notes: list[Note]) -> dict[str, str]:
    profile = old.get("instanceProfile") or facts.default_instance_profile
    role = facts.role_of_profile.get(profile)
    if role:
        notes.append(
            Note("spec.instanceProfile", f"replaced by its role {role}: karpy makes profiles for roles itself")
        )
        return {"role": role}
    return {"instanceProfile": profile} if profile else {}


def _tags(tags: Mapping[str, str], notes: list[Note]) -> dict[str, str]:
    restricted = sorted(key for key in tags if is_restricted_tag(key))
    notes.extend(Note("spec.tags", f"{key} is left out: karpy sets it itself") for key in restricted)
    return {key: value for key, value in tags.items() if key not in restricted}


def _metadata_options(old: Mapping[str, Any] | None, notes: list[Note]) -> dict[str, Any]:
    """Written out, since v1 has another default. Members that a block left out were EC2's to choose, and are no more."""
    given = {key: value for key, value in (old or {}).items() if value is not None}
    if old is not None:
        chosen = ", ".join(f"{key} {value}" for key, value in _METADATA_OPTIONS.items() if key not in given)
        if chosen:
            notes.append(Note("spec.metadataOptions", f"was left to EC2, and is said now: {chosen}"))
    return {**_METADATA_OPTIONS, **given}

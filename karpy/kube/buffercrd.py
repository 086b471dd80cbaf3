"""The definition of CapacityBuffer. Cluster Autoscaler has the kind too, so names, rules and columns are those of its own."""

from __future__ import annotations

from typing import Any

from karpy.kube.schemas import Schema, conditions, number, object_, quantities, text, whole
from karpy.objects.capacitybuffer import ACTIVE_CAPACITY, SCALABLE_KINDS
from karpy.objects.kinds import CAPACITY_BUFFER

__all__ = ["capacity_buffer_crd"]

_RULES = (
    (
        "!(has(self.podTemplateRef) && has(self.scalableRef))",
        "You must define either PodTemplateRef or ScalableRef, but not both",
    ),
    (
        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        "If podTemplateRef is set, replicas or limits must also be set",
    ),
)
_COLUMNS = (
    ("Strategy", "string", ".status.provisioningStrategy"),
    ("PodTemplate", "string", ".status.podTemplateRef.name"),
    ("Replicas", "integer", ".status.replicas"),
    ("ConditionsType", "string", ".status.conditions[*].type"),
    ("ConditionsStatus", "string", ".status.conditions[*].status"),
    ("ConditionsReason", "string", ".status.conditions[*].reason"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def _template_ref(description: str) -> Schema:
    return object_(description, {"name": text("Its name.", minLength=1)}, required=("name",))


def _spec() -> Schema:
    scalable = object_(
        "The workload whose pods the room is for.",
        {
            "apiGroup": text("The API group of the workload."),
            "kind": text(f"Its kind: {', '.join(SCALABLE_KINDS)}.", minLength=1),
            "name": text("Its name.", minLength=1),
        },
        required=("kind", "name"),
    )
    fields = {
        "provisioningStrategy": text("How the room is kept ready.", default=ACTIVE_CAPACITY),
        "podTemplateRef": _template_ref("The PodTemplate that says what the pods are like which the room is for."),
        "scalableRef": scalable,
        "replicas": number("For how many pods room is kept ready.", bits=32, minimum=0),
        "percentage": number("The same as a share of the workload's replicas, in percent.", bits=32, minimum=0),
        "limits": quantities("The most that the pods which the room is for may ask for in all."),
    }
    rules = [{"rule": rule, "message": message} for rule, message in _RULES]
    spec = object_("For which pods room is kept ready, and for how many.", fields)
    return {**spec, "x-kubernetes-validations": rules}


def _status() -> Schema:
    return object_(
        "What was made of it.",
        {
            "provisioningStrategy": text("The strategy that is followed."),
            "podTemplateRef": _template_ref("The PodTemplate that is followed."),
            "podTemplateGeneration": number("Its generation when it was last looked at."),
            "replicas": number("For how many pods room is kept ready.", bits=32),
            "conditions": conditions(),
        },
    )


def capacity_buffer_crd() -> dict[str, Any]:
    """CapacityBuffer, v1beta1."""
    kind = CAPACITY_BUFFER
    schema = whole("A CapacityBuffer keeps room ready for pods that are still to come.", _spec(), _status())
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": name, "type": type_, "jsonPath": path} for name, type_, path in _COLUMNS],
        "schema": {"openAPIV3Schema": schema},
    }
    names = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "shortNames": ["cb"],
        "categories": ["autoscaling"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }

"""CustomResourceDefinitions of EC2's node classes, with descriptions that ``kubectl explain`` shows.

Fields, bounds, defaults and rules come from the schemas by which `karpy_aws.objects` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.objects.kinds import Kind
from karpy_aws.objects.commonschema import HOP_LIMITS, status_schema
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.objects.nodetemplateschema import node_template_spec
from karpy_aws.objects.schema import Schema, record, rendered

__all__ = ["crds"]


def crds() -> tuple[Mapping[str, Any], ...]:
    """The definitions as JSON objects; the caller owns them."""
    node_class = {version: ec2_node_class_spec(version) for version in HOP_LIMITS}
    return (
        _definition(EC2_NODE_CLASS, ("ec2nc", "ec2ncs"), node_class),
        _definition(AWS_NODE_TEMPLATE, (), {"v1alpha1": node_template_spec()}),
    )


def _definition(kind: Kind, short_names: Sequence[str], specs: Mapping[str, Schema]) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "categories": ["karpenter"],
    }
    if short_names:
        names["shortNames"] = list(short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Cluster",
            "versions": [_version(name, spec, stored=name == kind.version) for name, spec in specs.items()],
        },
    }


def _version(name: str, spec: Schema, *, stored: bool) -> dict[str, Any]:
    ready = '.status.conditions[?(@.type=="Ready")].status'
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Ready", "type": "string", "jsonPath": ready},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "Role", "type": "string", "jsonPath": ".spec.role", "priority": 1},
        ],
        "schema": {
            "openAPIV3Schema": rendered(
                record({"spec": spec, "status": status_schema()}, "How nodes are set up on EC2.", required=("spec",))
            ),
        },
    }

"""The schema of AWSNodeTemplate v1alpha1, and of the same block inline in a Provisioner."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from karpy_aws.objects.commonschema import common_fields
from karpy_aws.objects.schema import Rule, Schema, mapping, record, text, with_rules

__all__ = [
    "FAMILIES",
    "ID_KEYS",
    "NAME_KEY",
    "OWNERS_KEY",
    "TEMPLATE_ONLY",
    "inline_provider_spec",
    "node_template_spec",
]

FAMILIES: Final = ("AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Custom")
ID_KEYS: Final = ("aws-ids", "aws::ids")
NAME_KEY: Final = "aws::name"
OWNERS_KEY: Final = "aws::owners"
TEMPLATE_ONLY: Final = frozenset({"userData", "amiSelector", "detailedMonitoring"})
"""Fields that an AWSNodeTemplate has and an inline provider has not."""
_REPLACED: Final = (
    *("securityGroupSelector", "metadataOptions", "amiFamily", "instanceProfile", "blockDeviceMappings", "userData"),
    "amiSelector",
)
"""A launch template of the user's own says all that these fields would."""

_MOST_TAGS: Final = 50
"""Nothing on EC2 can have more; without a bound an API server takes no rule about all entries."""

_Object = Mapping[str, Any]


@functools.cache
def node_template_spec() -> Schema:
    """The schema of an AWSNodeTemplate's ``spec``."""
    return with_rules(
        record(_fields(), "What nodes are made of."),
        _needed("subnetSelector", "tags or aws-ids"),
        _needed("securityGroupSelector", "tags or aws-ids", unless_templated=True),
        _IMAGE_OF_CUSTOM,
        *map(_replaced, _REPLACED),
    )


@functools.cache
def inline_provider_spec() -> Schema:
    """The schema of ``spec.provider`` of a Provisioner; its selectors have defaults that the cluster's name makes."""
    fields = {name: field for name, field in _fields().items() if name not in TEMPLATE_ONLY}
    fields = {"apiVersion": text(), "kind": text(), **fields}
    return with_rules(
        record(fields, "What nodes are made of."),
        _needed("instanceProfile", "the name of an instance profile", unless_templated=True),
        *(_replaced(field) for field in _REPLACED if field not in TEMPLATE_ONLY),
    )


def _fields() -> dict[str, Schema]:
    own = {
        "subnetSelector": _selector("Tags of the subnets for nodes, or aws-ids.", "subnet"),
        "securityGroupSelector": _selector("Tags of the security groups of nodes, or aws-ids.", "sg"),
        "amiSelector": _selector("Tags of the images for nodes, or aws-ids.", "ami"),
        "amiFamily": text("Operating system of the images; AL2 when unset.", enum=list(FAMILIES)),
        "instanceProfile": text("IAM instance profile of nodes."),
        "launchTemplate": text("Launch template of your own, by name; it excludes most other fields."),
    }
    return {**own, **common_fields(hop_limit=None, any_size=True)}


def _selector(description: str, prefix: str) -> dict[str, Any]:
    filled = Rule(
        "self.all(k, k != '' && self[k] != '')",
        "non-empty keys and values",
        lambda tags: next((f"{key!r}: {value!r} is empty" for key, value in tags.items() if not (key and value)), ""),
    )
    tags = mapping(description, minProperties=1, maxProperties=_MOST_TAGS)
    return with_rules(tags, filled, *(_ids(key, prefix) for key in ID_KEYS))


def _ids(key: str, prefix: str) -> Rule:
    one = f"{prefix}-[0-9a-z]+"
    pattern = f"^ *{one} *(, *{one} *)*$"
    return Rule(
        f"!('{key}' in self) || self['{key}'].matches('{pattern}')",
        f"what matches {one}, or several with commas between",
        lambda tags: "" if re.fullmatch(pattern, tags.get(key, f"{prefix}-0")) else f"{tags[key]!r} is malformed",
        field=key,
    )


_TEMPLATED: Final = "(has(self.launchTemplate) && self.launchTemplate != '')"


def _needed(field: str, accepted: str, *, unless_templated: bool = False) -> Rule:
    def problem(spec: _Object) -> str:
        is_excused = unless_templated and spec.get("launchTemplate")
        return "" if spec.get(field) or is_excused else "it is not set"

    present = f"(has(self.{field}) && self.{field}.size() > 0)"
    return Rule(f"{present} || {_TEMPLATED}" if unless_templated else present, accepted, problem, field=field)


_IMAGE_OF_CUSTOM: Final = Rule(
    "!has(self.amiFamily) || self.amiFamily != 'Custom' || has(self.amiSelector)",
    "tags or aws-ids",
    lambda spec: (
        "family Custom needs an image" if spec.get("amiFamily") == "Custom" and not spec.get("amiSelector") else ""
    ),
    field="amiSelector",
)


def _replaced(field: str) -> Rule:
    return Rule(
        f"!{_TEMPLATED} || !has(self.{field})",
        "either launchTemplate or this field",
        lambda spec: (
            "launchTemplate is set beside it" if spec.get("launchTemplate") and spec.get(field) is not None else ""
        ),
        field=field,
    )

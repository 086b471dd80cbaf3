"""The reference of EC2's node classes, made from the schemas by which `karpy_aws.objects` reads and the API server checks.

``python -m tests.nodeclass_page`` writes it; ``tests/test_nodeclass_page.py`` fails when it is stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from karpy_aws.objects.commonschema import status_schema
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.kubelet import MANAGED_FIELDS
from karpy_aws.objects.nodetemplateschema import TEMPLATE_ONLY, inline_provider_spec, node_template_spec
from karpy_aws.objects.schema import ACCEPTED, RULES, Schema

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "aws-node-classes.md"
COMMAND = "python -m tests.nodeclass_page"
REQUIRED = "**Required.**"


@attrs.frozen
class Row:
    """One field. ``path`` is from the object's root; ``[]`` stands for each item of a list."""

    path: str
    accepted: str
    default: str
    meaning: str

    @property
    def cells(self) -> tuple[str, ...]:
        return f"`{self.path}`", self.accepted, self.default, self.meaning


def rows(schema: Schema, path: str) -> Iterator[Row]:
    """The fields below ``schema``, each before what it holds."""
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from rows(items, f"{path}[]")
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}"
        meaning = " ".join(filter(None, [REQUIRED if name in required else "", field.get("description", "")]))
        yield Row(place, _accepted(field), _default(field), meaning)
        yield from rows(field, place)


def _default(field: Schema) -> str:
    found = field.get("default")
    return "" if found is None or isinstance(found, Mapping) else f"`{json.dumps(found).strip(chr(34))}`"


def _accepted(field: Schema) -> str:
    """What a field takes, in words."""
    if ACCEPTED in field:
        return str(field[ACCEPTED])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "a quantity"
    if field["type"] == "array":
        return f"a list{_bounds(field, 'minItems', 'maxItems')}"
    if field["type"] == "object":
        is_map = "additionalProperties" in field
        return f"texts by name{_bounds(field, 'minProperties', 'maxProperties')}" if is_map else "an object"
    if field["type"] == "integer":
        return f"a whole number{_bounds(field, 'minimum', 'maximum')}"
    return {"boolean": "true or false", "string": "a text"}[field["type"]]


def _bounds(field: Schema, low: str, high: str) -> str:
    least, most = field.get(low), field.get(high)
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", at least {least}"
    return "" if most is None else f", at most {most}"


def rules(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Where something must hold beyond a field's own type, and what."""
    for rule in schema.get(RULES, ()):
        yield f"{path}.{rule.field}" if rule.field in schema.get("properties", ()) else path, rule.accepted
    for name, field in schema.get("properties", {}).items():
        yield from rules(field, f"{path}.{name}")
    if isinstance(schema.get("items"), Mapping):
        yield from rules(schema["items"], f"{path}[]")


def differences(newer: Schema, older: Schema) -> list[tuple[str, str, str]]:
    """Fields whose row is another one, as the newer and the older version have it."""
    new, old = ({row.path: row for row in rows(schema, "spec")} for schema in (newer, older))
    return [
        (f"`{path}`", _told(new.get(path)), _told(old.get(path)))
        for path in dict.fromkeys([*new, *old])
        if new.get(path) != old.get(path)
    ]


def _told(row: Row | None) -> str:
    if row is None:
        return "–"
    return "; ".join(filter(None, [row.accepted, f"default {row.default}" if row.default else "", row.meaning]))


def page() -> str:
    """The whole page."""
    newest, older = ec2_node_class_spec("v1"), ec2_node_class_spec("v1beta1")
    template, inline = node_template_spec(), inline_provider_spec()
    fields = ("field", "accepted", "default", "meaning")
    return "\n".join(
        [
            "# What can a node class of EC2 say?",
            "",
            "A node class says how machines are set up; a pool refers to it. karpy reads those of all generations into one form.",
            f"`{COMMAND}` makes this page from the schemas that the CRDs (`karpy crds`) and karpy's own readers share: what is",
            "refused in a cluster is refused in a file, with the field's path, what stands there, and what is accepted.",
            "",
            "[How they are used on EKS](aws.md) comes first. Where karpy reads differently from Karpenter is in",
            "[a list](differences.md#node-classes-on-ec2).",
            "",
            "## EC2NodeClass `karpenter.k8s.aws/v1`",
            "",
            *_table(fields, (row.cells for row in rows(newest, "spec"))),
            "",
            "What must hold beyond that:",
            "",
            *_rules_table(rules(newest, "spec")),
            "",
            "### The kubelet's settings",
            "",
            f"Every image family takes these: {_named(MANAGED_FIELDS)}.",
            "But Bottlerocket takes no `podsPerCore`, and only AL2023 more than one address in `clusterDNS`. AL2023 takes the",
            "kubelet's other settings too, by the names of its own configuration; other families refuse them, as the machine",
            "would not get them. Images of your own (`Custom`) are told nothing of this block, though karpy counts with it: tell",
            "them by `spec.userData`.",
            "",
            "### What karpy writes",
            "",
            *_table(("field", "holds", "meaning"), _status_rows()),
            "",
            "## EC2NodeClass `karpenter.k8s.aws/v1beta1`",
            "",
            "The same object. What differs:",
            "",
            *_table(("field", "v1", "v1beta1"), differences(newest, older)),
            "",
            *_rules_table(rule for rule in rules(older, "spec") if rule not in set(rules(newest, "spec"))),
            "",
            "The kubelet's settings stood in the NodePool then, as `spec.template.spec.kubelet`.",
            "",
            "## AWSNodeTemplate `karpenter.k8s.aws/v1alpha1`",
            "",
            *_table(fields, (row.cells for row in rows(template, "spec"))),
            "",
            *_rules_table(rules(template, "spec")),
            "",
            "A selector's entries must all hold; the value `*` means any. `aws-ids` and `aws::ids` take ids with commas between.",
            "",
            "## `spec.provider` of a Provisioner `karpenter.sh/v1alpha5`",
            "",
            f"The same fields but {_named(sorted(TEMPLATE_ONLY))}, which only a node template has. Selectors that are left",
            "out mean what bears the tag `kubernetes.io/cluster/` with the cluster's name. Any other field is refused.",
            "",
            *_rules_table(
                rule for rule in rules(inline, "spec.provider") if _renamed(rule) not in set(rules(template, "spec"))
            ),
            "",
        ]
    )


def _renamed(rule: tuple[str, str]) -> tuple[str, str]:
    return rule[0].replace("spec.provider", "spec", 1), rule[1]


def _status_rows() -> Iterator[Sequence[str]]:
    """What karpy writes needs no defaults, and nobody has to be told that it is required."""
    for row in rows(status_schema(), "status"):
        yield f"`{row.path}`", row.accepted, row.meaning.removeprefix(REQUIRED).strip()


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _rules_table(found: Iterable[tuple[str, str]]) -> list[str]:
    return _table(("of", "accepted"), ((f"`{place}`", told) for place, told in dict.fromkeys(found)))


def _table(head: Sequence[str], body: Iterable[Sequence[Any]]) -> list[str]:
    return [_row(head), "|" + "---|" * len(head), *map(_row, body)]


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in (each.replace("|", "\\|") for each in cells))


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()

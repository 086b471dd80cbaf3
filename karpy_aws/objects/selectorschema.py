"""The schema of the terms by which an EC2NodeClass selects subnets, groups, images and reservations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpy_aws.objects.schema import ACCEPTED, Rule, Schema, listing, mapping, record, text, with_rules

__all__ = [
    "ALIAS_FAMILIES",
    "FAMILIES",
    "group_term",
    "identifier",
    "image_term",
    "reservation_term",
    "said",
    "subnet_term",
    "terms",
]

FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")
ALIAS_FAMILIES: Final = {name.lower(): name for name in FAMILIES if name != "Custom"}
_MAX_TERMS: Final = 30
_MAX_TAGS: Final = 20

_Object = Mapping[str, Any]


def terms(term: Schema, description: str, *, least: int) -> dict[str, Any]:
    return listing(term, description, **({"minItems": least} if least else {}), maxItems=_MAX_TERMS)


def _tags() -> dict[str, Any]:
    """Not empty: no tag at all would match everything in the account."""
    filled = Rule(
        "self.all(k, k != '' && self[k] != '')",
        "non-empty keys and values",
        lambda tags: next((f"{key!r}: {value!r} is empty" for key, value in tags.items() if not (key and value)), ""),
    )
    return with_rules(mapping("All must match.", minProperties=1, maxProperties=_MAX_TAGS), filled)


def identifier(prefix: str) -> dict[str, Any]:
    return text(pattern=f"^{prefix}-[0-9a-z]+$", **{ACCEPTED: f"{prefix}- with small letters and digits"})


def subnet_term() -> dict[str, Any]:
    fields = {"tags": _tags(), "id": identifier("subnet")}
    return with_rules(record(fields), _one_of("tags", "id"), _alone("id", "tags"))


def group_term() -> dict[str, Any]:
    fields = {"tags": _tags(), "id": identifier("sg"), "name": text(minLength=1)}
    rules = (_one_of("tags", "id", "name"), _alone("id", "tags", "name"), _alone("name", "tags", "id"))
    return with_rules(record(fields), *rules)


def image_term() -> dict[str, Any]:
    """Karpenter lets an SSM parameter stand beside an id or an alias, which win."""
    fields = {
        "alias": _alias(),
        "tags": _tags(),
        "id": identifier("ami"),
        "name": text("Name of the image; wildcards are allowed.", minLength=1),
        "owner": text("Account that owns the image, self, amazon or aws-marketplace.", minLength=1),
        "ssmParameter": text("Systems Manager parameter that holds the image's id.", minLength=1),
    }
    return with_rules(
        record(fields),
        _one_of("tags", "id", "name", "alias", "ssmParameter"),
        _alone("id", "alias", "tags", "name", "owner"),
        _alone("alias", "id", "tags", "name", "owner"),
    )


def reservation_term() -> dict[str, Any]:
    fields = {
        "tags": _tags(),
        "id": identifier("cr"),
        "ownerID": text("Account that owns it.", pattern="^[0-9]{12}$", **{ACCEPTED: "an account of twelve digits"}),
        "instanceMatchCriteria": text("Who may use it.", enum=["open", "targeted"]),
    }
    return with_rules(
        record(fields),
        _one_of("tags", "id", "instanceMatchCriteria"),
        _alone("id", "tags", "ownerID", "instanceMatchCriteria"),
    )


def _one_of(*fields: str) -> Rule:
    return Rule(
        " || ".join(f"has(self.{field})" for field in fields),
        f"at least one of {', '.join(fields)}",
        lambda term: "" if said(term, fields) else "the term names nothing",
    )


def _alone(field: str, *others: str) -> Rule:
    def problem(term: _Object) -> str:
        beside = said(term, others) if term.get(field) is not None else []
        return f"{', '.join(beside)} stands beside {field}" if beside else ""

    either = " || ".join(f"has(self.{other})" for other in others)
    return Rule(f"!has(self.{field}) || !({either})", f"{field} without {', '.join(others)}", problem)


def said(term: _Object, fields: Sequence[str]) -> list[str]:
    return [field for field in fields if term.get(field) is not None]


def _alias() -> dict[str, Any]:
    names = ", ".join(f"'{name}'" for name in ALIAS_FAMILIES)
    described = text(
        "family@version, such as al2023@latest.",
        maxLength=30,
        pattern="^[a-zA-Z0-9]+@[^@]+$",
        **{ACCEPTED: "family@version"},
    )
    known = Rule(
        f"self.split('@')[0] in [{names}]",
        f"{', '.join(ALIAS_FAMILIES)}, each with @version",
        lambda alias: "" if alias.partition("@")[0] in ALIAS_FAMILIES else f"{alias!r} names no family",
    )
    latest = Rule(
        "!self.startsWith('windows') || !self.contains('@') || self.endsWith('@latest')",
        "latest as the version of Windows",
        lambda alias: (
            f"{alias!r} pins a version"
            if alias.startswith("windows") and "@" in alias and not alias.endswith("@latest")
            else ""
        ),
    )
    return with_rules(described, known, latest)

"""The schema of EC2NodeClass, v1 and v1beta1.

v1beta1 has the fields of v1 too: both are served from one stored object, and a field that one of them did not know would be
lost by a write through it. It differs in what it demands: it knows Ubuntu, and a family may stand without images.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from karpy_aws.objects.commonschema import HOP_LIMITS, common_fields
from karpy_aws.objects.schema import (
    Rule,
    Schema,
    integer,
    listing,
    open_object,
    record,
    text,
    truth,
    with_rules,
)
from karpy_aws.objects.selectorschema import (
    FAMILIES,
    group_term,
    identifier,
    image_term,
    reservation_term,
    said,
    subnet_term,
    terms,
)

__all__ = [
    "OLDER_FAMILIES",
    "RESTRICTED_TAGS",
    "ec2_node_class_spec",
    "is_restricted_tag",
]

OLDER_FAMILIES: Final = (*FAMILIES, "Ubuntu")
RESTRICTED_TAGS: Final = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
RESTRICTED_TAG_PREFIX: Final = "kubernetes.io/cluster"

_Object = Mapping[str, Any]


@functools.cache
def ec2_node_class_spec(version: str) -> Schema:
    """The schema of ``spec`` in this version."""
    is_newest = version == "v1"
    own = {
        "subnetSelectorTerms": terms(subnet_term(), "Subnets for nodes; any term may match.", least=1),
        "securityGroupSelectorTerms": terms(group_term(), "Security groups of nodes; any term may match.", least=1),
        "amiSelectorTerms": with_rules(
            terms(image_term(), "Images for nodes; any term may match.", least=1), _ALIAS_ALONE
        ),
        "amiFamily": text(
            "Operating system of the images; not needed beside an alias.",
            enum=list(FAMILIES if is_newest else OLDER_FAMILIES),
        ),
        "role": text("IAM role of nodes; an instance profile is made for it.", minLength=1),
        "instanceProfile": text("IAM instance profile of nodes, made by yourself.", minLength=1),
        "associatePublicIPAddress": truth("Whether nodes get a public address; unset: as the subnet says."),
        "instanceStorePolicy": text("RAID0 makes one disk of the local ones.", enum=["RAID0"]),
        "kubelet": open_object("Settings of the kubelet."),
        **_placement(),
        **_networking(),
    }
    fields = {**own, **common_fields(hop_limit=HOP_LIMITS[version], any_size=not is_newest, tag_rules=_TAG_RULES)}
    required = ("subnetSelectorTerms", "securityGroupSelectorTerms", *(("amiSelectorTerms",) if is_newest else ()))
    family_rules = (_FAMILY_OF_ALIAS, _FAMILY_OR_ALIAS, *(() if is_newest else (_IMAGES_OF_CUSTOM,)))
    return with_rules(record(fields, "What nodes are made of.", required), _IDENTITY, *family_rules)


# Images and families


_ALIAS_ALONE: Final = Rule(
    "self.size() <= 1 || !self.exists(x, has(x.alias))",
    "the alias as the only term",
    lambda terms: (
        "an alias stands beside other terms"
        if len(terms) > 1 and any(term.get("alias") is not None for term in terms)
        else ""
    ),
)


def _aliases(spec: _Object) -> list[str]:
    return [term["alias"] for term in spec.get("amiSelectorTerms") or () if term.get("alias") is not None]


def _mismatch(spec: _Object) -> str:
    family = spec.get("amiFamily")
    if family in (None, "Custom"):
        return ""
    others = (alias for alias in _aliases(spec) if alias.partition("@")[0] != family.lower())
    return next((f"{family!r} does not match alias {alias!r}" for alias in others), "")


_FAMILY_OF_ALIAS: Final = Rule(
    "!has(self.amiFamily) || self.amiFamily == 'Custom' || !has(self.amiSelectorTerms) || "
    "self.amiSelectorTerms.all(x, !has(x.alias) || x.alias.split('@')[0] == self.amiFamily.lowerAscii())",
    "the family of the alias, or Custom",
    _mismatch,
    field="amiFamily",
)
_FAMILY_OR_ALIAS: Final = Rule(
    "has(self.amiFamily) || (has(self.amiSelectorTerms) && self.amiSelectorTerms.exists(x, has(x.alias)))",
    f"one of {', '.join(FAMILIES)}; it may be left out beside an alias only",
    lambda spec: "" if spec.get("amiFamily") is not None or _aliases(spec) else "it is not set, and no alias is given",
    field="amiFamily",
)
_IMAGES_OF_CUSTOM: Final = Rule(
    "!has(self.amiFamily) || self.amiFamily != 'Custom' || has(self.amiSelectorTerms)",
    "at least one term for family Custom",
    lambda spec: (
        "family Custom needs an image"
        if spec.get("amiFamily") == "Custom" and spec.get("amiSelectorTerms") is None
        else ""
    ),
    field="amiSelectorTerms",
)


# Identity and tags


def is_restricted_tag(key: str) -> bool:
    """Whether only karpy itself may set the tag."""
    return key in RESTRICTED_TAGS or key.startswith(RESTRICTED_TAG_PREFIX)


def _identity_problem(spec: _Object) -> str:
    given = said(spec, ("role", "instanceProfile"))
    if len(given) == 1:
        return ""
    return "both role and instanceProfile are set" if given else "neither role nor instanceProfile is set"


_IDENTITY: Final = Rule(
    "has(self.role) != has(self.instanceProfile)", "exactly one of role and instanceProfile", _identity_problem
)


def _restricted(key: str, *, prefix: bool = False) -> Rule:
    def problem(tags: Mapping[str, str]) -> str:
        found = (tag for tag in tags if (tag.startswith(key) if prefix else tag == key))
        return next((f"tag {tag!r} is set by karpy itself" for tag in found), "")

    told = f"tags other than {key}" + ("…" if prefix else "")
    return Rule(f"self.all(k, {f'!k.startsWith({key!r})' if prefix else f'k != {key!r}'})", told, problem)


_TAG_RULES: Final = (_restricted(RESTRICTED_TAG_PREFIX, prefix=True), *(_restricted(key) for key in RESTRICTED_TAGS))


# Placement and network


def _placement() -> dict[str, Schema]:
    group = {"name": text("Name of the group.", minLength=1), "id": identifier("pg")}
    either = Rule(
        "has(self.name) != has(self.id)",
        "exactly one of name and id",
        lambda selector: "" if len(said(selector, ("name", "id"))) == 1 else "it names none, or one twice",
    )
    return {
        "capacityReservationSelectorTerms": terms(
            reservation_term(), "Reservations that nodes may use; any term may match.", least=0
        ),
        "placementGroupSelector": with_rules(record(group, "Placement group of nodes: its name or its id."), either),
        "cpuOptions": record(
            {"nestedVirtualization": text("Virtual machines inside nodes.", enum=["enabled", "disabled"])},
            "Features of the CPU.",
        ),
    }


def _networking() -> dict[str, Schema]:
    interface = record(
        {
            "networkCardIndex": integer("Which network card of the instance.", minimum=0),
            "deviceIndex": integer("Which interface of the card.", minimum=0),
            "interfaceType": text("An ordinary interface, or one for EFA alone.", enum=["interface", "efa-only"]),
        },
        required=("networkCardIndex", "deviceIndex", "interfaceType"),
    )
    seconds = {"tcpEstablishedTimeout": (60, 432_000), "udpStreamTimeout": (60, 180), "udpTimeout": (30, 60)}
    tracking = {name: integer("Seconds.", minimum=low, maximum=high) for name, (low, high) in seconds.items()}
    interfaces = listing(interface, "Network interfaces of nodes; one when unset.", maxItems=150)
    return {
        "networkInterfaces": with_rules(interfaces, _PRIMARY, _NO_SAME_PLACE, _ONE_EFA),
        "ipPrefixCount": integer("Address prefixes on each interface.", minimum=0),
        "connectionTracking": record(tracking, "How long idle connections are remembered.", minProperties=1),
    }


def _twice(keys: list[Any]) -> Any:
    """The first key that was there before; None when all differ."""
    return next((key for index, key in enumerate(keys) if key in keys[:index]), None)


def _place(interface: _Object) -> tuple[int, int]:
    return interface["networkCardIndex"], interface["deviceIndex"]


def _same_place(interfaces: list[_Object]) -> str:
    twice = _twice([_place(each) for each in interfaces])
    return f"card {twice[0]} has device {twice[1]} twice" if twice else ""


def _two_efas(interfaces: list[_Object]) -> str:
    twice = _twice([each["networkCardIndex"] for each in interfaces if each["interfaceType"] == "efa-only"])
    return "" if twice is None else f"card {twice} has two efa-only interfaces"


_PRIMARY: Final = Rule(
    "self.size() == 0 || "
    "self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",
    "an entry of type interface for device 0 of card 0",
    lambda interfaces: (
        ""
        if not interfaces or any(_place(x) == (0, 0) and x["interfaceType"] == "interface" for x in interfaces)
        else "no entry is the primary interface"
    ),
)
_NO_SAME_PLACE: Final = Rule(
    "self.all(x, self.exists_one(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex))",
    "each device of a card once",
    _same_place,
)
_ONE_EFA: Final = Rule(
    "self.all(x, x.interfaceType != 'efa-only' || "
    "self.exists_one(y, y.interfaceType == 'efa-only' && y.networkCardIndex == x.networkCardIndex))",
    "at most one efa-only interface a card",
    _two_efas,
)

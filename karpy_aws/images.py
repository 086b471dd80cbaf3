"""Which images a node class comes to: pure functions from its terms and from what AWS answers.

Looking up takes three steps: `parameters` says what to ask of Systems Manager, `queries` what to ask of EC2 then, and `choose`
makes the class's images of the answers. `image_of` says which of them a machine gets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.clock import parse_time
from karpy.cloud.instancetype import InstanceType
from karpy.errors import InvalidObject
from karpy.labels import CORE_LABELS
from karpy.requirements import Requirement, Requirements
from karpy_aws.imageparameters import ImageParameter, image_parameters
from karpy_aws.labels import AWS_LABELS
from karpy_aws.objects.nodeclass import NodeClass, SelectorTerm
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.objects.status import AMI
from karpy_aws.tagfilters import tag_filters

__all__ = [
    "choose",
    "image_of",
    "image_version",
    "is_deprecated",
    "parameters",
    "queries",
    "query_by_id",
    "suited",
]

_WELL_KNOWN: Final = (CORE_LABELS | AWS_LABELS).well_known
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_OWNERS_OF_NAMES: Final = ("self", "amazon")
"""Whose images may be found by name alone: anybody may publish an image under any name."""
_PAGE: Final = 1_000
_IMAGE_ID: Final = "ami-"


def parameters(node_class: NodeClass, kubernetes: str) -> tuple[ImageParameter, ...]:
    """What to ask of Systems Manager. A class of an older generation that says nothing means its family's newest images.

    Raises:
        UnsupportedAlias: the class means images that do not exist for this version of Kubernetes.
    """
    terms = node_class.ami_selector_terms
    if node_class.alias:
        family, _, version = node_class.alias.partition("@")
        return image_parameters(_ALIASES.get(family.lower(), family), kubernetes, version)
    if not terms:
        return image_parameters(node_class.ami_family, kubernetes)
    return tuple(ImageParameter(path, is_users=True) for term in terms if (path := _parameter_of(term)))


_ALIASES: Final = {
    family.lower(): family for family in ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025")
}


def _parameter_of(term: SelectorTerm) -> str | None:
    """An id beside a parameter wins."""
    return None if term.id else term.ssm_parameter


def queries(node_class: NodeClass, found: Mapping[str, str]) -> tuple[dict[str, Any], ...]:
    """Requests of DescribeImages; their answers together hold the class's images.

    ``found`` is what Systems Manager answered, by path; what is no image's id counts as not found.
    """
    ids = {value for value in found.values() if value.startswith(_IMAGE_ID)}
    others = []
    for term in node_class.ami_selector_terms if not node_class.alias else ():
        if term.id:
            ids.add(term.id)
        elif not term.ssm_parameter:
            others.append(_query(_term_filters(term), _owners(term)))
    return (*([query_by_id(ids)] if ids else []), *others)


def query_by_id(ids: Iterable[str]) -> dict[str, Any]:
    """The request for images that are known by their ids."""
    return _query([{"Name": "image-id", "Values": sorted(set(ids))}])


def _term_filters(term: SelectorTerm) -> list[dict[str, Any]]:
    named = [{"Name": "name", "Values": [term.name]}] if term.name else []
    return [*named, *tag_filters(term.tags or {})]


def _owners(term: SelectorTerm) -> Sequence[str]:
    if term.owner:
        return (term.owner,)
    return _OWNERS_OF_NAMES if term.name else ()


def _query(filters: Sequence[Mapping[str, Any]], owners: Sequence[str] = ()) -> dict[str, Any]:
    request: dict[str, Any] = {
        "Filters": [*filters, {"Name": "state", "Values": ["available"]}],
        "IncludeDeprecated": True,  # better than no image, and its nodes are told to be on one
        "MaxResults": _PAGE,
    }
    return {**request, "Owners": list(owners)} if owners else request


def suited(wanted: Iterable[ImageParameter], found: Mapping[str, str]) -> dict[str, tuple[Requirements, ...]]:
    """By the id of an image, the machines that an alias means it for; one image may serve several kinds."""
    by_id: dict[str, dict[Requirements, None]] = {}
    for parameter in wanted:
        if parameter.path in found and not parameter.is_users:
            by_id.setdefault(found[parameter.path], {}).update(dict.fromkeys(parameter.suits))
    return {image: tuple(kinds) for image, kinds in by_id.items()}


@attrs.frozen
class _Candidate:
    """An image for one kind of machine. ``place`` is that of the kind among those of the image."""

    ami: AMI
    created: float
    place: int

    @property
    def second(self) -> float:
        """Images of one second are equally new."""
        return self.created if math.isinf(self.created) else math.floor(self.created)

    @property
    def worth(self) -> tuple[bool, float, str]:
        return (not self.ami.deprecated, self.second, self.ami.name)


def choose(
    images: Iterable[Mapping[str, Any]],
    node_class: NodeClass,
    suits: Mapping[str, tuple[Requirements, ...]],
    *,
    now: float,
) -> tuple[AMI, ...]:
    """The images of a class, the newest first, of those that DescribeImages listed.

    For each kind of machine there is one: what is not deprecated before what is, then the newest, then the last by name.
    """
    best: dict[Requirements, _Candidate] = {}
    for image in sorted(images, key=lambda image: str(image["ImageId"])):  # of equals the first by id
        for candidate in _candidates(image, node_class, suits, now):
            kind = candidate.ami.requirements
            if kind not in best or best[kind].worth < candidate.worth:
                best[kind] = candidate
    order = sorted(best.values(), key=lambda each: (-each.second, each.ami.id, each.place))
    return tuple(candidate.ami for candidate in order)


def _candidates(
    image: Mapping[str, Any], node_class: NodeClass, suits: Mapping[str, tuple[Requirements, ...]], now: float
) -> Iterable[_Candidate]:
    arch = _ARCHITECTURES.get(image.get("Architecture", ""))
    if arch is None:
        return
    own = Requirements([Requirement.in_(core.ARCH, arch), *_asked_by_tags(image, node_class)])
    for place, kind in enumerate(suits.get(image["ImageId"], (Requirements(),))):
        ami = AMI(
            id=image["ImageId"],
            name=image.get("Name") or "",
            requirements=kind & own,
            deprecated=is_deprecated(image, now),
        )
        created = _time(image.get("CreationDate"))
        yield _Candidate(ami, created if created < math.inf else -math.inf, place)


def is_deprecated(image: Mapping[str, Any], now: float) -> bool:
    """Whether its owner has said that it should not be used any more."""
    return _time(image.get("DeprecationTime")) <= now


def _asked_by_tags(image: Mapping[str, Any], node_class: NodeClass) -> Iterable[Requirement]:
    """An AWSNodeTemplate's images may say by their tags which machines they are for; later generations do not listen."""
    if node_class.origin != AWS_NODE_TEMPLATE:
        return ()
    tags = {tag["Key"]: tag.get("Value", "") for tag in image.get("Tags") or ()}
    return [Requirement.in_(key, value) for key, value in sorted(tags.items()) if core.normalize(key) in _WELL_KNOWN]


def _time(text: str | None) -> float:
    """When, in seconds; never, for a time that is missing or cannot be read."""
    try:
        return parse_time(text) if text else math.inf
    except InvalidObject:
        return math.inf


def image_of(instance_type: InstanceType, images: Iterable[AMI]) -> AMI | None:
    """The image that machines of a type get: the first, in the order of the class's status, that is for them."""
    for image in images:
        if instance_type.requirements.compatible(image.requirements, _WELL_KNOWN) is None:
            return image
    return None


def image_version(node_class: NodeClass, image: AMI) -> str:
    """The version that an image is of, for what depends on it: ``latest``, ``v1.46.0``, or empty where nothing says."""
    if node_class.alias:
        return node_class.alias.partition("@")[2]
    names = [image.name, *(term.name or "" for term in node_class.ami_selector_terms)]
    names += [ami.name for ami in node_class.status.amis]
    return next((version for name in names if (version := _version_in(name))), "")


def _version_in(name: str) -> str:
    """The part of an image's name that is ``v`` and three numbers.

    >>> _version_in("bottlerocket-aws-k8s-1.34-x86_64-v1.46.0-0ab1c2d3")
    'v1.46.0'
    """
    for part in name.split("-"):
        numbers = part[1:].split(".")
        if part[:1] == "v" and len(numbers) == 3 and all(number.isdigit() for number in numbers):
            return part
    return ""

"""Which instance types may share one launch template: those that are started in exactly the same way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.errors import CreateFailed
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.capacity import EFA
from karpy_aws.images import image_of
from karpy_aws.objects.status import AMI

__all__ = ["KubeletOf", "Reservation", "TemplateGroup", "group_types"]

KubeletOf = Callable[[InstanceType], Mapping[str, Any]]
"""The kubelet block as machines of a type get it; see `karpy_aws.bootstrap.kubelet_config`."""


@attrs.frozen
class Reservation:
    """Capacity that was paid for and waits; ``kind`` is ``default`` or ``capacity-block``."""

    id: str
    kind: str = "default"
    interruptible: bool = False

    @classmethod
    def of(cls, offering: Offering) -> Reservation:
        """The reservation that an offering draws on."""
        asked = offering.requirements
        kind = asked.get(labels.CAPACITY_RESERVATION_TYPE)
        interruptible = asked.get(labels.CAPACITY_RESERVATION_INTERRUPTIBLE)
        return cls(
            offering.reservation_id or "",
            (kind.single() if kind else None) or "default",
            interruptible is not None and interruptible.single() == "true",
        )


@attrs.frozen(kw_only=True)
class TemplateGroup:
    """Instance types that one launch template serves, and all in which it differs from the other templates of a launch."""

    image: AMI
    types: tuple[InstanceType, ...]
    kubelet: Mapping[str, Any]
    efa_interfaces: int = 0
    reservation: Reservation | None = None


def group_types(
    types: Sequence[InstanceType],
    images: Sequence[AMI],
    *,
    kubelet_of: KubeletOf,
    requests: Resources,
    reserved: bool = False,
) -> tuple[TemplateGroup, ...]:
    """The groups, in the order in which their first type comes. A type that no image fits is in none.

    With ``reserved`` a type is in one group for each reservation of it that is to be had, for a template names one reservation.

    Raises:
        CreateFailed: no image fits any of the types.
    """
    members: dict[tuple[str, str, int, Reservation | None], list[InstanceType]] = {}
    image_by_id: dict[str, AMI] = {}
    kubelets: dict[str, Mapping[str, Any]] = {}
    for instance_type in types:
        image = image_of(instance_type, images)
        if image is None:
            continue
        kubelet = kubelet_of(instance_type)
        text = json.dumps(kubelet, sort_keys=True)
        image_by_id.setdefault(image.id, image)
        kubelets.setdefault(text, kubelet)
        efa = instance_type.capacity.get(EFA, 0) if EFA in requests else 0
        for reservation in _reservations(instance_type) if reserved else (None,):
            members.setdefault((image.id, text, efa, reservation), []).append(instance_type)
    if not members:
        raise CreateFailed(_none_fits(types, images))
    return tuple(
        TemplateGroup(
            image=image_by_id[image_id],
            types=tuple(found),
            kubelet=kubelets[text],
            efa_interfaces=efa,
            reservation=reservation,
        )
        for (image_id, text, efa, reservation), found in members.items()
    )


def _reservations(instance_type: InstanceType) -> Iterable[Reservation]:
    """Those that it can be launched into now, each once."""
    return dict.fromkeys(
        Reservation.of(offering)
        for offering in instance_type.offerings
        if offering.capacity_type == core.RESERVED and offering.available and offering.reservation_id
    )


def _none_fits(types: Sequence[InstanceType], images: Sequence[AMI]) -> str:
    if not images:
        return "the status of the node class names no image"
    of = ", ".join(f"{image.id} ({image.requirements or 'any machine'})" for image in images)
    return f"none of the class's images is for any of the {len(types)} instance types of this launch: {of}"

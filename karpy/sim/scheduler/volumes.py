"""Where a pod may run for the sake of its volumes, and which volumes its claims get there.

Source: kube-scheduler's VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone, in the order in which they refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from karpy import labels
from karpy.kube.client import RawObject
from karpy.objects.meta import decode
from karpy.objects.selectors import LabelSelector
from karpy.resources import Resources
from karpy.sim.cache import Key
from karpy.sim.scheduler import reasons
from karpy.sim.scheduler.nodes import NodePicture, Nodes, PlacedPod
from karpy.sim.scheduler.reasons import Refusal
from karpy.sim.scheduler.selectors import compile_selector, matches_any_term
from karpy.sim.scheduler.shape import Shape
from karpy.sim.scheduler.storage import Claim, Storage, Volume

__all__ = ["NO_PROVISIONER", "ClaimPlan", "VolumeRules", "capacity_of", "suits"]

NO_PROVISIONER = "kubernetes.io/no-provisioner"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_PLACES: Mapping[str, str] = {
    labels.ZONE: _BETA_ZONE,
    labels.REGION: _BETA_REGION,
    _BETA_ZONE: labels.ZONE,
    _BETA_REGION: labels.REGION,
}


@attrs.frozen
class ClaimPlan:
    """A claim that waits for its pod gets this volume, or a new one when ``volume`` is empty."""

    claim: Key
    volume: str


class VolumeRules:
    """The rules of storage for one pod."""

    def __init__(self, key: Key, shape: Shape, storage: Storage, nodes: Nodes) -> None:
        self._shape = shape
        self._storage = storage
        self._claims: list[Claim] = []
        self._waiting: list[Claim] = []
        self.refusal = self._read(key[1])
        """Why no node will do at all."""
        self._exclusive = frozenset(claim.key for claim in self._claims if claim.is_for_one_pod)
        self._users = sum(self._uses(pod) for node in nodes for pod in node.pods.values()) if self._exclusive else 0
        self._attached = frozenset(storage.attachments(shape.namespace, shape.claim_names(key[1])))

    def _read(self, pod_name: str) -> Refusal | None:
        own = {f"{pod_name}-{volume}" for volume in self._shape.own_claims}
        for name in self._shape.claim_names(pod_name):
            claim = self._storage.claim(self._shape.namespace, name)
            if claim is None:
                why = "waiting for ephemeral volume controller to create the " if name in own else ""
                return reasons.unbindable(f'{why}persistentvolumeclaim "{name}"{"" if why else " not found"}')
            if claim.read.status.phase == "Lost":
                return reasons.unbindable(
                    f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                    f'"{claim.read.spec.volume_name}"'
                )
            if "deletionTimestamp" in claim.raw["metadata"]:
                return reasons.unbindable(f'persistentvolumeclaim "{name}" is being deleted')
            self._claims.append(claim)
        unbound = [claim for claim in self._claims if not claim.is_bound]
        self._waiting = sorted(unbound, key=_wanted_size)
        for claim in unbound:
            if claim.read.spec.volume_name or not self._storage.waits_for_pod(claim):
                return reasons.unbindable("pod has unbound immediate PersistentVolumeClaims")
        return None

    def _uses(self, pod: PlacedPod) -> int:
        names = pod.shape.claim_names(pod.key[1])
        return sum((pod.shape.namespace, name) in self._exclusive for name in names)

    def count(self, pod: PlacedPod, sign: int) -> None:
        """Suppose that a pod comes to its node (1) or leaves it (-1)."""
        if self._exclusive:
            self._users += sign * self._uses(pod)

    def refuse(self, node: NodePicture) -> Refusal | None:
        if self._shape.disks and self._has_disk_conflict(node):
            return reasons.DISK_IN_USE
        if self._users > 0:
            return reasons.CLAIM_IN_USE
        if self._attached and self._holds_too_many(node):
            return reasons.TOO_MANY_VOLUMES
        problems = self._binding_problems(node) if self._claims else ()
        if problems:
            return reasons.unbindable(*problems)
        return None if self._is_in_zone(node) else reasons.VOLUME_ZONE

    def _has_disk_conflict(self, node: NodePicture) -> bool:
        return any(
            disk == other and not (shared and other_shared)
            for pod in node.pods.values()
            for other, other_shared in pod.shape.disks
            for disk, shared in self._shape.disks
        )

    def _holds_too_many(self, node: NodePicture) -> bool:
        limits = self._storage.limits(node.name)
        if not limits:
            return False
        held = {
            attachment
            for pod in node.pods.values()
            if pod.shape.claims or pod.shape.own_claims
            for attachment in self._storage.attachments(pod.shape.namespace, pod.shape.claim_names(pod.key[1]))
        }
        new = self._attached - held
        for driver in {driver for driver, _ in new}:
            both = sum(1 for each in held | new if each[0] == driver)
            if both > limits.get(driver, both):
                return True
        return False

    def _binding_problems(self, node: NodePicture) -> tuple[str, ...]:
        problems = []
        bound = [self._storage.volume(claim.read.spec.volume_name) for claim in self._claims if claim.is_bound]
        if any(volume is None for volume in bound):
            return (reasons.VOLUME_GONE,)
        if not all(_reaches(volume, node) for volume in bound if volume is not None):
            problems.append(reasons.NODE_CONFLICT)
        if self.plan(node) is None:
            problems.append(reasons.NOTHING_TO_BIND)
        return tuple(problems)

    def plan(self, node: NodePicture) -> tuple[ClaimPlan, ...] | None:
        """What each waiting claim would get on this node; None when one would get nothing."""
        plans: list[ClaimPlan] = []
        taken: set[str] = set()
        for claim in self._waiting:
            selected = claim.selected_node
            if selected is not None:
                if selected != node.name:
                    return None
                plans.append(ClaimPlan(claim.key, ""))
                continue
            volume = self._smallest_match(claim, node, taken)
            if volume is not None:
                taken.add(volume)
                plans.append(ClaimPlan(claim.key, volume))
            elif self._can_provision(claim, node):
                plans.append(ClaimPlan(claim.key, ""))
            else:
                return None
        return tuple(plans)

    def _smallest_match(self, claim: Claim, node: NodePicture, taken: set[str]) -> str | None:
        fitting = [
            (capacity_of(volume.raw), volume.raw["metadata"]["name"])
            for volume in self._storage.volumes()
            if volume.raw["metadata"]["name"] not in taken and suits(volume.raw, claim.raw) and _reaches(volume, node)
        ]
        return min(fitting)[1] if fitting else None

    def _can_provision(self, claim: Claim, node: NodePicture) -> bool:
        found = self._storage.class_of(claim)
        if found is None or not found.provisioner or found.provisioner == NO_PROVISIONER:
            return False
        return not found.allowed_topologies or any(
            all(node.labels.get(each.key) in each.values for each in term.match_label_expressions)
            for term in found.allowed_topologies
        )

    def _is_in_zone(self, node: NodePicture) -> bool:
        if not any(place in node.labels for place in _PLACES):
            return True
        for claim in self._claims:
            volume = self._storage.volume(claim.read.spec.volume_name) if claim.read.spec.volume_name else None
            for key, text in ((volume.raw["metadata"].get("labels") or {}) if volume is not None else {}).items():
                if key in _PLACES:
                    found = node.labels.get(key, node.labels.get(_PLACES[key]))
                    if found not in text.split("__"):
                        return False
        return True


def _wanted_size(claim: Claim) -> int:
    requests = ((claim.raw.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return _bytes(requests)


def capacity_of(volume: RawObject) -> int:
    """Bytes that a volume holds."""
    return _bytes((volume.get("spec") or {}).get("capacity") or {})


def _bytes(amounts: Mapping[str, str]) -> int:
    return Resources.parse({"storage": amounts["storage"]})["storage"] if "storage" in amounts else 0


def _reaches(volume: Volume, node: NodePicture) -> bool:
    affinity = volume.read.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return matches_any_term(affinity.required.node_selector_terms, node.name, node.labels)


def suits(volume: RawObject, claim: RawObject) -> bool:
    """Whether a volume is free for the claim and gives what it asks for, wherever it is."""
    has, wants = volume.get("spec") or {}, claim.get("spec") or {}
    reference = has.get("claimRef")
    if reference is not None:
        metadata = claim["metadata"]
        if (reference.get("namespace"), reference.get("name")) != (metadata["namespace"], metadata["name"]):
            return False
        if reference.get("uid", metadata["uid"]) != metadata["uid"]:
            return False
    elif (volume.get("status") or {}).get("phase", "Available") not in ("Available", "Pending"):
        return False
    return (
        "deletionTimestamp" not in volume["metadata"]
        and (has.get("storageClassName") or "") == (wants.get("storageClassName") or "")
        and _covers(has.get("accessModes") or (), wants.get("accessModes") or ())
        and has.get("volumeMode", "Filesystem") == wants.get("volumeMode", "Filesystem")
        and capacity_of(volume) >= _bytes((wants.get("resources") or {}).get("requests") or {})
        and _is_selected(wants.get("selector"), volume)
    )


def _covers(has: Sequence[str], wants: Sequence[str]) -> bool:
    return all(mode in has for mode in wants)


def _is_selected(selector: RawObject | None, volume: RawObject) -> bool:
    test = compile_selector(decode(selector, LabelSelector)) if selector is not None else None
    return test is None or test(volume["metadata"].get("labels") or {})

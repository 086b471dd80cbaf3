"""The judge's last part: host ports, and the disks that pods bring, on the machines where a plan puts them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from karpy import labels
from karpy.objects.pod import Pod
from karpy.objects.podspec import Volume
from karpy.objects.volumes import PersistentVolume, StorageClass
from karpy.requirements import Requirement, Requirements
from karpy.state.snapshot import Storage
from tests.judge_around import World
from tests.judge_pods import holds

IN_TREE = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}


def ports(world: World) -> Iterator[str]:
    """No two pods of a machine take one port of it."""
    for place in world.places:
        for pod, other in itertools.combinations(place.pods, 2):
            if other in place.newcomers and clash(pod, other):
                yield f"{pod.key} and {other.key} both take a port of {place.name}"


def clash(pod: Pod, other: Pod) -> bool:
    """Whether two pods want one host port."""
    everywhere = ("", "0.0.0.0", "::")
    return any(
        (port, protocol) == (its_port, its_protocol) and (ip == its_ip or ip in everywhere or its_ip in everywhere)
        for port, protocol, ip in _ports(pod)
        for its_port, its_protocol, its_ip in _ports(other)
    )


def _ports(pod: Pod) -> list[tuple[int, str, str]]:
    found = (port for container in pod.spec.containers for port in container.ports if port.host_port)
    return [(port.host_port, port.protocol or "TCP", port.host_ip) for port in found]


def disks(world: World) -> Iterator[str]:
    """Every disk can be reached, or made, in whatever form the machine may take; and no node holds more than it can."""
    storage = world.snapshot.storage
    for place, pod in world.newcomers:
        for name in _out_of_order(pod, storage):
            yield f"{pod.key} is on {place.name}, and {name} cannot be used as it is"
        for name, volume, storage_class in _disks(pod, storage):
            allowed = _reachable(volume, storage_class)
            for machine in place.machines:
                if allowed and not any(all(holds(machine, need) for need in term.values()) for term in allowed):
                    yield f"{pod.key}: {name} cannot be reached from {place.name}"
                    break
    for place in world.places:
        limits = storage.limits.get(place.name, {})
        held = {
            (_driver(volume, storage_class), name)
            for pod in place.pods
            for name, volume, storage_class in _disks(pod, storage)
        }
        counts = Counter(driver for driver, _name in held)
        coming = {_driver(volume, c) for pod in place.newcomers for _name, volume, c in _disks(pod, storage)}
        for driver in sorted(coming & set(limits)):
            if counts[driver] > limits[driver]:
                yield f"{place.name} holds {counts[driver]} disks of {driver}, and {limits[driver]} are the most"


def _out_of_order(pod: Pod, storage: Storage) -> Iterator[str]:
    """Claims that are not there, are going, have lost their disk, or wait for somebody else to make it."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None and volume.ephemeral is None:
            continue
        key = f"{pod.metadata.namespace}/{_claim_name(pod, volume)}"
        claim = storage.claims.get(key)
        if claim is None:
            if volume.ephemeral is None:
                yield key
            continue
        found = storage.volumes.get(claim.spec.volume_name)
        storage_class = storage.classes.get(claim.spec.storage_class_name or "")
        if claim.metadata.is_deleting or claim.status.phase == "Lost":
            yield key
        elif claim.spec.volume_name:
            if found is None or found.metadata.is_deleting or not claim.is_bind_completed:
                yield key
        elif storage_class is None or storage_class.volume_binding_mode == "Immediate":
            yield key


def _disks(pod: Pod, storage: Storage) -> Iterator[tuple[str, PersistentVolume | None, StorageClass | None]]:
    for volume in pod.spec.volumes:
        key = f"{pod.metadata.namespace}/{_claim_name(pod, volume)}"
        claim = storage.claims.get(key)
        if claim is not None:
            found = storage.volumes.get(claim.spec.volume_name)
            yield key, found, storage.classes.get(claim.spec.storage_class_name or "")
        elif volume.ephemeral is not None:
            asked = volume.ephemeral.storage_class_name
            yield key, None, storage.classes.get(asked) if asked else storage.default_class


def _claim_name(pod: Pod, volume: Volume) -> str:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else ""


def _driver(volume: PersistentVolume | None, storage_class: StorageClass | None) -> str:
    if volume is not None:
        if volume.spec.csi is not None:
            return volume.spec.csi.driver
        if volume.spec.aws_elastic_block_store is not None:
            return "ebs.csi.aws.com"
        if volume.spec.azure_disk is not None:
            return "disk.csi.azure.com"
        return "pd.csi.storage.gke.io" if volume.spec.gce_persistent_disk is not None else ""
    provisioner = storage_class.provisioner if storage_class is not None else ""
    return IN_TREE.get(provisioner, provisioner)


def _reachable(volume: PersistentVolume | None, storage_class: StorageClass | None) -> list[Requirements]:
    if volume is not None:
        affinity = volume.spec.node_affinity
        terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()
        local = volume.spec.local is not None or volume.spec.host_path is not None
        return [
            Requirements(
                Requirement.parse(e.key, e.operator, e.values)
                for e in term.match_expressions
                if not (local and e.key == labels.HOSTNAME)
            )
            for term in terms
        ]
    topologies = storage_class.allowed_topologies if storage_class is not None else ()
    return [Requirements(Requirement.in_(e.key, *e.values) for e in t.match_label_expressions) for t in topologies]

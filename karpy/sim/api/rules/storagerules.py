"""Rules of volumes, claims and storage classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karpy.sim.api.rules.checks import Object, check_choice, nanos, spec_of
from karpy.sim.api.rules.validation import quoted, validate_name
from karpy.sim.api.status import Cause

__all__ = ["check_claim", "check_storage_class", "check_volume"]


_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


_NO_SOURCES = frozenset(
    {
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
        *("storageClassName", "volumeAttributesClassName", "volumeMode"),
    }
)


def check_claim(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    modes = spec.get("accessModes") or ()
    if not modes:
        yield Cause.required("spec.accessModes", "at least 1 access mode is required")
    yield from _modes(modes)
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        yield Cause.required("spec.resources[storage]")
    yield from _positive(requests, "spec.resources[storage]")
    name = spec.get("storageClassName")
    if name and (wrong := validate_name(name, "subdomain")):
        yield Cause.bad("spec.storageClassName", quoted(name), wrong)


def _modes(modes: Sequence[str]) -> Iterator[Cause]:
    for mode in modes:
        if mode not in _MODES:
            yield Cause.unsupported("spec.accessModes", quoted(mode), _MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield Cause.forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")


def _positive(amounts: Object, path: str) -> Iterator[Cause]:
    amount = amounts.get("storage")
    if amount is None:
        return
    if str(amount)[:1] == "-":
        yield Cause.bad(path, quoted(amount), "must be greater than or equal to 0")
    if nanos(amount) <= 0:
        yield Cause.bad(path, quoted(amount), "must be greater than zero")


def check_volume(obj: Object) -> Iterator[Cause]:
    spec = spec_of(obj)
    modes, capacity = spec.get("accessModes") or (), spec.get("capacity") or {}
    if not modes:
        yield Cause.required("spec.accessModes")
    yield from _modes(modes)
    if not capacity:
        yield Cause.required("spec.capacity")
    if set(capacity) - {"storage"} or (spec.get("capacity") is not None and not capacity):
        shown = quoted(next(iter(capacity), ""))
        yield Cause.unsupported("spec.capacity", shown, ("storage",))
    yield from _positive(capacity, "spec.capacity[storage]")
    policies = ("Delete", "Recycle", "Retain")
    yield from check_choice(
        spec.get("persistentVolumeReclaimPolicy"), "spec.persistentVolumeReclaimPolicy", policies, needed=False
    )
    sources = [key for key, value in spec.items() if key not in _NO_SOURCES and value is not None]
    for each in sources[1:]:
        yield Cause.forbidden(f"spec.{each}", "may not specify more than 1 volume type")
    if not sources:
        yield Cause.required("spec", "must specify a volume type")


def check_storage_class(obj: Object) -> Iterator[Cause]:
    if not obj.get("provisioner"):
        yield Cause.required("provisioner")
    yield from check_choice(obj.get("reclaimPolicy"), "reclaimPolicy", ("Delete", "Retain"), needed=False)
    modes = ("Immediate", "WaitForFirstConsumer")
    yield from check_choice(obj.get("volumeBindingMode", "Immediate"), "volumeBindingMode", modes)

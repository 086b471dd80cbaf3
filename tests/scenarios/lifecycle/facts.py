"""The facts of a run: one line of text each, without what is another in every run or the cloud's own affair.

A fact says that something was so at some time: that claims of a pool had a label, that a condition had a reason, that an event or a
log line was written. How often, and in how many writes, does not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.scenarios.lifecycle.naming import Names
from tests.scenarios.lifecycle.tape import Change, Tape, condition_of

__all__ = ["facts_of"]

Json = Mapping[str, Any]

_CLOUDS_OWN = ("eks-node-viewer/", "kwok", "beta.kubernetes.io/", "kubernetes.io/hostname", "volumes.kubernetes.io/")
_CLOUDS_OWN_STATUS = ("allocatable", "capacity", "imageID")
_KUBELETS_OWN = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_COUNTED = "karpenter_"
_CLOUDS_OWN_COUNTERS = ("karpenter_cloudprovider_", "karpenter_interruption_")
_COMPARED = ("NodeClaim", "Node", "NodePool", "NodeOverlay", "CapacityBuffer")
_EVICTED = "EvictionByEvictionAPI"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def facts_of(tape: Tape) -> frozenset[str]:
    """All facts of a run."""
    names = Names(tape)
    return frozenset(
        fact
        for part in (_about_objects, _about_pods, _about_events, _about_log, _about_counters, _about_end)
        for fact in part(tape, names)
    )


def _about_objects(tape: Tape, names: Names) -> Iterator[str]:
    for (kind, key, _uid), changes in tape.histories(*_COMPARED).items():
        subject = f"{kind} {names.plain(key)}"
        for fact in dict.fromkeys(_about_object(kind, changes)):
            yield f"{subject}: {names.plain(fact)}"


def _about_pods(tape: Tape, names: Names) -> Iterator[str]:
    """Of pods only how they were driven out: the rest is their owners' affair."""
    for change in tape.of("Pod"):
        subject = f"Pod {names.plain(change.key)}"
        condition = condition_of(change.object, "DisruptionTarget")
        if condition is not None and condition["reason"] == _EVICTED:
            yield f"{subject}: DisruptionTarget is {condition['status']}: {condition['message']}"
        grace = change.object["metadata"].get("deletionGracePeriodSeconds")
        if grace and grace != change.object["spec"]["terminationGracePeriodSeconds"]:
            yield f"{subject}: has {grace} s to end"


def _about_object(kind: str, changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        if change.after is None:
            yield "is gone"
        else:
            yield from _about_metadata(change.after)
            yield from _PARTS[kind](change.after)
    if kind != "Node":
        yield from _courses(changes)


# Metadata


def _about_metadata(obj: Json) -> Iterator[str]:
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp"):
        yield "is being deleted"
    for word in ("labels", "annotations"):
        for key, value in (metadata.get(word) or {}).items():
            if not key.startswith(_CLOUDS_OWN):
                yield f"{word[:-1]} {key}={value}"
    yield from (f"finalizer {finalizer}" for finalizer in metadata.get("finalizers") or ())
    for owner in metadata.get("ownerReferences") or ():
        flags = sorted(flag for flag in ("blockOwnerDeletion", "controller") if owner.get(flag))
        yield f"is owned by {owner['kind']} {owner['name']} {flags}"


# Conditions


_AWAITED = "AwaitingReconciliation"
"""All conditions begin so; whether that was ever written depends on what else was written with it."""
_DEPENDENTS = re.compile(r"(\w+=\w+)(, \w+=\w+)*")


def _conditions(obj: Json) -> Iterator[str]:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        status, reason, message = condition["status"], condition.get("reason", ""), condition.get("message", "")
        if reason != _AWAITED:
            yield f"{condition['type']} is {status}, {reason}: {_sorted_dependents(message)}".rstrip(": ")


def _sorted_dependents(message: str) -> str:
    """What a condition that sums up others says of them; which of them are unknown yet is a matter of timing."""
    if not _DEPENDENTS.fullmatch(message):
        return message
    return ", ".join(sorted(part for part in message.split(", ") if part.endswith("=False")))


def _courses(changes: Sequence[Change]) -> Iterator[str]:
    """For each condition the statuses that it went through. All begin unknown, whether anyone wrote that or not."""
    courses: dict[str, list[str]] = {}
    for change in changes:
        if change.after is None:
            continue
        found = {each["type"]: each["status"] for each in (change.after.get("status") or {}).get("conditions") or ()}
        for type_ in courses.keys() | found.keys():
            course = courses.setdefault(type_, ["Unknown"])
            now = found.get(type_, "removed")
            if course[-1] != now:
                course.append(now)
    for type_, course in courses.items():
        yield f"{type_} went {' > '.join(course)}"


# What each kind has beside that


def _of_claim(claim: Json) -> Iterator[str]:
    spec, status = claim["spec"], claim.get("status") or {}
    for key, value in spec.items():
        if key not in ("requirements", "resources"):
            yield f"spec.{key} = {_text(value)}"
    for requirement in spec.get("requirements") or ():
        is_type = requirement["key"] == _INSTANCE_TYPE
        values = "<types>" if is_type else " ".join(sorted(requirement.get("values") or ()))
        least = f" at least {requirement['minValues']}" if "minValues" in requirement else ""
        yield f"spec.requirements {requirement['key']} {requirement['operator']} {values}{least}"
    for resource, amount in ((spec.get("resources") or {}).get("requests") or {}).items():
        yield f"requests {resource}={amount}"
    yield from _conditions(claim)
    for key, value in status.items():
        if key not in ("conditions", *_CLOUDS_OWN_STATUS):
            yield f"status.{key} = {_text(value)}"


def _of_node(node: Json) -> Iterator[str]:
    for taint in node["spec"].get("taints") or ():
        if not taint["key"].startswith(_KUBELETS_OWN):
            yield f"taint {taint['key']}={taint.get('value', '')}:{taint['effect']}"
    if node["spec"].get("unschedulable"):
        yield "is unschedulable"


def _of_pool(pool: Json) -> Iterator[str]:
    yield from _conditions(pool)


def _with_status(obj: Json) -> Iterator[str]:
    yield from _conditions(obj)
    for key, value in (obj.get("status") or {}).items():
        if key != "conditions":
            yield f"status.{key} = {_text(value)}"


_PARTS = {
    "NodeClaim": _of_claim,
    "Node": _of_node,
    "NodePool": _of_pool,
    "NodeOverlay": _with_status,
    "CapacityBuffer": _with_status,
}


# Events, log, the end


def _about_events(tape: Tape, names: Names) -> Iterator[str]:
    for change in tape.of("Event"):
        event = change.object
        if (event.get("source") or {}).get("component") != "karpenter":
            continue
        about = event["involvedObject"]
        place = f"{about['namespace']}/" if about.get("namespace") else ""
        name = f" {place}{names.of(about['name'])}" if about.get("name") else ""
        said = f"Event {about['kind']}{name}: {event['type']} {event['reason']}"
        yield said
        yield f"{said}: {names.plain(event['message'])}"


_TOLD = frozenset({"decision", "error", "reason", "taint.Effect", "taint.Key", "taint.Value", "timeout"})
"""Of other keys of the log only the presence is compared."""


_BY_CHANCE = {"initialized nodeclaim": {"Node"}}
"""Keys that stand beside a message when the claim says already on which node it is."""


def _about_log(tape: Tape, names: Names) -> Iterator[str]:
    """Every kind of line once, with all keys that ever stood beside it."""
    keys: dict[str, set[str]] = {}
    for line in tape.log:
        said = f"Log {line.level} {line.controller}: {names.plain(line.message)}"
        keys.setdefault(said, set()).update(line.fields.keys() - _BY_CHANCE.get(line.message, set()))
        for key in _TOLD & line.fields.keys():
            yield f"{said} | {key}={names.plain(str(line.fields[key]))}"
    yield from (f"{said} [{', '.join(sorted(found))}]" for said, found in keys.items())


def _about_counters(tape: Tape, names: Names) -> Iterator[str]:
    for counted in tape.counted or ():
        if not counted.counter.startswith(_COUNTED) or counted.counter.startswith(_CLOUDS_OWN_COUNTERS):
            continue
        labels = ", ".join(f"{key}={value}" for key, value in sorted(counted.labels.items()))
        yield f"Counter {counted.counter} [{names.plain(labels)}]"


def _about_end(tape: Tape, names: Names) -> Iterator[str]:
    for kind in ("NodePool", "NodeClaim", "Node"):
        there = [names.plain(obj["metadata"]["name"]) for obj in tape.remain(kind)]
        yield from (f"End: {there.count(name)} {kind} {name}" for name in sorted(set(there)))
    for pool in tape.remain("NodePool"):
        for key, value in (pool.get("status") or {}).items():
            if key != "conditions":
                yield f"End: NodePool {pool['metadata']['name']}: status.{key} = {_text(value)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)

"""What users said must not be disturbed is not disturbed."""

from __future__ import annotations

import math
from collections.abc import Iterable

from karpy.clock import parse_time
from karpy.errors import InvalidObject
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.meta import decode
from karpy.objects.nodeclaim import DISRUPTION_REASON, INITIALIZED, INSTANCE_TERMINATING
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.objects.workloads import PodDisruptionBudget
from karpy.resources import NODES, Resources, total
from karpy.sim.invariants.facts import Facts, Findings, condition, pool_of, provider_id_of
from karpy.sim.podfacts import is_active
from karpy.sim.processes.trace import Call

__all__ = ["budgets_hold", "limits_hold", "pods_are_not_disturbed"]


def pods_are_not_disturbed(facts: Facts, call: Call) -> Findings:
    """No pod is evicted or deleted, and no machine ended under one, against do-not-disrupt or a budget."""
    if call.kind == kinds.POD and call.verb in ("evict", "delete"):
        pods = [pod for pod in facts.objects(kinds.POD) if _key(pod) == (call.namespace, call.name)]
        for pod, why in _protected(facts, pods, refused=call.verb == "evict"):
            if not _may_be_forced(facts, pod["spec"].get("nodeName", "")):
                yield call.object, f"{call.verb} by {call.who}: {why}"
    elif call.is_of_cloud and call.verb == "delete":
        node = facts.node_of(call.name)
        if node is None or not condition(node, "Ready") or _may_be_forced(facts, node["metadata"]["name"]):
            return
        name = node["metadata"]["name"]
        pods = [pod for pod in facts.objects(kinds.POD) if pod["spec"].get("nodeName") == name]
        for pod, why in _protected(facts, pods, refused=False):
            yield f"pods/{pod['metadata']['name']}", f"its machine is ended by {call.who}: {why}"


def _protected(facts: Facts, pods: Iterable[RawObject], *, refused: bool) -> Iterable[tuple[RawObject, str]]:
    """The pods that may not be disturbed now. ``refused``: the API server refuses itself what a budget forbids."""
    for raw in pods:
        if not is_active(raw):
            continue
        pod = decode(raw, Pod)
        if pod.is_static or pod.is_owned_by_daemon_set or pod.tolerates_disruption:
            continue
        if pod.is_protected(facts.now):
            yield raw, "it has the do-not-disrupt annotation"
        if not refused:
            budgets = (decode(each, PodDisruptionBudget) for each in facts.objects(kinds.POD_DISRUPTION_BUDGET))
            held = next((each for each in budgets if each.selects(pod) and each.forbids_now(pod)), None)
            if held is not None:
                yield raw, f"PodDisruptionBudget {held.metadata.name} forbids it"


def _may_be_forced(facts: Facts, node_name: str) -> bool:
    """Whether the node's claim has a terminationGracePeriod, which in the end overrides everything."""
    node = facts.named(kinds.NODE).get(node_name)
    claim = facts.claim_of(node["spec"].get("providerID", "")) if node is not None else None
    return claim is None or bool(claim["spec"].get("terminationGracePeriod"))


def limits_hold(facts: Facts, call: Call) -> Findings:
    """The machines of a pool never have more than its limits; those that are on their way out do not count any more, and of those
    that were launched twice for a claim one does: that is `instances_have_claims`'s to tell."""
    if not (call.is_of_cloud and call.verb == "create"):
        return
    name = facts.pool_of_claim.get(call.name, "")
    limits = _limits(facts, name)
    if not limits:
        return
    leaving = {claim["metadata"]["name"] for claim in facts.objects(kinds.NODE_CLAIM) if _is_leaving(claim)}
    staying = {
        machine.claim: machine.instance_type.capacity + Resources({NODES: 1})
        for machine in facts.site.machines
        if facts.pool_of_claim.get(machine.claim) == name
        and machine.terminating_since is None
        and machine.claim not in leaving
    }
    held = total(staying.values())
    for resource in held.exceeds(limits):
        found, limit = (each.to_dict()[resource] for each in (held, limits))
        yield f"nodepools/{name}", f"has {found} of {resource}, its limit is {limit}"


def _limits(facts: Facts, pool: str) -> Resources:
    """Of a pool of any generation."""
    raw = facts.named(kinds.NODE_POOL).get(pool)
    if raw is not None:
        return Resources.parse(raw["spec"].get("limits") or {})
    old = facts.named(kinds.PROVISIONER).get(pool)
    return Resources.parse((old["spec"].get("limits") or {}).get("resources") or {}) if old is not None else Resources()


def _is_leaving(claim: RawObject) -> bool:
    return "deletionTimestamp" in claim["metadata"] or condition(claim, DISRUPTION_REASON) is not None


def budgets_hold(facts: Facts, call: Call) -> Findings:
    """No more nodes of a pool are taken away at once for one reason than its budgets allowed when that was decided: by the clock of
    whoever decided it, which is what stands on the claim."""
    if call.kind != kinds.NODE_CLAIM or call.verb != "delete":
        return
    claim = facts.named(kinds.NODE_CLAIM).get(call.name)
    why = condition(claim, DISRUPTION_REASON) if claim is not None else None
    if claim is None or why is None:
        return
    name = pool_of(claim)
    raw = facts.named(kinds.NODE_POOL).get(name)
    if raw is None:
        return
    members = [each for each in facts.objects(kinds.NODE_CLAIM) if pool_of(each) == name and _counts(each)]
    going = [each for each in members if _is_going(facts, each)]
    decided = parse_time(why["lastTransitionTime"]) if why.get("lastTransitionTime") else facts.now
    allowed = _allowed(NodePool.from_dict(raw), str(why.get("reason", "")), len(members), decided)
    if len(going) > allowed:
        yield f"nodepools/{name}", f"{len(going)} of {len(members)} nodes go at once, allowed are {allowed:.0f}"


def _counts(claim: RawObject) -> bool:
    """Whether budgets speak of it: a machine that is being terminated runs nothing any more."""
    return condition(claim, INITIALIZED) is not None and condition(claim, INSTANCE_TERMINATING) is None


def _is_going(facts: Facts, claim: RawObject) -> bool:
    """Whether it is being taken away. A claim that is left when its node and machine are gone keeps nobody from anything."""
    if "deletionTimestamp" not in claim["metadata"] or not condition(claim, DISRUPTION_REASON):
        return False
    provider_id = provider_id_of(claim)
    return facts.site.machine(provider_id) is not None or facts.node_of(provider_id) is not None


def _allowed(pool: NodePool, reason: str, nodes: int, now: float) -> float:
    """By the budgets that hold now."""
    try:
        held = [(budget, budget.count(nodes)) for budget in pool.budgets if budget.window(now).contains(now)]
    except InvalidObject:
        return 0
    return min((count for budget, count in held if budget.concerns(reason)), default=math.inf)


def _key(obj: RawObject) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

"""Machines, claims and nodes belong together, one of each."""

from __future__ import annotations

from collections import Counter

from karpy.clock import parse_time
from karpy.objects import kinds
from karpy.objects.nodeclaim import REGISTERED
from karpy.sim.invariants.facts import Facts, Findings, condition, pool_of, provider_id_of

__all__ = ["claims_have_instances", "instances_have_claims", "nodes_have_claims"]

ORPHAN_GRACE_S = 420.0
"""Garbage is collected every two minutes, a machine takes a while to go, and clocks may be off by two minutes."""
LAUNCH_GRACE_S = 300.0 + 60.0
"""A claim that cannot be launched is given up after five minutes."""
REGISTRATION_GRACE_S = 900.0 + 120.0


def instances_have_claims(facts: Facts) -> Findings:
    """No machine runs for a claim that is gone, and no claim has two; not for long, where the cloud does not prevent it."""
    claims, running = facts.named(kinds.NODE_CLAIM), Counter[str]()
    for machine in facts.site.machines:
        if not machine.claim or machine.terminating_since is not None:
            continue
        running[machine.claim] += 1
        if machine.claim not in claims:
            alone_s = facts.lasting_s("instances_have_claims", machine.provider_id)
            if alone_s > ORPHAN_GRACE_S:
                yield f"cloud/{machine.provider_id}", f"runs for nodeclaim {machine.claim}, gone for {alone_s:.0f} s"
    grace_s = 0.0 if facts.site.launches_once else ORPHAN_GRACE_S
    for claim, count in running.items():
        if count > 1 and facts.lasting_s("has machines", claim) >= grace_s:
            yield f"nodeclaims/{claim}", f"has {count} machines"


def claims_have_instances(facts: Facts) -> Findings:
    """No claim stays whose machine is gone, or that never got one."""
    now = facts.now
    for claim in facts.objects(kinds.NODE_CLAIM):
        name, provider_id = claim["metadata"]["name"], provider_id_of(claim)
        if not provider_id:
            age_s = now - parse_time(claim["metadata"]["creationTimestamp"])
            if age_s > LAUNCH_GRACE_S and facts.lasting_s("claims_have_instances", name) > 60:
                yield f"nodeclaims/{name}", f"was not launched for {age_s:.0f} s"
        elif facts.site.machine(provider_id) is None:
            grace_s = ORPHAN_GRACE_S if condition(claim, REGISTERED) else REGISTRATION_GRACE_S
            alone_s = facts.lasting_s("claims_have_instances", name)
            if alone_s > grace_s:
                yield f"nodeclaims/{name}", f"stands for {provider_id}, gone for {alone_s:.0f} s"


def nodes_have_claims(facts: Facts) -> Findings:
    """No node of a pool stays whose claim is gone."""
    claimed = {provider_id_of(claim) for claim in facts.objects(kinds.NODE_CLAIM)}
    for node in facts.objects(kinds.NODE):
        if pool_of(node) and node.get("spec", {}).get("providerID") not in claimed:
            name = node["metadata"]["name"]
            alone_s = facts.lasting_s("nodes_have_claims", name)
            if alone_s > ORPHAN_GRACE_S:
                yield f"nodes/{name}", f"has had no nodeclaim for {alone_s:.0f} s"

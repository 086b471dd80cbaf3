"""Nobody is flooded: neither the API server with calls, nor people with events and log lines."""

from __future__ import annotations

from karpy.objects import kinds
from karpy.objects.kinds import LEASE
from karpy.sim.invariants.facts import Facts, Findings
from karpy.sim.processes.trace import Call

__all__ = ["events_are_bounded", "log_is_bounded", "one_leader_acts", "writes_are_bounded"]

WRITES_A_MINUTE = 40
"""Of one object. A pod that may not be evicted yet is asked for every two seconds."""
EVENTS_IN_TEN_MINUTES = 30
"""In one life of a process: what was told already is not known to the next."""
LINES_A_MINUTE = 300


def writes_are_bounded(facts: Facts, call: Call) -> Findings:
    """No object is written to, or tried to, more often in a minute than waiting with back-off would take."""
    if not call.is_write or call.kind == kinds.EVENT:
        return
    count = facts.count_by_minute("write", call.who, call.verb, call.object)
    if count > WRITES_A_MINUTE and not (call.verb == "create" and call.name.endswith("-")):
        yield call.object, f"was to be written {count} times within a minute by {call.who} ({call.verb})"


def events_are_bounded(facts: Facts, call: Call) -> Findings:
    """No object gets more than a few events in ten minutes."""
    if call.kind != kinds.EVENT or call.verb != "create":
        return
    about = call.body["involvedObject"]
    name = f"{about['kind'].lower()}/{about['name']}"
    process = facts.process(call.who)
    count = facts.count_by_span("event", name, call.who, process.lives if process is not None else 0)
    if count > EVENTS_IN_TEN_MINUTES:
        yield name, f"got {count} events within ten minutes, the last: {call.body.get('message', '')}"


def log_is_bounded(facts: Facts, who: str, event: str) -> Findings:
    """A process writes only so many lines a minute."""
    count = facts.count_by_minute("log", who)
    if count > LINES_A_MINUTE:
        yield who, f"logged {count} lines within a minute, the last: {event}"


def one_leader_acts(facts: Facts, call: Call) -> Findings:
    """Of several processes only the one writes that holds the lease."""
    process = facts.process(call.who)
    if process is None or not process.elects or not call.is_write or call.kind == LEASE:
        return
    leases = facts.api.list(LEASE, process.lease[0], field_selector=f"metadata.name={process.lease[1]}").items
    holder = leases[0]["spec"].get("holderIdentity", "") if leases else ""
    if not process.is_named(holder):
        yield call.object, f"is written by {call.who} ({call.verb}), while {holder or 'nobody'} holds the lease"

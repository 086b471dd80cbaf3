"""Answers to "why?" for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from karpy import labels
from karpy.clock import format_time
from karpy.disruption.command import Command, Method
from karpy.disruption.verdicts import Chosen, Verdict
from karpy.objects.nodeclaim import DISRUPTION_REASON, DRIFTED, INITIALIZED, LAUNCHED, REGISTERED
from karpy.report.advice import advice
from karpy.report.disruption_words import allowance_words, worth_words
from karpy.report.plan_words import count, dollars, named
from karpy.report.whys import Answer, NodeAnswer, PodAnswer, PoolAnswer
from karpy.state.snapshot import NodeView

__all__ = ["answer_text", "noteworthy"]

_WAYS = {
    Method.EMPTINESS: "as an empty node",
    Method.STATIC_DRIFT: "drift of pools with replicas",
    Method.DRIFT: "drift",
    Method.MULTI_NODE: "consolidation, with others",
    Method.SINGLE_NODE: "consolidation, alone",
}
_MILESTONES = (LAUNCHED, REGISTERED, INITIALIZED)
_ALARMING = (DRIFTED, DISRUPTION_REASON)


def answer_text(answer: Answer, width: int) -> str:
    """All of it, with a newline at the end; prose is wrapped to ``width`` columns."""
    wide = max(width, 40)
    if isinstance(answer, NodeAnswer):
        lines = _node(answer, wide)
    elif isinstance(answer, PodAnswer):
        lines = _pod(answer, wide)
    else:
        lines = _pool(answer, wide)
    return "\n".join(lines) + "\n"


def _node(answer: NodeAnswer, width: int) -> Iterator[str]:
    yield from _wrapped(
        f"{answer.asked} {'goes' if answer.goes else 'stays'}: {answer.verdict.explain()}", width, "", "  "
    )
    yield from ("", *_facts(answer, width))
    alone = answer.judged.alone
    if isinstance(alone, Command):
        yield from _wrapped(f"alone it {worth_words(alone)}", width, "  ", "     ")
    found = [(method, text) for method, text in answer.judged.found.items() if _is_news(method, text, answer)]
    if found:
        yield from ("", "What each way to go comes to, by itself", "")
    for method, verdict in found:
        yield from _wrapped(f"{_WAYS[method]}: {verdict.explain()}", width, "  ", "     ")
    if answer.places:
        yield from ("", "Where its pods go" if answer.goes else "Where its pods would go", "")
        for place, pods in _by_place(answer):
            yield from _wrapped(f"{named(pods)}: {place}", width, "  ", "     ")
    for explanation in answer.homeless:
        yield ""
        yield from (f"  {line}" for line in str(explanation).splitlines())
    if answer.allowances:
        yield from ("", "What budgets allow now", "")
        for line in allowance_words(answer.allowances):
            yield from _wrapped(line, width, "  ", "     ")
    yield from ("", "What to do", "")
    yield from _wrapped(advice(answer), width, "  ", "  ")


def _is_news(method: Method, verdict: Verdict, answer: NodeAnswer) -> bool:
    """Whether it was not said above."""
    is_alone = method is Method.SINGLE_NODE and isinstance(verdict, Chosen)
    return not is_alone and str(verdict) != str(answer.verdict)


def _facts(answer: NodeAnswer, width: int) -> Iterator[str]:
    judged, view = answer.judged, answer.judged.view
    what = [
        view.labels.get(labels.INSTANCE_TYPE, ""),
        view.labels.get(labels.ZONE, ""),
        view.labels.get(labels.CAPACITY_TYPE, ""),
    ]
    machine = ", ".join(part for part in what if part)
    claim = f"nodeclaim {view.claim.name}" if view.claim is not None else "no nodeclaim"
    pool = f" of nodepool {view.pool}" if view.pool else ""
    yield from _wrapped(f"{claim}{pool}{f': {machine}' if machine else ''}", width, "  ", "     ")
    if judged.is_candidate:
        pods = count(len(view.reschedulable_pods), "pod")
        costs = f"{dollars(judged.price)}, {pods} to move, disruption cost {judged.reschedule_cost:.2f}"
        yield from _wrapped(costs, width, "  ", "     ")
    for line in noteworthy(view):
        yield from _wrapped(line, width, "  ", "     ")


def noteworthy(view: NodeView) -> Iterator[str]:
    """The conditions of the claim that say why it is not as it should be."""
    conditions = view.claim.conditions if view.claim is not None else ()
    for each in conditions:
        if (each.type in _MILESTONES and not each.is_true) or (each.type in _ALARMING and each.is_true):
            why = ": ".join(part for part in (each.reason, each.message) if part and part != each.type)
            yield f"{each.type} is {each.status}{f' ({why})' if why else ''}"


def _by_place(answer: NodeAnswer) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for pod, place in sorted(answer.places.items()):
        found.setdefault(place, []).append(pod)
    return sorted(found.items())


def _pod(answer: PodAnswer, width: int) -> Iterator[str]:
    yield from _wrapped(f"{answer.asked}: {answer.state}", width, "", "  ")
    if answer.explanation is not None:
        yield from ("", *str(answer.explanation).splitlines())
    machine = answer.machine
    if machine is None:
        return
    place = machine.places.get(answer.pod.key)
    if place is not None:
        yield from _wrapped(
            f"{'it goes' if machine.goes else 'were its node gone, it would go'} to: {place}", width, "  ", "     "
        )
    yield from _wrapped(
        f"{machine.asked} {'goes' if machine.goes else 'stays'}: {machine.verdict.explain()}", width, "  ", "     "
    )


def _pool(answer: PoolAnswer, width: int) -> Iterator[str]:
    yield from _wrapped(f"{answer.asked} at {format_time(answer.at)}", width, "", "  ")
    yield ""
    for line in allowance_words(answer.allowances):
        yield from _wrapped(line, width, "  ", "     ")
    if answer.nodes:
        yield from ("", f"Its {count(len(answer.nodes), 'node')}", "")
    alike: dict[str, list[str]] = {}
    for name, verdict in answer.nodes.items():
        alike.setdefault(str(verdict), []).append(name)
    for why, names in sorted(alike.items(), key=lambda item: item[1]):
        yield from _wrapped(f"{named(names)}: {why}", width, "  ", "     ")


def _wrapped(text: str, width: int, indent: str = "", then: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )

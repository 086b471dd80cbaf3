"""An outlook for a terminal: what to launch, who goes where, who waits and why, and what may go."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from karpy.disruption.command import Command
from karpy.disruption.survey import Survey
from karpy.report.disruption_words import (
    allowance_words,
    command_words,
    destinations,
    headline,
    staying,
    worth_words,
)
from karpy.report.outlook import Outlook
from karpy.report.plan_words import (
    asked,
    buffer_words,
    count,
    launch_words,
    named,
    nomination_words,
    reasons,
    rows,
    total_words,
    waiting_words,
    whom,
)
from karpy.report.table import table
from karpy.scheduling.plan import Launch, Plan

__all__ = ["outlook_text"]

_SHOWN_MACHINES = 4
_SHOWN_REASONS = 30
_SHOWN_PLACES = 12
_HEAD = ("N", "POOL", "TYPE", "ZONE", "CAPACITY", "$/H", "PODS")


def outlook_text(outlook: Outlook, width: int) -> str:
    """All of it, with a newline at the end; prose is wrapped to ``width`` columns."""
    return "\n".join(_lines(outlook, max(width, 40))) + "\n"


def _lines(outlook: Outlook, width: int) -> Iterator[str]:
    if outlook.name:
        yield from (outlook.name, "")
    for note in outlook.notes:
        yield from _wrapped(f"note: {note}", width, "", "      ")
    if outlook.notes:
        yield ""
    if outlook.plan is not None:
        yield from _plan(outlook, outlook.plan, width)
    if outlook.disruption is not None:
        if outlook.plan is not None:
            yield ""
        yield from _disruption(outlook.disruption, width)


def _plan(outlook: Outlook, plan: Plan, width: int) -> Iterator[str]:
    if plan.launches:
        yield from _wrapped(launch_words(plan), width)
        yield ""
        yield from _launches(outlook, plan, width)
        yield ""
    if plan.nominations:
        yield from _wrapped(nomination_words(plan), width)
        yield ""
        for nomination in sorted(plan.nominations, key=lambda nomination: nomination.node):
            yield from _wrapped(f"{nomination.node}: {named(nomination.pods)}", width, "  ", "     ")
        yield ""
    for buffer in plan.buffers:
        yield from _wrapped(buffer_words(buffer), width, "", "  ")
    if plan.buffers:
        yield ""
    if plan.unschedulable:
        yield waiting_words(plan)
        yield ""
        for pods, why in reasons(plan):
            yield from _wrapped(named(pods), width, "  ", "  ")
            for reason in why:
                yield from _wrapped(reason, width, "     ", "       ")
        yield ""
    yield from _wrapped(total_words(outlook, plan), width)


def _launches(outlook: Outlook, plan: Plan, width: int) -> Iterator[str]:
    """A table of machines; below each row what is asked of each machine, and by which pods."""
    found = rows(outlook, plan)
    head, *lines = table(_HEAD, [row.cells(launches) for row, launches in found], gap=2).splitlines()
    yield f"  {head}"
    for line, (_, launches) in zip(lines, found, strict=True):
        yield f"  {line}"
        for launch in launches[:_SHOWN_MACHINES]:
            yield from _wrapped(_purpose(launch), width, "     ", "       ")
        rest = launches[_SHOWN_MACHINES:]
        if rest:
            pods = sum(len(launch.pods) for launch in rest)
            yield f"     and {count(len(rest), 'more machine')} for {count(pods, 'pod')}"


def _purpose(launch: Launch) -> str:
    amounts = asked(launch.requests)
    return f"{amounts} for {whom(launch)}" if amounts else f"for {whom(launch)}"


def _disruption(survey: Survey, width: int) -> Iterator[str]:
    yield from _wrapped(headline(survey), width)
    for command in survey.next.commands:
        yield ""
        yield from _wrapped(command_words(command), width, "  ", "     ")
        yield from _wrapped(worth_words(command), width, "     ", "     ")
        yield from _moves(command, width)
    kept = staying(survey)
    if kept:
        yield from ("", "What stays, and why", "")
    for nodes, why in kept[:_SHOWN_REASONS]:
        yield from _wrapped(f"{named(nodes)}: {why}", width, "  ", "     ")
    if len(kept) > _SHOWN_REASONS:
        rest = sum(len(nodes) for nodes, _ in kept[_SHOWN_REASONS:])
        yield f"  and {count(rest, 'more node')}, each with a reason of its own (-o json has all)"
    if kept or survey.next.commands:
        yield from ("", "What budgets allow now", "")
        for line in allowance_words(survey.allowances):
            yield from _wrapped(line, width, "  ", "     ")


def _moves(command: Command, width: int) -> Iterator[str]:
    found = destinations(command)
    for place, pods in found[:_SHOWN_PLACES]:
        yield from _wrapped(f"to {place}: {named(pods)}", width, "     ", "       ")
    rest = found[_SHOWN_PLACES:]
    if rest:
        yield f"     to {count(len(rest), 'more place')}: {count(sum(len(pods) for _, pods in rest), 'more pod')}"


def _wrapped(text: str, width: int, indent: str = "", then: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )

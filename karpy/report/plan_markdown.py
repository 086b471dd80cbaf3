"""An outlook as Markdown, for a comment on a pull request or an issue."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

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
    launch_words,
    named,
    nomination_words,
    reasons,
    rows,
    total_words,
    waiting_words,
    whom,
)
from karpy.scheduling.plan import Plan

__all__ = ["outlook_markdown"]

_HEAD = ("machines", "pool", "type", "zone", "capacity", "$/h each", "pods")
_SHOWN_PODS = 12


def outlook_markdown(outlook: Outlook) -> str:
    """All of it, with a newline at the end. Long lists of pods are folded."""
    return "\n".join(_lines(outlook)) + "\n"


def _lines(outlook: Outlook) -> Iterator[str]:
    yield f"### karpy plan{f': {_text(outlook.name)}' if outlook.name else ''}"
    for note in outlook.notes:
        yield from ("", f"> {_text(note)}")
    if outlook.plan is not None:
        yield from _plan(outlook, outlook.plan)
    if outlook.disruption is not None:
        yield from _disruption(outlook.disruption)


def _plan(outlook: Outlook, plan: Plan) -> Iterator[str]:
    if plan.launches:
        yield from ("", f"**{_text(launch_words(plan))}**", "")
        found = rows(outlook, plan)
        yield from _table(_HEAD, [row.cells(launches) for row, launches in found])
        yield from _folded(
            "what each machine is for",
            (
                f"- {_text(row.type)} in {_text(row.zone)}: {_text(asked(launch.requests))} for "
                f"{_text(whom(launch, _SHOWN_PODS))}"
                for row, launches in found
                for launch in launches
            ),
        )
    if plan.nominations:
        yield from ("", f"**{nomination_words(plan)}**", "")
        nominations = sorted(plan.nominations, key=lambda nomination: nomination.node)
        yield from _table(("node", "pods"), [(each.node, named(each.pods, _SHOWN_PODS)) for each in nominations])
    if plan.buffers:
        yield from ("", *(f"- {_text(buffer_words(buffer))}" for buffer in plan.buffers))
    if plan.unschedulable:
        yield from ("", f"**{waiting_words(plan)}**", "")
        for pods, why in reasons(plan):
            yield f"- {_text(named(pods, _SHOWN_PODS))}"
            yield from (f"  - {_text(reason)}" for reason in why)
    yield from ("", _text(total_words(outlook, plan)))


def _disruption(survey: Survey) -> Iterator[str]:
    yield from ("", f"**{_text(headline(survey))}**")
    if survey.next.commands:
        yield ""
    for command in survey.next.commands:
        yield f"- {_text(command_words(command))}"
        yield f"  - {_text(worth_words(command))}"
    moves = [
        f"- {_text(named(pods, _SHOWN_PODS))} to {_text(place)}"
        for command in survey.next.commands
        for place, pods in destinations(command)
    ]
    if moves:
        yield from _folded("where pods go", moves)
    kept = staying(survey)
    if kept:
        yield ""
        yield from _table(("nodes that stay", "because"), [(named(nodes, _SHOWN_PODS), why) for nodes, why in kept])
    if kept or survey.next.commands:
        yield from _folded(
            "what budgets allow now", (f"- {_text(line)}" for line in allowance_words(survey.allowances))
        )


def _folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{summary}</summary>", "", *lines, "", "</details>")


def _table(head: Sequence[str], found: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield _line(["---"] * len(head))
    yield from (_line([_text(cell) for cell in row]) for row in found)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Text that is shown as it is: names and messages come from anywhere."""
    escaped = html.escape(text, quote=False)
    for special in "\\`*_|[]$":
        escaped = escaped.replace(special, f"\\{special}")
    return " ".join(escaped.split())

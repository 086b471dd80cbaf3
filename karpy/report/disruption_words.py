"""What reports say of disruption, in words: commands, where pods go, why nodes stay, what budgets allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from karpy.disruption.budgets import Allowance
from karpy.disruption.command import Command, Method, Move, Reason
from karpy.disruption.survey import Survey
from karpy.report.plan_words import count, dollars

__all__ = ["allowance_words", "command_words", "destination", "destinations", "headline", "staying", "worth_words"]

_HOURS_IN_A_MONTH = 730


def headline(survey: Survey) -> str:
    """What is disrupted next, in one line; what each command is comes after it."""
    commands, managed = survey.next.commands, [view for view in survey.snapshot.nodes if view.is_managed]
    if not managed:
        return "Disrupt nothing: there is no node that karpy launched."
    if not commands:
        return f"Disrupt nothing now: {_stay(len(managed))}."
    going = sum(len(command.nodes) for command in commands)
    return f"Disrupt {count(going, 'node')} of {len(managed)} next, by {commands[0].method.value}"


def _stay(nodes: int) -> str:
    return f"{count(nodes, 'node')} {'stays' if nodes == 1 else 'stay'}"


def command_words(command: Command) -> str:
    """What it does, and why."""
    return f"{command.decision.value.capitalize()} {command.whom}: {command.explain()}"


def worth_words(command: Command) -> str:
    """What it saves, and what that disturbs."""
    month = abs(command.savings) * _HOURS_IN_A_MONTH
    amount = f"{dollars(abs(command.savings))}, about ${month:.2f} a month"
    if command.method is Method.STATIC_DRIFT:
        worth = "each gets a new one of its pool in its place"
    elif not command.savings:
        worth = "saves nothing"
    else:
        worth = f"saves {amount}" if command.savings > 0 else f"costs {amount}, more than now"
    pods = f"{count(len(command.moves), 'pod')} {'moves' if len(command.moves) == 1 else 'move'}"
    return f"{worth}; {pods if command.moves else 'no pod moves'}"


def destinations(command: Command) -> list[tuple[str, list[str]]]:
    """Where the pods go: each destination, and its pods sorted."""
    found: dict[str, list[str]] = {}
    for move in sorted(command.moves, key=lambda move: move.pod):
        found.setdefault(destination(command, move), []).append(move.pod)
    return sorted(found.items())


def destination(command: Command, move: Move) -> str:
    """Where one pod goes."""
    if isinstance(move.to, str):
        return f"node {move.to}"
    launch = command.replacements[move.to]
    more = len(launch.instance_types) - 1
    best = launch.instance_types[0].name if launch.instance_types else "machine"
    number = f" (number {move.to + 1})" if len(command.replacements) > 1 else ""
    return f"a new {best}{f' or one of {more} more types' * bool(more)}{number}"


def staying(survey: Survey) -> list[tuple[list[str], str]]:
    """The nodes that karpy launched and that stay: those together that stay for the same reason, sorted."""
    going = {node for command in survey.next.commands for node in command.nodes}
    alike: dict[str, list[str]] = {}
    for name in sorted({view.name for view in survey.snapshot.nodes if view.is_managed} - going):
        alike.setdefault(str(survey.verdict(name)), []).append(name)
    return sorted((names, text) for text, names in alike.items())


def allowance_words(allowances: Iterable[Allowance]) -> Iterator[str]:
    """What the budgets of each pool allow; reasons for which they say the same share a line."""
    alike: dict[tuple[str, int, str], list[Allowance]] = {}
    for each in allowances:
        alike.setdefault((each.pool, each.allowed, each.why), []).append(each)
    for group in alike.values():
        yield str(group[0]) if len(group) == 1 else _together(group)


def _together(group: Sequence[Allowance]) -> str:
    first = group[0]
    own = "any reason" if first.reason is None else first.reason.value
    reasons = " or ".join(each.reason.value for each in group if each.reason is not None)
    return str(first).replace(f" for {own}:", ":" if len(group) >= len(Reason) else f" for {reasons}:", 1)

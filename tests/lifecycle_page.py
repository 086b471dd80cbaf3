"""The page on the life of a node, drawn from `karpy.lifecycle.states` and from the settings.

``python -m tests.lifecycle_page`` writes it; ``tests/test_lifecycle_page.py`` fails when it is stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from karpy.lifecycle.states import MEANINGS, TRANSITIONS, State, Transition
from karpy.objects.duration import format_duration
from karpy.objects.timelimits import LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT
from karpy.settings import Settings

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "lifecycle.md"
COMMAND = "python -m tests.lifecycle_page"

_REASONS = (
    ("`Launched`", "Unknown", "`LaunchFailed`, or the cloud's own", "the cloud refused; it is asked again"),
    ("`Registered`", "Unknown", "`NodeNotFound`", "no node carries the provider id"),
    ("`Registered`", "False", "`MultipleNodesFound`", "more than one node does"),
    (
        "`Registered`",
        "Unknown",
        "`RegistrationHookPending`",
        "these hooks of the cloud (`WithRegistrationHooks`) do not let the node pass yet",
    ),
    ("`Initialized`", "Unknown", "`NodeNotReady`", "the kubelet does not say that the node is ready"),
    ("`Initialized`", "Unknown", "`StartupTaintsExist`", "a start-up taint of the pool is still there"),
    ("`Initialized`", "Unknown", "`KnownEphemeralTaintsExist`", "a taint is there that Kubernetes will take off"),
    ("`Initialized`", "Unknown", "`ResourceNotRegistered`", "a resource that pods ask for is not reported yet"),
    (
        "`ConsistentStateFound`",
        "False",
        "`ConsistencyCheckFailed`",
        "the node has less than nine tenths of what was bought",
    ),
)


def page() -> str:
    """The whole page."""
    settings = Settings()
    limits = (
        ("the cloud gives a machine", settings.launch_timeout_s, "launch_timeout_s", LAUNCH_TIMEOUT),
        ("its node joins", settings.registration_timeout_s, "registration_timeout_s", REGISTRATION_TIMEOUT),
    )
    return "\n".join(
        [
            "# What happens to a node from launch to end?",
            "",
            "Every machine that karpy launches has a NodeClaim, and where it stands is written there: in its conditions and in its",
            "deletion time. After a restart, at whatever moment, karpy goes on from there. It forgets only plans and notes:",
            "a disruption that is under way (which is undone, and looked for anew), which pods were meant for which machine, and",
            "how many of a pool's last nodes joined.",
            "",
            f"`{COMMAND}` draws this page from `karpy/lifecycle/states.py`.",
            "",
            "```text",
            *drawing(TRANSITIONS),
            "```",
            "",
            "## What the states mean",
            "",
            *_table(("state", "meaning"), ((state.value, MEANINGS[state]) for state in State)),
            "",
            "## What leads from one to the next",
            "",
            "No state is without a way out. Where the last column names something, that way is taken even if nobody else does",
            "their part: because time passes, or because something was deleted (the claim, pods that hold a node, the machine).",
            "",
            *_table(
                ("from", "to", "when", "brought about by"),
                (
                    (way.source.value, way.target.value, way.when, "" if way.surely is None else way.surely.value)
                    for way in TRANSITIONS
                ),
            ),
            "",
            "## How long may it take?",
            "",
            "A claim that takes longer is deleted, and its pods are planned anew. Time runs from what the claim's conditions say:",
            "from the first launch that failed, and from the launch. A pool whose machines need longer says so by an annotation of",
            "the NodePool, with a duration such as `20m`; what cannot be read is named in its condition `ValidationSucceeded`.",
            "",
            *_table(
                ("until", "limit", "setting", "annotation of a NodePool"),
                ((what, format_duration(limit), f"`{name}`", f"`{key}`") for what, limit, name, key in limits),
            ),
            "",
            "There is no limit for becoming ready: a node that joined is taken away by disruption, repair or expiry, or by you.",
            "",
            "## What does it wait for?",
            "",
            "The conditions of the claim say it (`kubectl describe nodeclaim`):",
            "",
            *_table(("condition", "status", "reason", "meaning"), _REASONS),
            "",
        ]
    )


def drawing(transitions: Sequence[Transition]) -> list[str]:
    """Each state with the ways that lead on from it."""
    width = max(len(state.value) for state in State)
    lines: list[str] = []
    for state in State:
        ways = [way for way in transitions if way.source is state]
        lines.append(state.value)
        for way in ways:
            branch = "└─▶" if way is ways[-1] else "├─▶"
            lines.append(f"  {branch} {way.target.value:<{width}}  {way.when}")
    return lines


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(head), "|" + "---|" * len(head), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()

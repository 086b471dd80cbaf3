"""What ``karpy plan`` runs: situations in, reports out, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from karpy.cli.showing import complain, show, width
from karpy.errors import InvalidObject
from karpy.report.outlook import Outlook
from karpy.report.plan_json import outlook_json, to_line
from karpy.report.plan_markdown import outlook_markdown
from karpy.report.plan_text import outlook_text
from karpy.scenarios.situation import Situation

__all__ = ["Planning"]

DONE, BAD_INPUT, CONDITION_HOLDS = 0, 2, 3

_CONDITIONS: dict[str, Callable[[Outlook], bool]] = {
    "unschedulable": lambda outlook: outlook.leaves_pods_waiting,
    "changes": lambda outlook: outlook.changes_something,
}


@attrs.frozen(kw_only=True)
class Planning:
    """What is asked for. `show` writes reports to stdout and returns the exit status."""

    provisioning: bool
    disruption: bool
    output: str
    fail_on: frozenset[str]

    def show(self, situations: Iterable[Situation | InvalidObject]) -> int:
        """A report for each."""
        status = DONE
        gap = ""
        for situation in situations:
            if isinstance(situation, InvalidObject):
                text = self._refused(situation)
                status = BAD_INPUT
            else:
                outlook = situation.outlook(provisioning=self.provisioning, disruption=self.disruption)
                text = self._rendered(outlook)
                if status == DONE and any(_CONDITIONS[name](outlook) for name in self.fail_on):
                    status = CONDITION_HOLDS
            if text:
                show(gap + text)
                gap = "" if self.output == "json" else "\n"
        return status

    def _refused(self, error: InvalidObject) -> str:
        """Tell of a scenario that cannot be read; and what stands for it in the output, so that JSON's lines correspond."""
        complain(error)
        return to_line({"error": str(error)}) + "\n" if self.output == "json" else ""

    def _rendered(self, outlook: Outlook) -> str:
        if self.output == "json":
            return to_line(outlook_json(outlook)) + "\n"
        if self.output == "markdown":
            return outlook_markdown(outlook)
        return outlook_text(outlook, width())

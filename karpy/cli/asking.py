"""What ``karpy why`` runs: things in clusters, and an answer about each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import attrs

from karpy.cli.bad_input import BadInput
from karpy.cli.showing import complain, show, width
from karpy.cli.targets import Target
from karpy.clock import parse_time
from karpy.errors import InvalidObject
from karpy.report.plan_json import to_line
from karpy.report.why_json import answer_json
from karpy.report.why_text import answer_text
from karpy.report.whys import Answer
from karpy.scenarios.answers import Answers
from karpy.scenarios.situation import Situation

__all__ = ["Asking", "read_time"]

DONE, BAD_INPUT = 0, 2


@attrs.frozen(kw_only=True)
class Asking:
    """What is asked. `show` writes answers to stdout and returns the exit status."""

    targets: tuple[Target, ...]
    as_json: bool
    at: float | None

    def show(self, situations: Iterable[Situation | InvalidObject]) -> int:
        """An answer for each thing in each cluster; what cannot be answered does not stop the others."""
        status, gap = DONE, ""
        for answer in self._answers(situations):
            if isinstance(answer, InvalidObject):
                complain(answer)
                status = BAD_INPUT
                if self.as_json:
                    show(to_line({"error": str(answer)}) + "\n")
                continue
            show(to_line(answer_json(answer)) + "\n" if self.as_json else gap + answer_text(answer, width()))
            gap = "\n"
        return status

    def _answers(self, situations: Iterable[Situation | InvalidObject]) -> Iterator[Answer | InvalidObject]:
        for situation in situations:
            if isinstance(situation, InvalidObject):
                yield situation
                continue
            for note in situation.notes:
                sys.stderr.write(f"karpy: note: {note}\n")
            answers = Answers(situation if self.at is None else attrs.evolve(situation, now=self.at))
            for target in self.targets:
                try:
                    yield answers.about(target.kind, target.name, target.namespace)
                except InvalidObject as error:
                    yield error


def read_time(text: str | None) -> float | None:
    """Seconds since 1970 of a time as Kubernetes writes it; None where the option was not given.

    Raises:
        BadInput: it is no time.
    """
    try:
        return None if text is None else parse_time(text)
    except InvalidObject as error:
        raise BadInput(f"--at: {error}") from None

"""``python -m karpy.testing``: play one trial again, or many.

With ``--seed`` it plays the trial that the line describes, prints its calls with ``--trace``, and what broke. With
``--seeds N`` it plays the trials of N seeds.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from karpy.errors import InvalidObject
from karpy.testing.soak import soak
from karpy.testing.trials import MINUTES, Trial

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """What to exit with: 0 when nothing broke, 1 when something did, 2 when the line cannot be read."""
    parser = argparse.ArgumentParser("python -m karpy.testing", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seeds", type=int, default=0, help="play so many drawn trials")
    parser.add_argument("--first", type=int, default=0, help="the first of these seeds")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="virtual minutes of each")
    parser.add_argument("--trace", action="store_true", help="print every call of the one trial")
    known, rest = parser.parse_known_args(arguments)
    if known.seeds:
        report = soak(range(known.first, known.first + known.seeds), minutes=known.minutes, tell=_say)
        _say(str(report))
        return bool(report.failed)
    try:
        trial = Trial.parse(shlex.join([*rest, "--minutes", f"{known.minutes:g}"]))
    except InvalidObject as error:
        _say(str(error))
        return 2
    return _play_one(trial, trace=known.trace)


def _play_one(trial: Trial, *, trace: bool) -> int:
    if trace:
        world = trial.world()
        world.run(trial.minutes * 60)
        _say(str(world.trace))
    outcome = trial.play()
    for violation in outcome.violations:
        _say(str(violation))
    _say(f"{len(outcome.violations)} violations in {outcome.seconds / 60:g} virtual minutes and {outcome.calls} calls")
    return bool(outcome.violations)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

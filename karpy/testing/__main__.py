"""``python -m karpy.testing``: play one trial again, or many.

With ``--seed`` it plays the trial that the line describes, prints its calls with ``--trace``, and what broke. With
``--seeds N`` it plays the trials of N seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys

from karpy.errors import InvalidObject, shown
from karpy.sim.processes.process import Program
from karpy.testing.programs import load_program
from karpy.testing.soaking import soak
from karpy.testing.trials import MINUTES, Trial, reference
from karpy.testing.venues import SIM, venue

__all__ = ["main"]


_LINE = """
a line that plays one trial again, as it is printed for each that fails; all but --seed may be left out:
  --seed SEED        the cluster, its users, and chance
  --pods N,N,...     the most replicas of each workload, 0 to leave it out
  --faults LINE      such as 'crash-after@28', or 'lost:0.02 until:240'
  --weather WEATHER  such as 'Weather(lasts_s=240.0)'
  --replicas N       processes that elect a leader
  --cloud NAME       the cloud that the machines are of
"""


def main(arguments: list[str]) -> int:
    """What to exit with: 0 when nothing broke, 1 when something did, 2 when the line cannot be read."""
    parser = argparse.ArgumentParser(
        "python -m karpy.testing",
        description=__doc__,
        epilog=_LINE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--seeds", type=int, help="play so many drawn trials")
    parser.add_argument("--first", type=int, default=0, help="the first of these seeds")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="virtual minutes of each")
    parser.add_argument("--trace", action="store_true", help="print every call of the one trial")
    parser.add_argument("--program", default="", help="the controllers to try, as MODULE:FUNCTION (default: karpy's)")
    parser.add_argument("--cloud", default=SIM, help="sim, or a cloud that an installed package has a stand-in for")
    known, rest = parser.parse_known_args(arguments)
    try:
        program = load_program(known.program) if known.program else reference
        venue(known.cloud)
        if known.minutes <= 0:
            raise InvalidObject(f"found {known.minutes:g}", path="--minutes", accepted="more than zero")
        if known.seeds is not None:
            if known.seeds < 1:
                raise InvalidObject(f"found {known.seeds}", path="--seeds", accepted="one or more")
            if rest:
                raise InvalidObject(
                    f"found {shown(shlex.join(rest))}", path="--seeds", accepted="no options of one trial beside it"
                )
            seeds = range(known.first, known.first + known.seeds)
            report = soak(seeds, minutes=known.minutes, program=program, cloud=known.cloud, tell=_say)
            _say(str(report))
            return bool(report.failed)
        if not rest:
            raise InvalidObject(
                "found neither --seeds nor --seed", accepted="--seeds N, or the line of a trial; see --help"
            )
        trial = Trial.parse(shlex.join([*rest, "--minutes", f"{known.minutes:g}", "--cloud", known.cloud]))
    except InvalidObject as error:
        _say(str(error))
        return 2
    return _play_one(trial, program, trace=known.trace)


def _play_one(trial: Trial, program: Program, *, trace: bool) -> int:
    if trace:
        world = trial.world(program)
        with contextlib.suppress(Exception):  # the outcome tells what it was
            world.run(trial.minutes * 60)
        _say(str(world.trace))
    outcome = trial.play(program)
    for violation in outcome.violations:
        _say(str(violation))
    _say(f"{len(outcome.violations)} violations in {outcome.seconds / 60:g} virtual minutes and {outcome.calls} calls")
    return bool(outcome.violations)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

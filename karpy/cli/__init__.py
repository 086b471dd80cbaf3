"""The command ``karpy``: one module a command, each thin over library functions.

The modules of commands name their options and import what they run only when they run, so that ``karpy version`` and ``--help``
answer at once.

Exit status: 0 done; 1 an unexpected failure; 2 bad usage or bad input, with one line on stderr that says what and where; 3 done,
but a condition asked for holds.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """Run the command line in ``sys.argv`` and exit."""
    try:
        from karpy.cli.app import run

        status = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        from karpy.cli.pipes import abandon_stdout

        abandon_stdout()
        status = 0
    sys.exit(status)

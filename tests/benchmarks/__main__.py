"""``make bench``: every benchmark, one table; with ``BENCH_JSON=file`` as JSON too. Arguments choose modules by name.

What takes very long is run only when it is named.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import consolidating
import days
import instancetypes
import largeworld
import lifecycles
import memory
import oneday
import optimum
import serving
import snapshots
import solving
import starting
import states
import terminations
import worlds
from measure import render, write

MODULES = {
    "starting": starting,
    "instancetypes": instancetypes,
    "solving": solving,
    "optimum": optimum,
    "snapshots": snapshots,
    "consolidating": consolidating,
    "states": states,
    "serving": serving,
    "worlds": worlds,
    "lifecycles": lifecycles,
    "largeworld": largeworld,
    "terminations": terminations,
    "memory": memory,
    "oneday": oneday,
}
LONG = {"days": days}


def main() -> None:
    chosen = sys.argv[1:] or list(MODULES)
    measures = [measure for name in chosen for measure in (MODULES | LONG)[name].measures()]
    print(render(measures))
    if os.environ.get("BENCH_JSON"):
        write(Path(os.environ["BENCH_JSON"]), measures)


if __name__ == "__main__":  # processes that benchmarks start read this file too
    main()

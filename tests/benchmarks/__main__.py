"""``make bench``: every benchmark, one table; with ``BENCH_JSON=file`` as JSON too. Arguments choose modules by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import largeworld
import lifecycles
import memory
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
    "solving": solving,
    "optimum": optimum,
    "snapshots": snapshots,
    "states": states,
    "serving": serving,
    "worlds": worlds,
    "lifecycles": lifecycles,
    "largeworld": largeworld,
    "terminations": terminations,
    "memory": memory,
}


def main() -> None:
    chosen = sys.argv[1:] or list(MODULES)
    measures = [measure for name in chosen for measure in MODULES[name].measures()]
    print(render(measures))
    if os.environ.get("BENCH_JSON"):
        write(Path(os.environ["BENCH_JSON"]), measures)


main()

"""What differs between karpy and the recordings: ``python -m tests.scenarios.lifecycle [--all] [scenario ...]``.

Without ``--all`` only what is not listed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.scenarios.lifecycle.comparing import unlisted
from tests.scenarios.lifecycle.differences import LISTED
from tests.scenarios.lifecycle.order import lives, orders
from tests.scenarios.lifecycle.recording import Recording
from tests.scenarios.lifecycle.scripts import SCRIPTS, compare

_SHARED = Path(__file__).parents[4] / "shared"


def main(arguments: list[str]) -> None:
    recordings = {name: Recording.read(_SHARED, name) for name in SCRIPTS}
    known = orders(life for recording in recordings.values() for life in lives(recording.tape))
    for name in [each for each in arguments if each != "--all"] or SCRIPTS:
        found = compare(recordings[name], SCRIPTS[name], known)
        shown = found if "--all" in arguments else unlisted(name, found, LISTED)
        print(f"{name}: {len(found)} differences, {len(unlisted(name, found, LISTED))} of them not listed")
        for difference in shown:
            print(f"  {difference}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The other half of ``make soak``: every scenario with some seeds, each twice, and what must hold at the end of each run.

- The script reaches its end, every pod ran, and none is left waiting.
- No node and no machine is left behind: what was launched was terminated.
- The same seed tells the same story, to the last byte.

And three lives of machines, each told again for every call in it that may be the last, or fail.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator

from karpy.report.happening import Happening, What
from karpy.report.scene import Summary
from karpy.scenarios.catalogue import load_scenario, scenario_names
from karpy.scenarios.rehearsal import Rehearsal
from karpy.scenarios.script import REPLICAS
from karpy.testing.sweeping import FAILURES, KILLS, points, sweep
from tests.scenarios.lives import MANY, ONE, REPLACED


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=25)
    failures = scenarios(arguments.parse_args().seeds) + points_of_failure()
    sys.exit(failures > 0)


def scenarios(seeds: int) -> int:
    """How many runs of the scenarios were not as they should be."""
    failures, virtual_s = 0, 0.0
    for scenario in scenario_names():
        for seed in range(seeds):
            story, summary, ran = play(scenario, seed)
            virtual_s += summary.virtual_seconds
            complaints = [
                *broken(summary, ran),
                *([] if play(scenario, seed)[0] == story else ["it plays differently again"]),
            ]
            failures += bool(complaints)
            for complaint in complaints:
                print(f"{scenario}, seed {seed}: {complaint}")
        print(f"{scenario}: {seeds} seeds played twice", flush=True)
    print(f"{virtual_s / 3600:.1f} virtual hours, {failures} runs with complaints")
    return failures


def points_of_failure() -> int:
    """How much was wrong in lives that are disturbed once, at each call that can be disturbed."""
    wrong = 0
    for story in (ONE, MANY, REPLACED):
        world, _ = story.play()
        for what, faults in (("kill points", KILLS), ("failing calls", FAILURES)):
            tried = list(points(world, faults))
            complaints = sweep(story, tried)
            print(*complaints, f"{story.name}: {len(tried)} {what}", sep="\n", flush=True)
            wrong += len(complaints)
    return wrong


def play(scenario: str, seed: int) -> tuple[str, Summary, int]:
    """A digest of all that was told, the summary, and how many pods began to run."""
    digest, ran = hashlib.sha256(), 0

    def tell(happening: Happening) -> None:
        nonlocal ran
        digest.update(happening.to_json(0.0).encode())
        if happening.what is What.PODS_RUNNING:
            ran += happening.fields["count"]

    summary = Rehearsal(load_scenario(scenario), seed=seed, tell=tell).play()
    digest.update(summary.to_json().encode())
    return digest.hexdigest(), summary, ran


def broken(summary: Summary, ran: int) -> Iterator[str]:
    if not summary.reached_end:
        yield "the script did not reach its end"
    if summary.pods_pending or summary.pods_running:
        yield f"{summary.pods_pending} pods are pending and {summary.pods_running} running at the end"
    if ran < max(REPLICAS):
        yield f"only {ran} pods ever ran"
    if summary.nodes_left or summary.instances_left:
        yield f"{summary.nodes_left} nodes and {summary.instances_left} instances are left"


main()

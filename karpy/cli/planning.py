"""What ``karpy plan`` runs: situations in, reports out, one after another."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from karpy.cli.bad_input import BadInput
from karpy.cli.options import known_schemas
from karpy.errors import InvalidObject
from karpy.kube.client import RawObject
from karpy.report.outlook import Outlook
from karpy.report.plan_json import outlook_json, to_line
from karpy.report.plan_markdown import outlook_markdown
from karpy.report.plan_text import outlook_text
from karpy.scenarios.as_applied import as_applied
from karpy.scenarios.offline import offline_clouds, situation_in
from karpy.scenarios.recorded import Recorded
from karpy.scenarios.recorded_catalog import CatalogFolder
from karpy.scenarios.situation import Situation, snapshot_of
from karpy.scenarios.sources import STDIN, FoundScenario, Lines, Sources, is_line_by_line, open_sources
from karpy.settings import Settings

__all__ = ["Planning"]

DONE, BAD_INPUT, CONDITION_HOLDS = 0, 2, 3

_WIDTH = 100
"""Columns of a report that does not go to a terminal."""

_CONDITIONS: dict[str, Callable[[Outlook], bool]] = {
    "unschedulable": lambda outlook: outlook.leaves_pods_waiting,
    "changes": lambda outlook: outlook.changes_something,
}


@attrs.frozen(kw_only=True)
class Planning:
    """What is asked for. The methods write reports to stdout and return the exit status."""

    provisioning: bool
    disruption: bool
    output: str
    fail_on: frozenset[str]
    settings: Settings

    def for_files(
        self, paths: Sequence[Path], *, catalogs: Path | None, line: int | None, every: bool, kubeconfig: Path | None
    ) -> int:
        """Reports for manifests and recorded scenarios. A scenario that cannot be read does not stop those after it.

        Raises:
            BadInput: options do not go together.
            InvalidObject: a file cannot be used.
        """
        if kubeconfig is not None:
            raise BadInput("--kubeconfig: is for a live cluster (accepted: without --from)")
        _check_lines(paths, line, every=every)
        sources = open_sources(paths, Lines(line, every), known_schemas())
        if sources.scenarios is None:
            return self._show([_situation_of(sources, self.settings)])
        return self._show(_scenarios(sources, catalogs, self.settings))

    def for_cluster(self, kubeconfig: Path | None, *, catalogs: Path | None, line: int | None, every: bool) -> int:
        """The report for a live cluster, which is only read.

        Raises:
            BadInput: there is no cluster to be found, or an option is for files.
            KubeError: the cluster does not answer.
        """
        from karpy.cli.live import live_situation

        for option, given in (("--catalogs", catalogs), ("--line", line), ("--all", every or None)):
            if given is not None:
                raise BadInput(f"{option}: is for files (accepted: with --from)")
        return self._show([live_situation(kubeconfig, self.settings)])

    def _show(self, situations: Iterable[Situation | InvalidObject]) -> int:
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
                sys.stdout.write(gap + text)
                sys.stdout.flush()  # whoever feeds us line by line gets answers line by line
                gap = "" if self.output == "json" else "\n"
        return status

    def _refused(self, error: InvalidObject) -> str:
        """Tell of a scenario that cannot be read; and what stands for it in the output, so that JSON's lines correspond."""
        sys.stderr.write("".join(f"karpy: {line}\n" for line in str(error).splitlines()))
        return to_line({"error": str(error)}) + "\n" if self.output == "json" else ""

    def _rendered(self, outlook: Outlook) -> str:
        if self.output == "json":
            return to_line(outlook_json(outlook)) + "\n"
        if self.output == "markdown":
            return outlook_markdown(outlook)
        return outlook_text(outlook, _width())


def _width() -> int:
    return shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH


def _check_lines(paths: Sequence[Path], line: int | None, *, every: bool) -> None:
    """See to it that lines are asked for where, and only where, files have a scenario a line."""
    by_line = [path for path in paths if is_line_by_line(path)]
    if line is not None and every:
        raise BadInput("--line: does not go with --all (accepted: one of the two)")
    if line is not None and line < 1:
        raise BadInput(f"--line: found {line} (accepted: a number from 1)")
    if by_line and line is None and not every:
        raise BadInput(f"{by_line[0]}: holds one scenario a line (accepted: with --line N or --all)")
    if line is not None and len(by_line) > 1:
        raise BadInput(f"--line: found {len(by_line)} files with one scenario a line (accepted: one such file)")
    if line is not None and not by_line and STDIN not in paths:
        raise BadInput("--line: no file holds one scenario a line (accepted: with a .jsonl or .jsonl.gz file)")


def _situation_of(sources: Sources, settings: Settings) -> Situation:
    clouds = offline_clouds()
    snapshot = snapshot_of(sources.manifests, clouds.kinds, prepare=as_applied)
    return situation_in(snapshot, clouds, name="", now=time.time(), settings=settings, assume_classes=True)


def _scenarios(sources: Sources, catalogs: Path | None, settings: Settings) -> Iterator[Situation | InvalidObject]:
    """Each scenario with the manifests added to it, or what is wrong with it."""
    snapshot_of(sources.manifests, prepare=as_applied)  # told here once, and not with every scenario
    more = as_applied(sources.manifests.objects)
    folders: dict[Path, CatalogFolder] = {}
    assert sources.scenarios is not None, "the caller looked"
    for found in sources.scenarios:
        if isinstance(found.scenario, InvalidObject):
            yield found.scenario
            continue
        folder = _folder_for(found, catalogs)
        try:
            yield _situation(found.scenario, folders.setdefault(folder, CatalogFolder(folder)), more, settings)
        except InvalidObject as error:
            yield error


def _folder_for(found: FoundScenario, catalogs: Path | None) -> Path:
    if catalogs is not None:
        return catalogs
    beside = Path.cwd() if found.path == STDIN else found.path.parent.resolve().parent
    return beside / "catalogs"


def _situation(scenario: Recorded, catalogs: CatalogFolder, more: Sequence[RawObject], settings: Settings) -> Situation:
    try:
        catalog = catalogs.get(scenario.catalog)
    except InvalidObject as error:
        raise error.at(object_name=error.object_name or scenario.source) from None
    return scenario.situation(catalog, more, now=time.time(), settings=settings)

"""The clusters that a command is asked about, as values: from files, or the live one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from karpy.cli.bad_input import BadInput
from karpy.cli.options import known_schemas
from karpy.errors import InvalidObject
from karpy.kube.client import RawObject
from karpy.scenarios.as_applied import as_applied
from karpy.scenarios.offline import offline_clouds, situation_in
from karpy.scenarios.recorded import Recorded
from karpy.scenarios.recorded_catalog import CatalogFolder
from karpy.scenarios.situation import Situation, state_of
from karpy.scenarios.sources import STDIN, FoundScenario, Lines, Sources, is_line_by_line, open_sources
from karpy.settings import Settings

__all__ = ["Asked"]


@attrs.frozen(kw_only=True)
class Asked:
    """What the options of `karpy.cli.inputs` say: files, or none for the live cluster."""

    paths: tuple[Path, ...]
    catalogs: Path | None = None
    line: int | None = None
    every: bool = False
    kubeconfig: Path | None = None

    def situations(self, settings: Settings) -> Iterator[Situation | InvalidObject]:
        """One for each cluster, worked out when it is come to. A scenario that cannot be read does not stop those after it.

        Raises:
            BadInput: options do not go together, or there is no cluster to be found.
            InvalidObject: a file cannot be used.
            KubeError: the live cluster does not answer.
        """
        if not self.paths:
            return iter([self._live(settings)])
        if self.kubeconfig is not None:
            raise BadInput("--kubeconfig: is for a live cluster (accepted: without --from)")
        _check_lines(self.paths, self.line, every=self.every)
        sources = open_sources(self.paths, Lines(self.line, self.every), known_schemas())
        if sources.scenarios is None:
            return iter([_situation_of(sources, settings)])
        return _scenarios(sources, self.catalogs, settings)

    def _live(self, settings: Settings) -> Situation:
        from karpy.cli.live import live_situation

        for option, given in (("--catalogs", self.catalogs), ("--line", self.line), ("--all", self.every or None)):
            if given is not None:
                raise BadInput(f"{option}: is for files (accepted: with --from)")
        return live_situation(self.kubeconfig, settings)


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
    state = state_of(sources.manifests, clouds.kinds, prepare=as_applied)
    return situation_in(
        state.snapshot(), clouds, name="", now=time.time(), settings=settings, pods=state.pods(), assume_classes=True
    )


def _scenarios(sources: Sources, catalogs: Path | None, settings: Settings) -> Iterator[Situation | InvalidObject]:
    """Each scenario with the manifests added to it, or what is wrong with it."""
    state_of(sources.manifests, prepare=as_applied)  # told here once, and not with every scenario
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

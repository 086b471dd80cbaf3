"""What ``karpy demo`` runs: a rehearsal, the view that shows it, and perhaps a way in for kubectl."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from karpy.cli.bad_input import BadInput
from karpy.cli.interrupts import on_interrupt
from karpy.cli.options import known_schemas
from karpy.report.happening import Happening
from karpy.report.views import JsonLines, LiveView, PlainLines, Recorded, View
from karpy.scenarios.catalogue import load_scenario
from karpy.scenarios.rehearsal import Rehearsal
from karpy.settings import Settings
from karpy.sim.clock import DEFAULT_START
from karpy.sim.site import MakeSite

__all__ = ["Stage"]


class Stage:
    """A rehearsal of ``scenario`` and its view: JSON lines, a live view on a terminal, or plain lines."""

    def __init__(
        self,
        scenario: str,
        *,
        seed: int,
        until_s: float | None,
        settings: Settings,
        as_json: bool,
        record: Path | None = None,
        site: MakeSite | None = None,
        start: float = DEFAULT_START,
    ) -> None:
        """``site`` and ``start``: as `karpy.sim.world.World` takes them."""
        found = load_scenario(scenario, known_schemas())
        self._view = _view(f"karpy demo · {found.name} · seed {seed}", as_json=as_json)
        if record is not None:
            self._view = _recorded(self._view, record)
        self._rehearsal = Rehearsal(
            found, seed=seed, until_s=until_s, settings=settings, tell=self._tell, site=site, start=start
        )

    def play(self, speed: float | None, *, serve: bool) -> None:
        """Play the script to its end; with ``serve``, let kubectl in and go on until interrupted.

        Raises:
            KeyboardInterrupt: the process was asked to end.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(on_interrupt(_interrupt))
            if serve:
                self._let_kubectl_in(stack)
            stack.enter_context(self._view)
            self._view.end(self._rehearsal.play(speed, self._draw))
            if serve:
                self._view.say("The cluster goes on; Ctrl-C ends it.")
                self._rehearsal.linger(speed or 1.0, self._draw)

    def _let_kubectl_in(self, stack: contextlib.ExitStack) -> None:
        from karpy.cli.serving import served

        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="karpy-"))
        path = Path(folder) / "kubeconfig"
        stack.enter_context(served(self._rehearsal.world.api, 0, path))
        sys.stderr.write(f"kubectl --kubeconfig {path} get nodes,pods\n")

    def _tell(self, happening: Happening) -> None:
        self._view.tell(happening, self._rehearsal.journal.start)

    def _draw(self) -> None:
        self._view.frame(self._rehearsal.scene())


def _interrupt() -> None:
    raise KeyboardInterrupt


def _recorded(view: View, path: Path) -> View:
    try:
        return Recorded(view, path)
    except OSError as error:
        raise BadInput(f"--record: {path} cannot be written: {error.strerror}") from None


def _view(title: str, *, as_json: bool) -> View:
    if as_json:
        return JsonLines(sys.stdout)
    return LiveView(title) if sys.stdout.isatty() else PlainLines(sys.stdout)

"""Ways to show a run while it goes on: plain lines, JSON lines, or a live view in a terminal."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.live import Live

from karpy.report.happening import Happening
from karpy.report.live import draw
from karpy.report.scene import Scene, Summary

__all__ = ["JsonLines", "LiveView", "PlainLines", "Recorded", "View"]


class View(Protocol):
    """Shows what happens. It is entered before the first call and left after the last, however the run ends."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tell(self, happening: Happening, start: float) -> None:
        """Something happened; ``start`` is when the run began."""
        ...

    def frame(self, scene: Scene) -> None:
        """Called some times a second."""
        ...

    def say(self, text: str) -> None:
        """Something to read beside the story, for people only."""
        ...

    def end(self, summary: Summary) -> None: ...


class PlainLines:
    """One line for each thing that happens, and the summary in words."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tell(self, happening: Happening, start: float) -> None:
        self._out.write(happening.to_line(start) + "\n")

    def frame(self, scene: Scene) -> None:
        del scene  # the lines say it all
        self._out.flush()

    def say(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()

    def end(self, summary: Summary) -> None:
        self._out.write("\n" + summary.to_text() + "\n")
        self._out.flush()


class JsonLines(PlainLines):
    """One JSON object for each thing that happens, and the summary as the last."""

    def tell(self, happening: Happening, start: float) -> None:
        self._out.write(happening.to_json(start) + "\n")

    def say(self, text: str) -> None:
        """Programs read the other lines."""

    def end(self, summary: Summary) -> None:
        self._out.write(summary.to_json() + "\n")
        self._out.flush()


class LiveView:
    """A picture that is drawn anew when something happened or its clock moved; the last one stays on the screen."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console()
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
        self._second = -1
        self._is_stale = True

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def tell(self, happening: Happening, start: float) -> None:
        """The next frame shows it."""
        del happening, start
        self._is_stale = True

    def frame(self, scene: Scene) -> None:
        second = int(scene.seconds)
        if second == self._second and not self._is_stale:
            return
        self._second, self._is_stale = second, False
        if not self._live.is_started:  # the script has ended, the cluster goes on
            self._live.start()
        self._live.update(draw(scene, self._title, self._console.width), refresh=True)

    def say(self, text: str) -> None:
        self._live.console.print(text, highlight=False, soft_wrap=True)

    def end(self, summary: Summary) -> None:
        self._live.stop()  # what comes now stands below the last frame
        self.say("\n" + summary.to_text())


class Recorded:
    """Another view, and beside it a file with the JSON lines of the same story."""

    def __init__(self, view: View, path: Path) -> None:
        self._view = view
        self._file = path.open("w", encoding="utf-8")
        self._lines = JsonLines(self._file)

    def __enter__(self) -> Self:
        self._view.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.__exit__(kind, error, trace)
        self._file.close()

    def tell(self, happening: Happening, start: float) -> None:
        self._view.tell(happening, start)
        self._lines.tell(happening, start)

    def frame(self, scene: Scene) -> None:
        self._view.frame(scene)

    def say(self, text: str) -> None:
        self._view.say(text)

    def end(self, summary: Summary) -> None:
        self._view.end(summary)
        self._lines.end(summary)

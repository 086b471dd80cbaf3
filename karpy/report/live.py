"""The live view of a cluster in a terminal: a `Scene` as something that rich can draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from karpy.lifecycle.states import State
from karpy.report.happening import Happening, What, clock_text
from karpy.report.machines import Machine
from karpy.report.scene import Scene

__all__ = ["draw"]

_MOST_MACHINES = 12
_MOST_DECISIONS = 3
_MOST_EVENTS = 8
_BAR = 40
_WIDE = 110

_COLOURS = {
    State.CREATED: "yellow",
    State.LAUNCHED: "yellow",
    State.REGISTERED: "cyan",
    State.INITIALIZED: "green",
    State.DRAINING: "magenta",
    State.DETACHING: "magenta",
    State.TERMINATING: "red",
    State.RELEASING: "red",
    State.GONE: "red",
}
_EVENT_COLOURS = {
    What.SCALE: "bold",
    What.PODS_PENDING: "yellow",
    What.NODE_READY: "green",
    What.PODS_RUNNING: "green",
    What.UNSCHEDULABLE: "red",
}


def draw(scene: Scene, title: str, width: int) -> RenderableType:
    """The whole view for a terminal of so many columns. ``title`` names the run."""
    machines = _machines(scene, is_wide=width >= _WIDE)
    return Panel(
        Group(_pods(scene), _bill(scene), Text(), machines, Text(), *_decisions(scene), *_events(scene)),
        title=f"[bold]{title}[/bold]  {clock_text(scene.seconds)}",
        title_align="left",
        border_style="blue",
        box=box.ROUNDED,
    )


def _pods(scene: Scene) -> Text:
    """Counts, and a bar that shows their shares."""
    counts = (
        ("running", scene.pods_running, "green", "█"),
        ("starting", scene.pods_starting, "cyan", "▓"),
        ("pending", scene.pods_pending, "yellow", "░"),
    )
    total = sum(count for _, count, _, _ in counts)
    line = Text("pods   ")
    for name, count, colour, _ in counts:
        line.append(f"{count:>3} {name}  ", style=colour if count else "dim")
    for _, count, colour, sign in counts:
        line.append(sign * (round(count / total * _BAR) if total else 0), style=colour)
    return line


def _bill(scene: Scene) -> Text:
    ready = sum(machine.state is State.INITIALIZED for machine in scene.machines)
    line = Text(f"nodes  {ready:>3} ready    {len(scene.machines) - ready} coming or going    ")
    line.append(f"${scene.price:.4f}/h now    ${scene.cost:.4f} so far", style="bold")
    return line


def _machines(scene: Scene, *, is_wide: bool) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True, show_edge=False)
    columns = [column for column in _COLUMNS if is_wide or not column.is_extra]
    for column in columns:
        justify: JustifyMethod = "right" if column.is_number else "left"
        table.add_column(column.head, justify=justify, no_wrap=True, min_width=6 if column.is_number else 11)
    for machine in scene.machines[:_MOST_MACHINES]:
        table.add_row(*(column.cell(machine, scene) for column in columns))
    if len(scene.machines) > _MOST_MACHINES:
        table.add_row(f"and {len(scene.machines) - _MOST_MACHINES} more")
    return table


@attrs.frozen
class _Column:
    """A column of the table of machines; an extra one is left out of narrow terminals."""

    head: str
    cell: Callable[[Machine, Scene], Text | str]
    is_number: bool = False
    is_extra: bool = False


_COLUMNS = (
    _Column("nodeclaim", lambda machine, _scene: machine.claim),
    _Column("state", lambda machine, _scene: Text(machine.state.value, style=_COLOURS[machine.state])),
    _Column("instance type", lambda machine, _scene: machine.instance_type),
    _Column("zone", lambda machine, _scene: machine.zone, is_extra=True),
    _Column("capacity", lambda machine, _scene: machine.capacity_type),
    _Column("$/h", lambda machine, _scene: f"{machine.price:.4f}" if machine.price else "", is_number=True),
    _Column("pods", lambda machine, scene: str(scene.pods_on.get(machine.node, "")), is_number=True),
    _Column(
        "age",
        lambda machine, scene: clock_text(scene.start + scene.seconds - machine.created),
        is_number=True,
        is_extra=True,
    ),
)


def _decisions(scene: Scene) -> Iterable[RenderableType]:
    """In full, over as many lines as it takes: they are what the view is for."""
    yield Text("last decisions", style="bold")
    grid = Table.grid(padding=(0, 2))
    for happening in scene.decisions[-_MOST_DECISIONS:]:
        at = clock_text(happening.at - scene.start)
        grid.add_row(at, happening.what.value, Text(happening.text, style=_EVENT_COLOURS.get(happening.what, "")))
    yield grid
    yield Text()


def _events(scene: Scene) -> Iterable[Text]:
    yield Text("events", style="bold")
    for happening in scene.recent[-_MOST_EVENTS:]:
        yield _line(happening, scene.start)


def _line(happening: Happening, start: float) -> Text:
    return Text(
        happening.to_line(start), style=_EVENT_COLOURS.get(happening.what, ""), no_wrap=True, overflow="ellipsis"
    )

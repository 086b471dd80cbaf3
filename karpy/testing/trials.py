"""A trial: one drawn cluster with its users, faults and weather, played for some minutes of virtual time, and what was wrong."""

from __future__ import annotations

import shlex
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from karpy.controllers.base import Request
from karpy.errors import InvalidObject, shown
from karpy.operator import Operator
from karpy.sim.faults import Fault, Faults, Planned
from karpy.sim.forecast import forecast
from karpy.sim.invariants.witness import Violation
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.process import Program, Surroundings
from karpy.sim.weather import Weather
from karpy.sim.world import World
from karpy.testing.lines import parse_weather
from karpy.testing.stories import Story, Storyteller
from karpy.testing.venues import SIM, venue

__all__ = ["Outcome", "Trial", "reference"]

MINUTES = 10.0
_STORMY = 0.4
"""Faults come during this share of the time."""


def reference(surroundings: Surroundings) -> Operator:
    """karpy's own controllers as a process of a world: the program that trials try unless another is named."""
    return Operator(
        kube=surroundings.kube,
        providers=surroundings.providers,
        clock=surroundings.clock,
        on_decision=surroundings.on_decision,
        log=surroundings.log,
    )


@attrs.frozen(kw_only=True)
class Outcome:
    """What came of a trial."""

    violations: tuple[Violation, ...]
    injected: Counter[Fault]
    happened: tuple[Planned, ...]
    """The faults that came: a plan that brings them again."""
    calls: int
    seconds: float

    @property
    def broken(self) -> frozenset[str]:
        """The names of the invariants that did not hold."""
        return frozenset(each.invariant for each in self.violations)


@attrs.frozen(kw_only=True)
class Trial:
    """Everything that a run depends on. ``str()`` gives the options of one line that plays it again; `parse` reads them.

    ``pods``: the most replicas of each workload of the story, 0 to leave it out. ``replicas``: processes that elect a leader.
    """

    seed: int
    minutes: float = MINUTES
    pods: tuple[int, ...]
    faults: Faults = attrs.field(factory=Faults)
    weather: Weather = attrs.field(factory=Weather)
    replicas: int = 1
    cloud: str = SIM
    """Or the name of one that something stands in for."""

    @classmethod
    def draw(cls, seed: int, minutes: float = MINUTES, cloud: str = SIM) -> Trial:
        """The trial of a seed."""
        where = venue(cloud)
        return cls(
            seed=seed,
            minutes=minutes,
            pods=Story.draw(seed, where).pods,
            faults=Faults.draw(seed, until_s=minutes * 60 * _STORMY),
            weather=where.weather(forecast(seed, minutes * 60 * _STORMY, zones=where.zones)),
            replicas=2 if seed % 5 == 4 else 1,
            cloud=cloud,
        )

    @classmethod
    def parse(cls, line: str) -> Trial:
        """Read what ``str()`` wrote. What a line leaves out is as `draw` has it for its seed.

        Raises:
            InvalidObject: naming the option that cannot be read.
        """
        words = shlex.split(line)
        try:
            given = dict(zip(words[::2], words[1::2], strict=True))
            trial = cls.draw(
                int(given.pop("--seed")), float(given.pop("--minutes", MINUTES)), given.pop("--cloud", SIM)
            )
            drawn = trial.pods
            for option, text in given.items():
                trial = attrs.evolve(trial, **_READERS[option](text))
        except (KeyError, ValueError, TypeError, SyntaxError) as error:
            if isinstance(error, InvalidObject):
                raise
            raise InvalidObject(
                f"found {shown(line)}", object_name="Trial", accepted=f"--seed, --minutes, {', '.join(_READERS)}"
            ) from None
        if len(trial.pods) != len(drawn) or min(trial.pods) < 0:
            found, accepted = shown(given["--pods"]), f"{len(drawn)} numbers: seed {trial.seed} has so many workloads"
            raise InvalidObject(f"found {found}", path="--pods", accepted=accepted)
        if trial.replicas < 1:
            raise InvalidObject(f"found {trial.replicas}", path="--replicas", accepted="one or more")
        return trial

    def __str__(self) -> str:
        pods = ",".join(map(str, self.pods))
        words = ["--seed", str(self.seed), "--minutes", f"{self.minutes:g}", "--pods", pods]
        words += [] if self.cloud == SIM else ["--cloud", self.cloud]
        words += ["--faults", str(self.faults), "--weather", repr(self.weather), "--replicas", str(self.replicas)]
        return " ".join(map(_quoted, words))

    def play(self, program: Program = reference) -> Outcome:
        """Let it happen. An exception that nobody expects is a violation too, of ``runs_through``."""
        world = self._world()
        failure: tuple[Violation, ...] = ()
        try:
            self._run(world, program)
        except Exception as error:  # whatever a program does must be told with the trial that made it do so
            where = traceback.extract_tb(error.__traceback__)[-1]
            words = f"raised {type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            failure = (Violation("runs_through", "the program", world.clock.now(), words),)
        return self._outcome(world.boundary, (*failure, *world.check()))

    def world(self, program: Program = reference) -> World:
        """The same, left to the caller to run: for looking at it closely."""
        world = self._world()
        self._begin(world, program)
        return world

    def _world(self) -> World:
        return venue(self.cloud).world(self.seed, self.faults, self.weather)

    def _run(self, world: World, program: Program) -> None:
        self._begin(world, program)
        world.run(self.minutes * 60)

    def _begin(self, world: World, program: Program) -> None:
        story = Story.draw(self.seed, venue(self.cloud))
        teller = Storyteller(story, self.pods, world.api, world.clock)
        world.start(program, "karpy", replicas=self.replicas)
        world.apply(teller.objects())
        world.add(teller)
        world.loop.wake(teller, Request())

    def _outcome(self, boundary: Boundary, violations: tuple[Violation, ...]) -> Outcome:
        return Outcome(
            violations=violations,
            injected=Counter(boundary.injected),
            happened=tuple(boundary.happened),
            calls=boundary.calls,
            seconds=self.minutes * 60,
        )

    def smaller(self) -> Iterator[Trial]:
        """Trials with less in them: fewer processes, less time, fewer pods, fewer faults; large steps first."""
        if self.replicas > 1:
            yield attrs.evolve(self, replicas=1)
        for pods in _fewer(self.pods):
            yield attrs.evolve(self, pods=pods)
        for faults in self.faults.smaller():
            yield attrs.evolve(self, faults=faults)
        for weather in self.weather.simpler():
            yield attrs.evolve(self, weather=weather)
        for share in (0.5, 0.8):
            if self.minutes > 1:
                yield attrs.evolve(self, minutes=round(self.minutes * share, 1))


def _quoted(word: str) -> str:
    """For a shell; what holds single quotes and nothing that double quotes would not keep is easier to read in double ones."""
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def _fewer(pods: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for index, count in enumerate(pods):
        for less in dict.fromkeys((0, count // 2, count - 1)):
            if 0 <= less < count:
                yield (*pods[:index], less, *pods[index + 1 :])


_READERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "--pods": lambda text: {"pods": tuple(int(each) for each in text.split(","))},
    "--faults": lambda text: {"faults": Faults.parse(text)},
    "--weather": lambda text: {"weather": parse_weather(text)},
    "--replicas": lambda text: {"replicas": int(text)},
}

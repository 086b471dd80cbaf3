"""A cluster in which days pass: a web tier that follows the day, batch jobs in bursts, and a rollout every hour.

Machines cost what they do on EC2; spot prices wander, spot machines are interrupted, and at times one zone has none of them.
Everything that happens follows from the seed.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from karpy import labels
from karpy.objects import kinds
from karpy.objects.churnrules import CHURN_CONTROL, CHURN_ON
from karpy.operator import Operator
from karpy.scenarios.rehearsal import Silence
from karpy.settings import Settings
from karpy.sim.region.prices import wandering
from karpy.sim.weather import Hazard, PriceWalk, Shortage, Weather, Where
from karpy.sim.world import World
from karpy_aws.model import AWSModel
from tests.scenarios.days import manifests
from tests.scenarios.days.diary import Days, Diary
from tests.scenarios.days.manifests import PERCENT_USED, Service

__all__ = ["CONTROLLED", "KARPENTER", "OFF", "POLICIES", "WHEN_EMPTY", "Life", "Policy", "live"]

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
MONDAY = 1_767_571_200.0
"""Midnight, at which every life begins."""
_COUNTED_EVERY_S = 5 * MINUTE


@attrs.frozen(kw_only=True, eq=False)
class Policy:
    """How nodes are taken away."""

    name: str
    disruption: Mapping[str, Any]
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    """Of the pool."""
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    eviction_price: float = 0.0
    """Dollars that it holds the move of a pod to cost."""


_SOON = {"consolidateAfter": "1m", "budgets": [{"nodes": "10%"}]}
_CALMLY = {"disruption_poll_s": MINUTE}
"""While nothing happens that calls for a look, there is one a minute, whatever the policy: days are to pass within minutes."""

OFF = Policy(name="off", disruption={"consolidateAfter": "Never"})
WHEN_EMPTY = Policy(name="WhenEmpty", disruption={"consolidationPolicy": "WhenEmpty", **_SOON})
KARPENTER = Policy(name="Karpenter's rules", disruption={"consolidationPolicy": "WhenEmptyOrUnderutilized", **_SOON})
CONTROLLED = attrs.evolve(
    KARPENTER, name="churn control", annotations={CHURN_CONTROL: "on"}, eviction_price=CHURN_ON.disruption_price
)
POLICIES = (OFF, WHEN_EMPTY, KARPENTER, CONTROLLED)


@attrs.frozen(kw_only=True)
class Life:
    """One cluster. ``size`` 1 has about 200 nodes."""

    size: float = 1.0
    seed: int = 0

    @property
    def web(self) -> tuple[Service, ...]:
        return self._services("web", (0.25, 0.5, 1.0, 1.0, 1.5, 2.5), 80)

    @property
    def rolled(self) -> tuple[Service, ...]:
        """Of these one is rolled out each hour."""
        return self._services("app", (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5), 44)

    def _services(self, name: str, cpus: tuple[float, ...], replicas: int) -> tuple[Service, ...]:
        """A smaller cluster has fewer of them, and each is smaller; every other must not be interrupted."""
        count = max(2, min(len(cpus), round(len(cpus) * math.sqrt(self.size))))
        chosen = [cpus[index * len(cpus) // count] for index in range(count)]
        each = max(2, round(replicas * self.size * len(cpus) / count))
        return tuple(
            Service(
                name=f"{name}-{index}",
                replicas=each,
                cpu=cpu,
                gib=cpu * (2, 4, 4, 8)[index % 4],
                capacity_type=labels.ON_DEMAND if index % 2 else "",
            )
            for index, cpu in enumerate(chosen)
        )

    def objects(self, policy: Policy) -> Iterator[dict[str, Any]]:
        """What there is from the beginning."""
        yield manifests.node_class()
        yield manifests.pool(policy.disruption, policy.annotations)
        for service in (*self.web, *self.rolled):
            yield manifests.namespace(service.name)
            yield manifests.deployment(service)
            yield manifests.budget(service)
        yield from map(manifests.autoscaler, self.web)

    def weather(self) -> Weather:
        """A spot machine is wanted back once in 200 hours, prices go their way, and now and then a zone has no spot for an hour."""
        spot = Where(capacity_type=labels.SPOT)
        return Weather(
            price_walk=PriceWalk(spot, swing=0.2, returns_s=DAY / 2),
            hazards=(Hazard("interruption", per_hour=0.005),),
            shortages=(
                Shortage(attrs.evolve(spot, zone="us-west-2a"), from_s=9 * HOUR, period_s=31 * HOUR, duty=1 / 31),
            ),
        )

    def demand(self, service: Service, at_s: float) -> float:
        """Cores that the pods of a web service use together: few at night, fewer at the weekend, and never quite the same."""
        index = int(service.name.rpartition("-")[2])
        day = math.cos(2 * math.pi * (at_s / DAY - 0.58 - 0.01 * index))
        weekend = 0.75 if at_s % (7 * DAY) >= 5 * DAY else 1.0
        ripple = wandering(1_000 * self.seed + 10 * index, at_s / (20 * MINUTE))
        mean = service.replicas * service.cpu * PERCENT_USED / 100
        return mean * weekend * (1 + 0.5 * day) * (1 + 0.08 * ripple)

    def bursts(self, days: float) -> Iterator[tuple[float, dict[str, Any]]]:
        """Batch jobs and when they come: every half hour or so, of few pods or many, short ones and long ones."""
        dice = random.Random(f"bursts/{self.seed}")
        at, number = 0.0, 0
        while (at := at + dice.uniform(15, 45) * MINUTE) < days * DAY:
            pods = max(1, round(self.size * dice.lognormvariate(3.6, 0.7)))
            runs_s, cpu = dice.uniform(4, 40) * MINUTE, dice.choice((1.0, 1.0, 2.0))
            yield at, manifests.job(f"batch-{number}", pods, cpu, runs_s, dice)
            number += 1


def live(policy: Policy, *, life: Life | None = None, days: float = 7.0, first_s: float = 2 * HOUR) -> Days:
    """Days under a policy. Counted from ``first_s`` on, when everything has come up."""
    life = life or Life()
    world = World(life.seed, (_ec2(),), start=MONDAY - first_s, weather=life.weather())
    diary = Diary(world)
    world.install(
        Operator(
            kube=diary,
            providers=(world.cloud,),
            clock=world.clock,
            log=Silence(),
            settings=Settings(**_CALMLY, **policy.settings),
            on_decision=diary.note,
        )
    )
    for service in life.web:
        world.loads.demand(service.name, _demand(life, service, first_s), namespace=service.name)
    world.apply(life.objects(policy))
    world.run(first_s)
    diary.begin()
    _pass(world, life, diary, days)
    return diary.days(policy.name, policy.eviction_price)


@functools.cache
def _ec2() -> AWSModel:
    """Read once: nothing changes it."""
    return AWSModel()


def _demand(life: Life, service: Service, first_s: float) -> Callable[[float], float]:
    """Pods by the dozen ask at the same moment."""
    return functools.lru_cache(maxsize=1)(lambda at: life.demand(service, at - first_s))


def _pass(world: World, life: Life, diary: Diary, days: float) -> None:
    """Let days pass, with all that happens in them."""
    start, bursts = world.clock.now(), list(life.bursts(days))
    names = [service.name for service in life.rolled]
    steps = round(days * DAY / _COUNTED_EVERY_S)
    for step in range(steps):
        end_s = (step + 1) * _COUNTED_EVERY_S
        hour, into = divmod(step * _COUNTED_EVERY_S, HOUR)
        if not into:
            name = names[int(hour) % len(names)]
            mark = {"spec": {"template": {"metadata": {"annotations": {"rollout": str(hour)}}}}}
            world.api.patch(kinds.DEPLOYMENT, name, mark, name)
        while bursts and bursts[0][0] < end_s:
            at, job = bursts.pop(0)
            world.run(until=start + at)
            world.apply([job])
        world.run(until=start + end_s)
        diary.count_nodes()

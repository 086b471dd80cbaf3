"""What is written down of a cluster while days pass: the bill, who was evicted and why, who waited, what became of each command.

Commands, the claims that they cause and the evictions that follow are told apart by the calls that the autoscaler makes: `Diary` is
the API client that it is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

from karpy.disruption.command import Command
from karpy.disruption.worth import OUTLOOK_S, SWAP_OUTLOOK_S
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.machines import Machine
from karpy.sim.world import World

__all__ = ["Days", "Deed", "Diary", "Shape"]

HOUR = 3600.0
RETURN_S = 6 * HOUR
"""Who is back within so long as what he was has gone from A to B to A."""
UNDONE_S = 900.0
"""A machine that is bought so soon after one like it was given up was better kept."""
INVOLUNTARY = "Involuntary"

Shape = tuple[str, str]
"""Instance type and capacity type of a machine."""


@attrs.define(eq=False)
class Deed:
    """One command and what came of it."""

    at: float
    command: Command
    shapes: tuple[Shape, ...]
    price: float
    """Of the machines that it took away, by the hour, when it did."""
    bought: dict[str, float | None] = attrs.field(factory=dict)
    """The claims that it caused, and what each costs by the hour; None as long as there is no machine."""
    bought_as: set[str] = attrs.field(factory=set)
    """The capacity types of the machines that replace others."""
    evicted: int = 0

    @property
    def reason(self) -> str:
        return self.command.reason.value

    @property
    def is_complete(self) -> bool:
        """Whether all that is to replace something was bought."""
        return len(self.bought) == len(self.command.replacements) and None not in self.bought.values()

    @property
    def saved(self) -> float:
        """Dollars by the hour: as the cloud charges them where something is bought, else by the prices that were known."""
        if not self.bought:
            return self.command.savings
        return self.price - sum(price or 0.0 for price in self.bought.values())

    @property
    def earned(self) -> float:
        """Dollars within the time that what is saved is held to last: longer if another capacity type was bought."""
        is_swap = any(kind not in self.bought_as for _type, kind in self.shapes) if self.bought else False
        return self.saved * (SWAP_OUTLOOK_S if is_swap else OUTLOOK_S) / HOUR


@attrs.frozen(kw_only=True)
class Days:
    """What days cost, and whom."""

    policy: str
    eviction_price: float
    """Dollars that moving a pod is held to cost."""
    cost: float
    evictions: Mapping[str, int]
    """Pods that were told to go, by the reason of the command, or `INVOLUNTARY`."""
    launches: int
    waits: tuple[float, ...]
    """Seconds from the creation of each pod to its node, in order of size."""
    deeds: tuple[Deed, ...]
    returns: tuple[str, ...]
    """Each A to B to A, in words."""
    undone: int
    """Machines given up whose like was bought at once."""
    most_nodes: int
    mean_nodes: float

    @property
    def voluntary(self) -> int:
        return sum(count for reason, count in self.evictions.items() if reason != INVOLUNTARY)

    @property
    def involuntary(self) -> int:
        return self.evictions.get(INVOLUNTARY, 0)

    @property
    def waited(self) -> float:
        """Hours that all pods together waited."""
        return sum(self.waits) / HOUR

    def wait(self, share: float) -> float:
        """So long waited the pod that this share of pods did not outwait."""
        return self.waits[min(int(share * len(self.waits)), len(self.waits) - 1)] if self.waits else 0.0

    @property
    def failed(self) -> int:
        """Commands whose replacements were not to be had."""
        return sum(not deed.is_complete for deed in self.deeds)

    @property
    def rises(self) -> tuple[Deed, ...]:
        """Commands by which the potential rose: what the machines will cost, and what was paid for moving pods."""
        return tuple(
            deed for deed in self.deeds if deed.is_complete and deed.earned <= deed.evicted * self.eviction_price
        )


class Diary:
    """Kept for one world. It is the autoscaler's API client, and passes everything on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._api = world.api
        self._machines: dict[str, Machine] = {}
        """By claim."""
        self._claim_of: dict[str, str] = {}
        """By node."""
        self._deeds: list[Deed] = []
        self._going: dict[str, Deed] = {}
        """By claim."""
        self._expecting: list[Deed] = []
        self._caused_by: dict[str, Deed] = {}
        self._been: dict[str, list[tuple[float, Shape]]] = {}
        """What the predecessors of a claim were, and until when."""
        self._given_up: dict[Shape, list[float]] = {}
        self._created: dict[str, float] = {}
        self._waits: list[float] = []
        self._returns: list[str] = []
        self._undone = 0
        self._evictions: Counter[str] = Counter()
        self._nodes: list[int] = []
        self._spent, self._launched = 0.0, 0
        world.subscribe(kinds.POD, self._hear_of_pod)
        world.cloud.subscribe(self._hear_of_machine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def begin(self) -> None:
        """What was so far does not count."""
        self._spent, self._launched = self._world.cloud.cost(), self._world.cloud.launches
        self._deeds, self._waits, self._returns = [], [], []
        self._undone = 0
        self._evictions.clear()

    # What the autoscaler does

    def note(self, now: float, decision: Any) -> None:
        """A decision that is about to be carried out."""
        if not isinstance(decision, Command):
            return
        machines = [self._machines[claim] for claim in decision.claims if claim in self._machines]
        deed = Deed(now, decision, tuple(map(_shape, machines)), sum(machine.price for machine in machines))
        self._deeds.append(deed)
        self._going.update(dict.fromkeys(decision.claims, deed))
        self._expecting += [deed] * len(decision.replacements)
        if not decision.replacements:
            for shape in deed.shapes:
                self._given_up.setdefault(shape, []).append(now)

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject:
        created = self._api.create(kind, obj, namespace)
        if kind == kinds.NODE_CLAIM:
            now = self._world.clock.now()  # replacements come at once, or not at all
            self._expecting = [deed for deed in self._expecting if deed.at == now]
        if kind == kinds.NODE_CLAIM and self._expecting:
            self._follow(self._expecting.pop(0), created["metadata"]["name"])
        return created

    def evict(self, name: str, namespace: str, *, grace_period_s: int | None = None, uid: str = "") -> None:
        node = self._api.get(kinds.POD, name, namespace)["spec"].get("nodeName", "")
        self._api.evict(name, namespace, grace_period_s=grace_period_s, uid=uid)
        deed = self._going.get(self._claim_of.get(node, ""))
        self._evictions[deed.reason if deed is not None else INVOLUNTARY] += 1
        if deed is not None:
            deed.evicted += 1

    def _follow(self, deed: Deed, claim: str) -> None:
        deed.bought[claim] = None
        self._caused_by[claim] = deed
        been = [(deed.at, shape) for shape in deed.shapes]
        for before in deed.command.claims:
            been += self._been.get(before, ())
        self._been[claim] = [(at, shape) for at, shape in been if at > deed.at - RETURN_S]

    # What happens

    def _hear_of_machine(self, machine: Machine) -> None:
        if machine.claim in self._machines or not machine.is_paid:
            return
        now, shape = machine.created, _shape(machine)
        self._machines[machine.claim] = machine
        self._claim_of[machine.node_name] = machine.claim
        deed = self._caused_by.get(machine.claim)
        if deed is None:
            recent = [at for at in self._given_up.get(shape, ()) if now - at < UNDONE_S]
            self._undone += bool(recent)
            self._given_up[shape] = recent[1:]
            return
        deed.bought[machine.claim] = machine.price
        deed.bought_as.add(machine.offering.capacity_type)
        for at, before in self._been[machine.claim]:
            if before == shape:
                self._returns.append(f"{machine.claim} is {' '.join(shape)} again {(now - at) / 60:.0f} min after")
                break

    def _hear_of_pod(self, event: WatchEvent) -> None:
        metadata = event.object["metadata"]
        uid = metadata["uid"]
        if event.type is EventType.DELETED:
            self._created.pop(uid, None)
        elif event.type is EventType.ADDED:
            self._created[uid] = self._world.clock.now()
        if event.object["spec"].get("nodeName") and uid in self._created:
            self._waits.append(self._world.clock.now() - self._created.pop(uid))

    def count_nodes(self) -> None:
        """Take down how many machines run now."""
        self._nodes.append(sum(machine.is_paid for machine in self._world.cloud.machines))

    # What came of it

    def days(self, policy: str, eviction_price: float) -> Days:
        """Everything so far."""
        cloud = self._world.cloud
        return Days(
            policy=policy,
            eviction_price=eviction_price,
            cost=cloud.cost() - self._spent,
            evictions=dict(sorted(self._evictions.items())),
            launches=cloud.launches - self._launched,
            waits=tuple(sorted(self._waits)),
            deeds=tuple(self._deeds),
            returns=tuple(self._returns),
            undone=self._undone,
            most_nodes=max(self._nodes, default=0),
            mean_nodes=sum(self._nodes) / max(len(self._nodes), 1),
        )


def _shape(machine: Machine) -> Shape:
    return machine.instance_type.name, machine.offering.capacity_type

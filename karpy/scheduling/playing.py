"""Where kube-scheduler will put pods on machines that come up together.

A plan says which pods a machine is for, but kube-scheduler has not read it: it takes the pods in its own order, and puts each where
most is left. So a pod that only one machine suits may find that full of pods that could go anywhere. Here the same is played on
paper: its order of pods, what it requires, and the greater part of how it scores (least and balanced allocation, each once).
"""

from __future__ import annotations

import bisect
import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs

from karpy.objects.pod import Pod
from karpy.resources import CPU, MEMORY
from karpy.scheduling.alike import accepts
from karpy.scheduling.classes import PodClass
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.lots import Lot
from karpy.scheduling.run import Run
from karpy.scheduling.rungs import Rung
from karpy.state.snapshot import NodeView

__all__ = ["Played", "play", "play_in_turn"]

_BEST = 100.0
_ROUNDS = 3
"""How often those who found no place are tried again, since others may have come to where they have to be."""


@attrs.frozen(eq=False)
class Played:
    """Who is where in the end, and who is nowhere."""

    on: Mapping[NodeView, Sequence[Pod]]
    left: Sequence[Pod]


def play(run: Run, views: Iterable[NodeView], in_order: Sequence[Pod]) -> Played:
    """Put the pods of ``run``, which is used up by it, on these of its nodes, in the order of kube-scheduler's queue."""
    board = _Board(run, frozenset(map(id, views)))
    classes = {pod.metadata.uid: pod_class for pod_class in run.classes for pod in pod_class.pods}
    waiting: Sequence[Pod] = [pod for pod in in_order if pod.metadata.uid in classes]
    for _ in range(_ROUNDS):
        left = [pod for pod in waiting if not board.put(pod, classes[pod.metadata.uid])]
        if len(left) == len(waiting) or not left:
            break
        waiting = left
    return Played({node.view: node.pods for node in board.nodes if node.pods}, left if waiting else ())


def play_in_turn(run: Run, views: Iterable[NodeView], in_order: Sequence[Pod]) -> Played:
    """The same for machines that come up one after another: who stands first in the queue, and fits, goes on the next one."""
    wanted = frozenset(map(id, views))
    positions = _positions(run, wanted)
    place_in_queue = {pod.metadata.uid: place for place, pod in enumerate(in_order)}
    classes = run.classes
    lines = [
        deque(sorted(place_in_queue[pod.metadata.uid] for pod in pod_class.pods if pod.metadata.uid in place_in_queue))
        for pod_class in classes
    ]
    for position in positions:
        heads = [(line[0], number) for number, line in enumerate(lines) if line]
        heapq.heapify(heads)
        while heads:
            place, number = heads[0]
            if not _put_on(run, position, in_order[place], classes[number]):
                heapq.heappop(heads)  # nor will those behind it be taken, who are alike
                continue
            lines[number].popleft()
            if lines[number]:
                heapq.heapreplace(heads, (lines[number][0], number))
            else:
                heapq.heappop(heads)
    left = sorted(place for line in lines for place in line)
    nodes = (run.nodes[position] for position in positions)
    return Played({node.view: node.pods for node in nodes if node.pods}, [in_order[place] for place in left])


def _positions(run: Run, wanted: frozenset[int]) -> list[int]:
    """Where, among the nodes of a run, these views are."""
    return [position for position, node in enumerate(run.nodes) if id(node.view) in wanted]


def _put_on(run: Run, position: int, pod: Pod, pod_class: PodClass) -> bool:
    return any(run.open_nodes.keep(position, Lot(pod_class, (pod,)), rung) for rung in run.ladder(pod_class))


class _Machine:
    """A node, and how much of it is free: the mean share of CPU and memory, by which kube-scheduler goes first of all."""

    __slots__ = ("cpu", "memory", "node", "share")

    def __init__(self, node: ExistingNode) -> None:
        self.node = node
        self.cpu = max(node.view.allocatable.get(CPU, 0), 1)
        self.memory = max(node.view.allocatable.get(MEMORY, 0), 1)
        self.share = 0.0
        self.weigh()

    def weigh(self) -> None:
        free = self.node.free
        self.share = free.get(CPU, 0) / self.cpu + free.get(MEMORY, 0) / self.memory

    def score(self, cpu: int, memory: int) -> float:
        """As kube-scheduler scores it for a pod that asks for so much."""
        free = self.node.free
        by_cpu = (free.get(CPU, 0) - cpu) / self.cpu
        by_memory = (free.get(MEMORY, 0) - memory) / self.memory
        return (by_cpu + by_memory - abs(by_cpu - by_memory)) / 2 * _BEST


class _Alike:
    """Machines of one size whose labels and taints are the same but for the hostname: the one with the most free comes first."""

    def __init__(self, machines: Sequence[_Machine]) -> None:
        self.machines = machines
        self.view = machines[0].node.view
        self._out: dict[tuple[int, Rung], set[int]] = {}
        self._order = sorted((-each.share, number) for number, each in enumerate(machines))

    def first(self, lot: Lot, rung: Rung, refused: AbstractSet[ExistingNode]) -> int | None:
        """The number of the first machine that takes such a pod, beside those that have refused it."""
        amounts = lot.pod_class.amounts
        out = self._out.setdefault((id(lot.pod_class), rung), set())
        for _, number in self._order:
            if number in out:
                continue
            node = self.machines[number].node
            free = node.free
            if all(free.get(name, 0) >= amount for name, amount in amounts) and rung.allows_host(node.view.name):
                if node not in refused:
                    return number
            elif not rung.host_affinities:
                out.add(number)  # it only gets fuller, and more of those come there who keep others away
        return None

    def moved(self, number: int) -> None:
        """The machine has taken a pod."""
        machine = self.machines[number]
        self._order.pop(bisect.bisect_left(self._order, (-machine.share, number)))
        machine.weigh()
        bisect.insort(self._order, (-machine.share, number))


class _Board:
    """The machines, sorted so that few of them have to be looked at for a pod."""

    def __init__(self, run: Run, wanted: frozenset[int]) -> None:
        self._run = run
        self.nodes = [run.open_nodes.own(position) for position in _positions(run, wanted)]
        asked = frozenset(
            key
            for pod_class in run.classes
            for rung in run.ladder(pod_class)
            for key in (*rung.keys, *(key for terms in rung.constraints.node_alternatives for key in terms))
        )
        groups: dict[object, list[_Machine]] = {}
        for node in self.nodes:
            machine, view = _Machine(node), node.view
            alike = (machine.cpu, machine.memory, view.taints, *(view.labels.get(key) for key in sorted(asked)))
            groups.setdefault(alike, []).append(machine)
        self._groups = [_Alike(machines) for machines in groups.values()]
        self._open: dict[int, list[tuple[_Alike, list[Rung]]]] = {}

    def put(self, pod: Pod, pod_class: PodClass) -> bool:
        """Put the pod where kube-scheduler would; False when nowhere."""
        lot = Lot(pod_class, (pod,))
        refused: set[ExistingNode] = set()
        while (best := self._best(lot, refused)) is not None:
            group, number, rung = best
            node = group.machines[number].node
            if node.add(lot):
                rung.record_node(node.view)
                group.moved(number)
                return True
            refused.add(node)  # for its ports or disks
        return False

    def _best(self, lot: Lot, refused: AbstractSet[ExistingNode]) -> tuple[_Alike, int, Rung] | None:
        """The machine that scores best for such a pod, of those that take it as far as labels, taints and amounts go."""
        requests = lot.pod_class.requests
        cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
        best, most = None, float("-inf")
        for group, rungs in self._groups_for(lot.pod_class):
            for rung in rungs:
                if not rung.allows_labels(group.view.labels):
                    continue
                number = group.first(lot, rung, refused)
                if number is None:
                    continue
                score = group.machines[number].score(cpu, memory)
                if score > most:
                    best, most = (group, number, rung), score
                break
        return best

    def _groups_for(self, pod_class: PodClass) -> list[tuple[_Alike, list[Rung]]]:
        """The machines whose labels and taints suit the class, and by which alternative of what it asks for."""
        known = self._open.get(id(pod_class))
        if known is None:
            ladder = self._run.ladder(pod_class)
            found = ((g, [rung for rung in ladder if accepts(g.view, rung.constraints)]) for g in self._groups)
            known = self._open[id(pod_class)] = [(group, rungs) for group, rungs in found if rungs]
        return known

"""Answers about one thing in a cluster: why a machine stays or goes, why a pod waits, what a pool's budgets allow."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from karpy.disruption.survey import Survey
from karpy.disruption.verdicts import Chosen
from karpy.errors import InvalidObject
from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_POOL, POD, Kind
from karpy.objects.pod import Pod
from karpy.report.disruption_words import destination
from karpy.report.whys import Answer, NodeAnswer, PodAnswer, PoolAnswer
from karpy.scenarios.situation import Situation
from karpy.scheduling.explain.explanation import Explanation
from karpy.scheduling.plan import Launch, Nomination, Plan
from karpy.state.snapshot import NodeView

__all__ = ["Answers"]

_MOST_NEARBY = 6
_SIMILAR = 0.5
_EXPLAINED = 3
"""For so many pods without a place it is worked out what keeps them out: that takes a while for each."""


class Answers:
    """What can be asked about one situation. What one answer needed is there for the next."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._snapshot = situation.snapshot
        self._survey: Survey = situation.survey()
        self._plan: Plan | None = None

    def about(self, kind: Kind, name: str, namespace: str = "") -> Answer:
        """Why this object is as it is, or what will become of it.

        Raises:
            InvalidObject: there is no such object; the complaint names those with similar names.
        """
        if kind == POD:
            return self._pod(self._find_pod(name, namespace))
        if kind == NODE_POOL:
            return self._pool(name)
        asked = f"{kind.kind.lower()}/{name}"
        view = self._find_view(kind, name)
        if view is None:
            raise self._unknown(asked, kind, name)
        return self._machine(asked, view)

    # Machines

    def _find_view(self, kind: Kind, name: str) -> NodeView | None:
        if kind == NODE_CLAIM:
            return self._snapshot.machine(name)
        views = (view for view in self._snapshot.nodes if view.node is not None and view.node.name == name)
        return next(views, None)

    def _machine(self, asked: str, view: NodeView) -> NodeAnswer:
        survey = self._survey
        verdict = survey.verdict(view.name)
        pods = () if view.is_leaving or not view.is_managed else view.reschedulable_pods
        if isinstance(verdict, Chosen):
            places = {move.pod: destination(verdict.command, move) for move in verdict.command.moves}
            explanations: tuple[Explanation, ...] = ()
        else:
            plan = survey.plan_without(view.name)
            places = {pod.key: _place(plan, pod) for pod in pods}
            homeless = [pod.key for pod in pods if not isinstance(plan.outcome(pod), (Launch, Nomination))]
            explanations = tuple(plan.explain(key) for key in homeless[:_EXPLAINED])
        return NodeAnswer(
            asked=asked,
            judged=survey.judge(view.name),
            verdict=verdict,
            goes=isinstance(verdict, Chosen),
            places={pod.key: places[pod.key] for pod in pods if pod.key in places},
            homeless=explanations,
            allowances=tuple(each for each in survey.allowances if each.pool == view.pool),
        )

    # Pods

    def _find_pod(self, name: str, namespace: str) -> Pod:
        pods = self._pods()
        if namespace:
            found = [pod for pod in pods if pod.key == f"{namespace}/{name}"]
        else:
            named = [pod for pod in pods if pod.metadata.name == name]
            found = [pod for pod in named if pod.metadata.namespace == "default"] or named
        if len(found) > 1:
            keys = ", ".join(f"pod/{pod.key}" for pod in found)
            raise InvalidObject(f"found in {len(found)} namespaces", object_name=f"pod/{name}", accepted=keys)
        if not found:
            asked = f"pod/{namespace}/{name}" if namespace else f"pod/{name}"
            raise self._unknown(asked, POD, name)
        return found[0]

    def _pods(self) -> Iterable[Pod]:
        seen = self._situation.pods
        if seen:
            return seen
        return (*self._snapshot.pending, *(pod for view in self._snapshot.nodes for pod in view.pods))

    def _pod(self, pod: Pod) -> PodAnswer:
        asked = f"pod/{pod.key}"
        node = pod.spec.node_name
        view = self._find_view(NODE, node) if node else None
        machine = self._machine(f"node/{node}", view) if view is not None and not pod.is_terminal else None
        looks = any(pod.key == each.key for each in self._snapshot.to_place)
        return PodAnswer(
            asked=asked,
            pod=pod,
            state=_state(pod, view, is_looked_after=looks),
            explanation=self._planned().explain(pod.key) if looks else None,
            machine=machine,
        )

    def _planned(self) -> Plan:
        if self._plan is None:
            self._plan = self._situation.plan()
        return self._plan

    # Pools

    def _pool(self, name: str) -> PoolAnswer:
        pool = self._snapshot.pool(name)
        if pool is None:
            raise self._unknown(f"nodepool/{name}", NODE_POOL, name)
        members = [view for view in self._snapshot.nodes if view.pool == name and view.is_managed]
        return PoolAnswer(
            asked=f"nodepool/{name}",
            pool=pool,
            at=self._situation.now,
            allowances=tuple(each for each in self._survey.allowances if each.pool == name),
            nodes={view.name: self._survey.verdict(view.name) for view in members},
        )

    # What is there instead

    def _unknown(self, asked: str, kind: Kind, name: str) -> InvalidObject:
        names = self._names()
        here = names[kind]
        elsewhere = [
            f"{other.kind.lower()}/{name}" for other, found in names.items() if other != kind and name in found
        ]
        near = difflib.get_close_matches(name.lower(), sorted(here), _MOST_NEARBY, _SIMILAR)
        shown = [*elsewhere, *(f"{kind.kind.lower()}/{here[each]}" for each in near or sorted(here)[:_MOST_NEARBY])]
        accepted = ", ".join(shown) or f"there is no {kind.kind} at all"
        return InvalidObject("there is no such object in this cluster", object_name=asked, accepted=accepted)

    def _names(self) -> Mapping[Kind, Mapping[str, str]]:
        """Of each kind the names that there are, and how to ask about each."""
        views, pods = self._snapshot.nodes, self._pods()
        return {
            NODE: {view.node.name: view.node.name for view in views if view.node is not None},
            NODE_CLAIM: {view.claim.name: view.claim.name for view in views if view.claim is not None},
            NODE_POOL: {pool.name: pool.name for pool in self._snapshot.pools},
            POD: {pod.metadata.name: pod.key.removeprefix("default/") for pod in pods},
        }


def _place(plan: Plan, pod: Pod) -> str:
    found = plan.outcome(pod)
    if isinstance(found, Nomination):
        return f"node {found.node}"
    if isinstance(found, Launch):
        best = found.instance_types[0]
        return f"a new {best.name} of nodepool {found.pool.name} at ${best.price:.4f}/h"
    return "nowhere" if found is None else f"nowhere: {found.reason}"


def _state(pod: Pod, view: NodeView | None, *, is_looked_after: bool) -> str:
    """What the pod does now, in one sentence."""
    node = pod.spec.node_name
    if pod.is_terminal:
        return f"it has ended ({pod.status.phase})"
    if pod.metadata.is_deleting:
        where = f" on node {node}" if node else ""
        return f"it is being deleted{where}" + (", and will want another place" if is_looked_after else "")
    if node and view is None:
        return f"it is bound to node {node}, which is not there"
    if node and is_looked_after:
        return f"it runs on node {node}, which is going, and looks for another place"
    if node:
        return f"it is on node {node}"
    return "it waits for a node" if is_looked_after else _why_left_alone(pod)


def _why_left_alone(pod: Pod) -> str:
    """Why no node is launched for a pod that is on none."""
    return next(_reasons(pod))


def _reasons(pod: Pod) -> Iterator[str]:
    if pod.is_owned_by_daemon_set:
        yield "it belongs to a DaemonSet: no node is launched for it"
    if pod.is_static:
        yield "it belongs to a kubelet: no node is launched for it"
    if pod.status.nominated_node_name:
        yield f"kube-scheduler makes room for it on node {pod.status.nominated_node_name}"
    scheduled = next((each for each in pod.status.conditions if each.type == "PodScheduled"), None)
    if pod.spec.scheduling_gates or (scheduled is not None and scheduled.reason == "SchedulingGated"):
        yield "it has scheduling gates: nobody looks for a place until they are gone"
    yield f"its scheduler ({pod.spec.scheduler_name or 'default-scheduler'}) has not looked for a node for it yet"

"""DaemonSets: one pod on every node that it may run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.meta import decode
from karpy.objects.node import Node
from karpy.objects.podspec import PodSpec
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.podfacts import available_since, is_deleting, is_finished, is_ready
from karpy.sim.portions import resolve
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads.daemonpods import Site, may_start, may_stay, node_of, pinned, with_tolerations
from karpy.sim.workloads.objects import claim, delete_pod, owners, pod_from, write_status
from karpy.sim.workloads.revisions import CONTROLLER_REVISION, REVISION_LABEL, Revisions, revision_of

__all__ = ["DaemonSets"]

FIRST_BACKOFF_S = 1.0
LONGEST_BACKOFF_S = 900.0
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_OPTIONAL = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")


@attrs.define(eq=False)
class _Look:
    """One look at one DaemonSet."""

    daemon_set: RawObject
    by_node: dict[str, list[RawObject]]
    wanted: Sequence[str]
    revision: str
    now: float

    def available_at(self, pod: RawObject) -> float | None:
        return available_since(pod, float(self.daemon_set["spec"].get("minReadySeconds") or 0))

    def is_available(self, pod: RawObject) -> bool:
        since = self.available_at(pod)
        return since is not None and since <= self.now and not is_deleting(pod)

    def _limit(self, field: str, usual: int) -> int:
        strategy = self.daemon_set["spec"].get("updateStrategy") or {}
        given = (strategy.get("rollingUpdate") or {}).get(field, usual)
        return resolve(given, len(self.wanted), up=True)

    @property
    def surge(self) -> int:
        return self._limit("maxSurge", 0)

    @property
    def unavailable(self) -> int:
        """How many nodes may be without an available pod; one, when neither this nor a surge is allowed."""
        return self._limit("maxUnavailable", 1) or 1

    def pair_on(self, node: str) -> tuple[RawObject | None, RawObject | None]:
        """The old and the new pod on a node, of those that stay."""
        staying = [pod for pod in self.by_node.get(node, []) if not is_deleting(pod) and not is_finished(pod)]
        old = next((pod for pod in staying if revision_of(pod) != self.revision), None)
        return old, next((pod for pod in staying if revision_of(pod) == self.revision), None)

    def surplus_of(self, node: str) -> list[RawObject]:
        """All pods on a node but the oldest one, and a newer one beside it while it surges; finished ones go in any case."""
        pods = sorted(
            self.by_node[node], key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])
        )
        staying = [pod for pod in pods if not is_deleting(pod) and not is_finished(pod)]
        kept = staying[:1]
        if self.surge > 0:
            old, new = self.pair_on(node)
            kept = [pod for pod in (old, new) if pod is not None]
        return [pod for pod in pods if not any(pod is each for each in kept)]


class DaemonSets:
    """The DaemonSet controller. Its pods are bound by kube-scheduler, pinned to their node by affinity."""

    name = "daemonset-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)
        self._revisions = Revisions(kube, cache, kinds.DAEMON_SET)
        self._failures: dict[tuple[str, str], tuple[int, float]] = {}
        self._sites: dict[str, Site] = {}

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.DAEMON_SET, by_name),
            Source(kinds.POD, self._of_pod),
            Source(kinds.NODE, self._of_node),
            Source(CONTROLLER_REVISION, lambda _: ()),
        )

    @staticmethod
    def _of_pod(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "DaemonSet")

    def _of_node(self, event: WatchEvent) -> Sequence[Request]:
        """Every DaemonSet, but only when something changed that decides where they run."""
        name = event.object["metadata"]["name"]
        if event.type is EventType.DELETED:
            self._sites.pop(name, None)
        else:
            node = decode(event.object, Node)
            site = Site(name, node.labels, node.spec.taints)
            if self._sites.get(name) == site:
                return ()
            self._sites[name] = site
        daemon_sets = (each["metadata"] for each in self._cache.all(kinds.DAEMON_SET))
        return tuple(Request(each["name"], each["namespace"]) for each in daemon_sets)

    def reconcile(self, request: Request) -> Result:
        daemon_set = self._cache.get(kinds.DAEMON_SET, request.name, request.namespace)
        if daemon_set is None:
            return DONE
        by_node: dict[str, list[RawObject]] = {}
        pods = claim(self._kube, self._cache, kinds.POD, kinds.DAEMON_SET, daemon_set)
        for pod in pods:
            by_node.setdefault(node_of(pod), []).append(pod)
        revision = self._revisions.current(daemon_set)
        mark = revision.removeprefix(f"{request.name}-")
        spec = decode(with_tolerations(daemon_set["spec"]["template"]["spec"]), PodSpec)
        wanted = [name for name, site in self._sites.items() if may_start(spec, site)]
        look = _Look(daemon_set, by_node, wanted, mark, self._clock.now())
        after = None
        if not is_deleting(daemon_set):
            after = self._keep(look, spec)
            self._update(look)
        self._write_status(look)
        self._revisions.prune(daemon_set, {revision, *(f"{request.name}-{revision_of(pod)}" for pod in pods)})
        times = [since - look.now for pod in pods if (since := look.available_at(pod)) is not None and since > look.now]
        times += [] if after is None else [after]
        return Result(min(times)) if times else DONE

    # Where there should be pods at all

    def _keep(self, look: _Look, spec: PodSpec) -> float | None:
        """Make pods where there should be some, and end finished ones, strays and duplicates; answers when to look again."""
        waits = []
        for name in look.wanted:
            pods = look.by_node.get(name, [])
            failed = [pod for pod in pods if pod["status"].get("phase") == "Failed" and not is_deleting(pod)]
            if failed:
                waits.append(self._end_failed(look, name, failed))
            if not pods:
                self._create(look, name)
        for name, pods in look.by_node.items():
            site = self._sites.get(name)
            stays = site is not None and may_stay(spec, site)
            for pod in look.surplus_of(name) if stays else pods:
                failed = pod["status"].get("phase") == "Failed"  # where it stays, that is for the backoff above
                if not is_deleting(pod) and not (stays and failed):
                    self._end(look, pod)
        return min((wait for wait in waits if wait > 0), default=None)

    def _end_failed(self, look: _Look, node: str, failed: Sequence[RawObject]) -> float:
        """End failed pods, ever later as they keep failing on a node; answers how many seconds are left to wait."""
        key = (look.daemon_set["metadata"]["uid"], node)
        count, since = self._failures.get(key, (0, -LONGEST_BACKOFF_S))
        wait = since + (min(FIRST_BACKOFF_S * 2 ** (count - 1), LONGEST_BACKOFF_S) if count else 0) - look.now
        if wait > 0:
            return wait
        forgotten = look.now - since > 2 * LONGEST_BACKOFF_S
        self._failures[key] = (1 if forgotten else count + 1, look.now)
        for pod in failed:
            whole = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            text = f"Found failed daemon pod {whole} on node {node}, will try to kill it"
            self._recorder.record(kinds.DAEMON_SET, look.daemon_set, WARNING, "FailedDaemonPod", text)
            self._end(look, pod)
        return 0.0

    def _create(self, look: _Look, node: str) -> None:
        daemon_set = look.daemon_set
        metadata, template = daemon_set["metadata"], daemon_set["spec"]["template"]
        generation = (metadata.get("annotations") or {}).get(_TEMPLATE_GENERATION) or metadata.get("generation", 1)
        labels = {REVISION_LABEL: look.revision, "pod-template-generation": str(generation)}
        pod = pod_from(template, kinds.DAEMON_SET, daemon_set, generateName=f"{metadata['name']}-", labels=labels)
        pod["spec"] = pinned(with_tolerations(template["spec"]), node)
        made = self._kube.create(kinds.POD, pod, metadata["namespace"])
        look.by_node.setdefault(node, []).append(made)
        message = f"Created pod: {made['metadata']['name']}"
        self._recorder.record(kinds.DAEMON_SET, daemon_set, NORMAL, "SuccessfulCreate", message)

    def _end(self, look: _Look, pod: RawObject) -> None:
        if delete_pod(self._kube, pod):
            message = f"Deleted pod: {pod['metadata']['name']}"
            self._recorder.record(kinds.DAEMON_SET, look.daemon_set, NORMAL, "SuccessfulDelete", message)

    # A new template

    def _update(self, look: _Look) -> None:
        strategy = look.daemon_set["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        if look.surge > 0:
            self._surge(look)
        else:
            self._replace(look)

    def _replace(self, look: _Look) -> None:
        """End old pods, those that are not available at once and of the others as many as may be missing."""
        missing, idle, candidates = 0, [], []
        for name in look.wanted:
            old, new = look.pair_on(name)
            if old is None and new is not None:
                missing += not look.is_available(new)
            elif old is None or new is not None:
                missing += 1
            elif not look.is_available(old):
                idle.append(old)
            else:
                candidates.append(old)
        for pod in [*idle, *candidates[: max(look.unavailable - missing, 0)]]:
            self._end(look, pod)

    def _surge(self, look: _Look) -> None:
        """Put new pods beside old ones, and end the old when the new are available."""
        beside = 0
        idle: list[str] = []
        candidates: list[str] = []
        for name in look.wanted:
            old, new = look.pair_on(name)
            if old is None:
                continue
            if new is None:
                (candidates if look.is_available(old) else idle).append(name)
            elif look.is_available(new):
                self._end(look, old)
            else:
                beside += 1
        for name in [*idle, *candidates[: max(look.surge - beside, 0)]]:
            self._create(look, name)

    def _write_status(self, look: _Look) -> None:
        daemon_set, goal = look.daemon_set, set(look.wanted)
        current = ready = available = updated = strays = 0
        for name, pods in look.by_node.items():
            running = [pod for pod in pods if not is_finished(pod)]
            if name not in goal:
                strays += bool(running)
            elif running:
                running.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
                current += 1
                ready += any(is_ready(pod) for pod in running)
                available += any(look.is_available(pod) for pod in running)
                updated += any(revision_of(pod) == look.revision for pod in running)
        status: dict[str, Any] = {
            "observedGeneration": daemon_set["metadata"].get("generation", 0),
            "desiredNumberScheduled": len(goal),
            "currentNumberScheduled": current,
            "numberMisscheduled": strays,
            "numberReady": ready,
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": len(goal) - available,
        }
        write_status(self._kube, kinds.DAEMON_SET, daemon_set, status, _OPTIONAL)

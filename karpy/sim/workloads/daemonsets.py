"""DaemonSets: one pod on every node that it may run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from karpy.sim.recorder import NORMAL, Recorder
from karpy.sim.scheduler.selectors import matches_any_term
from karpy.sim.workloads.objects import (
    claim,
    delete_pod,
    is_deleting,
    is_finished,
    is_ready,
    owners,
    pod_from,
    template_hash,
    write_status,
)
from karpy.sim.workloads.rollout import resolve
from karpy.taints import NO_EXECUTE, NO_SCHEDULE, Taint, Toleration

__all__ = ["DaemonSets"]

REVISION_LABEL = "controller-revision-hash"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NODE = "node.kubernetes.io"
_OPTIONAL = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")


def _exists(key: str, effect: str) -> dict[str, str]:
    return {"key": f"{_NODE}/{key}", "operator": "Exists", "effect": effect}


_TOLERATIONS = (
    _exists("not-ready", NO_EXECUTE),
    _exists("unreachable", NO_EXECUTE),
    _exists("disk-pressure", NO_SCHEDULE),
    _exists("memory-pressure", NO_SCHEDULE),
    _exists("pid-pressure", NO_SCHEDULE),
    _exists("unschedulable", NO_SCHEDULE),
)
_ON_HOST_NETWORK = _exists("network-unavailable", NO_SCHEDULE)


@attrs.frozen
class _Site:
    """What matters of a node here."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


class DaemonSets:
    """The DaemonSet controller. Its pods are bound by kube-scheduler, pinned to their node by affinity."""

    name = "daemonset-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)
        self._sites: dict[str, _Site] = {}

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.DAEMON_SET, by_name),
            Source(kinds.POD, self._of_pod),
            Source(kinds.NODE, self._of_node),
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
            site = _Site(name, node.labels, node.spec.taints)
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
        for pod in claim(self._kube, self._cache, kinds.POD, kinds.DAEMON_SET, daemon_set):
            by_node.setdefault(_node_of(pod), []).append(pod)
        template = daemon_set["spec"]["template"]
        revision = template_hash(template)
        spec = decode(_spec_with_tolerations(template["spec"]), PodSpec)
        wanted = [name for name, site in self._sites.items() if _may_start(spec, site)]
        if not is_deleting(daemon_set):
            self._create(daemon_set, [name for name in wanted if name not in by_node], revision)
            self._end_strays(daemon_set, by_node, spec)
            self._update(daemon_set, by_node, revision, len(wanted))
        self._write_status(daemon_set, by_node, wanted, revision)
        return DONE

    def _create(self, daemon_set: RawObject, nodes: Sequence[str], revision: str) -> None:
        metadata, template = daemon_set["metadata"], daemon_set["spec"]["template"]
        labels = {REVISION_LABEL: revision, "pod-template-generation": str(metadata.get("generation", 1))}
        for node in nodes:
            pod = pod_from(template, kinds.DAEMON_SET, daemon_set, generateName=f"{metadata['name']}-", labels=labels)
            pod["spec"] = _pinned(_spec_with_tolerations(template["spec"]), node)
            made = self._kube.create(kinds.POD, pod, metadata["namespace"])
            message = f"Created pod: {made['metadata']['name']}"
            self._recorder.record(kinds.DAEMON_SET, daemon_set, NORMAL, "SuccessfulCreate", message)

    def _end_strays(self, daemon_set: RawObject, by_node: Mapping[str, list[RawObject]], spec: PodSpec) -> None:
        """End finished pods, duplicates, and pods on nodes where they may not stay. Of nodes that are gone, too."""
        for name, pods in by_node.items():
            site = self._sites.get(name)
            stays = site is not None and _may_stay(spec, site)
            keep = next((pod for pod in pods if stays and not is_finished(pod) and not is_deleting(pod)), None)
            for pod in pods:
                if pod is not keep and not is_deleting(pod):
                    self._end(daemon_set, pod)

    def _update(
        self, daemon_set: RawObject, by_node: Mapping[str, list[RawObject]], revision: str, wanted: int
    ) -> None:
        strategy = daemon_set["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        most = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
        pods = [pod for pods in by_node.values() for pod in pods if not is_deleting(pod)]
        outdated = [pod for pod in pods if _revision(pod) != revision]
        if not outdated:
            return
        missing = wanted - sum(1 for pod in pods if is_ready(pod))
        room = max(resolve(most, wanted, up=True), 1) - missing
        for pod in sorted(outdated, key=lambda pod: (is_ready(pod), pod["metadata"]["name"])):
            if not is_ready(pod):
                self._end(daemon_set, pod)
            elif room > 0:
                room -= 1
                self._end(daemon_set, pod)

    def _end(self, daemon_set: RawObject, pod: RawObject) -> None:
        if delete_pod(self._kube, pod):
            message = f"Deleted pod: {pod['metadata']['name']}"
            self._recorder.record(kinds.DAEMON_SET, daemon_set, NORMAL, "SuccessfulDelete", message)

    def _write_status(
        self, daemon_set: RawObject, by_node: Mapping[str, list[RawObject]], wanted: Sequence[str], revision: str
    ) -> None:
        goal = set(wanted)
        current = ready = updated = strays = 0
        for name, pods in by_node.items():
            running = [pod for pod in pods if not is_finished(pod)]
            if name not in goal:
                strays += bool(running)
            elif running:
                current += 1
                ready += is_ready(running[0])
                updated += _revision(running[0]) == revision
        status: dict[str, Any] = {
            "observedGeneration": daemon_set["metadata"].get("generation", 0),
            "desiredNumberScheduled": len(goal),
            "currentNumberScheduled": current,
            "numberMisscheduled": strays,
            "numberReady": ready,
            "updatedNumberScheduled": updated,
            "numberAvailable": ready,
            "numberUnavailable": len(goal) - ready,
        }
        write_status(self._kube, kinds.DAEMON_SET, daemon_set, status, _OPTIONAL)


def _revision(pod: RawObject) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def _spec_with_tolerations(spec: Mapping[str, Any]) -> dict[str, Any]:
    own = list(spec.get("tolerations") or ())
    more = [*_TOLERATIONS, _ON_HOST_NETWORK] if spec.get("hostNetwork") else _TOLERATIONS
    return {**spec, "tolerations": [*own, *(each for each in more if each not in own)]}


def _pinned(spec: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The spec with node affinity for this node alone, in the place of whatever its terms were."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = dict(spec.get("affinity") or {})
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), _REQUIRED: {"nodeSelectorTerms": [here]}}
    return {**spec, "affinity": affinity}


def _node_of(pod: RawObject) -> str:
    """The node that the pod runs on, or that it is pinned to."""
    bound = pod["spec"].get("nodeName")
    if bound:
        return str(bound)
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name":
                return str(field["values"][0])
    return ""


def _may_start(spec: PodSpec, site: _Site) -> bool:
    return _fits(spec, site) and _bears(spec.tolerations, site.taints, (NO_SCHEDULE, NO_EXECUTE))


def _may_stay(spec: PodSpec, site: _Site) -> bool:
    return _fits(spec, site) and _bears(spec.tolerations, site.taints, (NO_EXECUTE,))


def _fits(spec: PodSpec, site: _Site) -> bool:
    if any(site.labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    node = spec.affinity.node_affinity if spec.affinity else None
    if node is None or node.required is None:
        return True
    return matches_any_term(node.required.node_selector_terms, site.name, site.labels)


def _bears(tolerations: Sequence[Toleration], taints: Sequence[Taint], effects: Sequence[str]) -> bool:
    return all(taint.effect not in effects or any(each.tolerates(taint) for each in tolerations) for taint in taints)

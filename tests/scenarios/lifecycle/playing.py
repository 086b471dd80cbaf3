"""Playing a scenario in a world: karpy runs, and what the script did around Karpenter is done around karpy.

The world's own scheduler, kubelets, ReplicaSet and budget controllers stand for the ones beside Karpenter; machines join at once
and nodes are ready 0.3 s later, as they were there.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

from karpy.cli.logs import json_logger
from karpy.clock import format_time
from karpy.cloud.provider import CloudProvider, RepairPolicy
from karpy.metrics import Metric, Unmeasured
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.operator import Operator
from karpy.settings import Settings
from karpy.sim.cloud import Timing
from karpy.sim.processes.process import Surroundings
from karpy.sim.world import World
from tests.scenarios.lifecycle.kwok import NODE_CLASS, Kwok, KwokModel
from tests.scenarios.lifecycle.recording import Recording
from tests.scenarios.lifecycle.tape import Change, Counted, LogLine, Tape, key_of

__all__ = ["AT_ONCE", "NAMESPACE", "Play"]

Json = Mapping[str, Any]

NAMESPACE = "t"
AT_ONCE = Timing(boot=(0.02, 0.02), ready=(0.3, 0.3), terminate=(0.0, 0.0))
_TAPED = (
    *(kinds.NODE_CLAIM, kinds.NODE_POOL, kinds.NODE, kinds.POD, kinds.EVENT, kinds.POD_DISRUPTION_BUDGET),
    *(kinds.NODE_OVERLAY, kinds.CAPACITY_BUFFER),
)
_KINDS = {kind.kind: kind for kind in (*_TAPED, kinds.REPLICA_SET, kinds.POD_TEMPLATE, NODE_CLASS)}
_STOPS_SOON = {"sim.karpy.dev/stop-seconds": "0.4"}
_SICK = "kubelet is sick"


class Play:
    """One run of karpy through one recorded scenario. The verbs are what a script does; `tape` is what came of it."""

    def __init__(self, recording: Recording, *, timing: Timing = AT_ONCE, seed: int = 0) -> None:
        self.recording = recording
        self.world = World(seed, (KwokModel(),), timing=timing)
        self.api = self.world.api
        self._settings = _settings(recording)
        self.world.cloud.repair_policies = _REPAIRS
        self._tape = Tape(recording.tape.scenario)
        self._heard: list[tuple[int, Change]] = []
        self._repeated: Counter[str] = Counter()
        self.waited_for: list[str] = []
        """What the script waited for in vain."""
        self._listen()
        self.world.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        (self._process,) = self.world.start(self._program)
        self.run(1)

    @property
    def tape(self) -> Tape:
        """What came of it so far."""
        self._tape.changes[:] = [change for _revision, change in sorted(self._heard, key=lambda heard: heard[0])]
        return self._tape

    def _program(self, surroundings: Surroundings) -> Operator:
        return Operator(
            kube=surroundings.kube,
            providers=[cast("CloudProvider", Kwok(cloud, self.api)) for cloud in surroundings.providers],
            clock=surroundings.clock,
            settings=self._settings,
            on_decision=surroundings.on_decision,
            log=json_logger(_TapedLog(self._tape.log), "debug", clock=surroundings.clock),
            metrics=_TapedMetrics(self._tape),
        )

    def _listen(self) -> None:
        objects: dict[tuple[str, str], Json] = {}

        def hear(event: WatchEvent) -> None:
            obj: Any = event.object
            key = (event.kind.kind, key_of(obj))
            before = objects.pop(key, None)
            revision = int(obj["metadata"]["resourceVersion"])
            if event.type is EventType.DELETED:
                change = Change(self.world.clock.now(), *key, obj, None)
            else:
                objects[key] = obj
                change = Change(self.world.clock.now(), *key, before, obj)
            self._heard.append((revision, change))

        for kind in _TAPED:
            self.world.subscribe(kind, hear)

    # What the user does

    def apply(self, *names: str, spec: Json | None = None) -> None:
        """Create the recorded objects of these names (``Kind/name``) as the user sent them, but for fields of ``spec``."""
        for name in names:
            kind, _, key = name.partition("/")
            obj = next(obj for obj in self.recording.applied if obj["kind"] == kind and obj["metadata"]["name"] == key)
            changed = {**obj, "spec": {**obj["spec"], **spec}} if spec else obj
            self.world.apply([self._ending_soon(changed)])

    def _ending_soon(self, obj: Json) -> Json:
        """Pods end as fast as the script's kubelet ended them."""
        if obj["kind"] == "ReplicaSet":
            template = {**obj["spec"]["template"], "metadata": self._marks(obj["metadata"]["name"], obj)}
            return {**obj, "spec": {**obj["spec"], "template": template}}
        if obj["kind"] == "Pod":
            annotations = {**(obj["metadata"].get("annotations") or {}), **_STOPS_SOON}
            return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
        return obj

    def _marks(self, name: str, replica_set: Json) -> Json:
        """The labels and annotations of a ReplicaSet's pods. What is recorded of it lacks some that its pods have."""
        first = next((change.object for change in self.recording.tape.of("Pod") if f"/{name}-0" in change.key), {})
        metadata = {**replica_set["spec"]["template"]["metadata"], **first.get("metadata", {})}
        annotations = {**(metadata.get("annotations") or {}), **_STOPS_SOON}
        return {"labels": metadata["labels"], "annotations": annotations}

    def remove(self, name: str) -> None:
        """Have a ReplicaSet's pods gone at once."""
        self.patch(f"ReplicaSet/{name}", {"spec": {"replicas": 0}})
        for pod in self.pods(name):
            self.api.delete(kinds.POD, pod["metadata"]["name"], NAMESPACE, grace_period_s=0)

    def patch(self, name: str, patch: Json, *, subresource: str = "") -> None:
        kind, key = _split(name)
        self.api.patch(kind, key, patch, _space(kind), subresource=subresource)

    def repeat(self, name: str) -> None:
        """Change an object's spec as the user did it the next time in the recording."""
        kind, _, key = name.partition("/")
        patch = self.recording.by_user(kind, key)[self._repeated[name]].patch
        self._repeated[name] += 1
        self.patch(name, {"spec": patch["spec"]})

    def delete(self, *names: str) -> None:
        for name in names:
            kind, key = _split(name)
            self.api.delete(kind, key, _space(kind))

    # What happens around karpy

    def report(self, node: str, status: str) -> None:
        """Have a node's kubelet, or who watches over it, report on it as the script did: True, False or Unknown."""
        reason, message = {
            "True": ("KubeletReady", "kubelet is posting ready status"),
            "False": ("KubeletNotReady", _SICK),
            "Unknown": ("NodeStatusUnknown", _SICK),
        }[status]
        at = format_time(self.world.clock.now())
        said = {"type": "Ready", "status": status, "reason": reason, "message": message}
        ready = {**said, "lastHeartbeatTime": at, "lastTransitionTime": at}
        others = [each for each in self.node(node)["status"]["conditions"] if each["type"] != "Ready"]
        self.patch(f"Node/{node}", {"status": {"conditions": [*others, ready]}}, subresource="status")

    def restart(self) -> None:
        """Karpenter is stopped and started; what it counted is gone."""
        self._process.crash()
        if self._tape.counted is not None:
            self._tape.counted.clear()

    # Time

    def run(self, seconds: float) -> None:
        self.world.run(seconds)

    def until(self, what: str, holds: Callable[[], bool], timeout_s: float = 60.0) -> None:
        """Let time pass until something holds; a script that waits in vain says so and goes on."""
        if not self.world.run_until(holds, timeout_s):
            self.waited_for.append(what)

    # What there is

    def objects(self, kind: Kind) -> list[Json]:
        return list(self.api.list(kind).items)

    def node(self, name: str) -> Json:
        return self.api.get(kinds.NODE, name)

    def nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.objects(kinds.NODE)]

    def claims(self) -> list[str]:
        return [claim["metadata"]["name"] for claim in self.objects(kinds.NODE_CLAIM)]

    def pods(self, owner: str = "") -> list[Json]:
        """The pods of a ReplicaSet, or all."""
        pods = self.objects(kinds.POD)
        return [pod for pod in pods if not owner or _owner(pod) == owner]

    def node_with(self, owner: str) -> str:
        """The node of a ReplicaSet's first pod."""
        return str(self.pods(owner)[0]["spec"]["nodeName"])

    def claim_of(self, node: str) -> str:
        """The claim of a node."""
        found = (each for each in self.objects(kinds.NODE_CLAIM) if each.get("status", {}).get("nodeName") == node)
        return str(next(found)["metadata"]["name"])

    def all_run(self) -> bool:
        """Whether there are pods, and all of them run."""
        pods = self.pods()
        return bool(pods) and all(pod["status"].get("phase") == "Running" for pod in pods)

    def all_initialized(self) -> bool:
        """Whether there are claims, and all of them are initialised."""
        claims = self.objects(kinds.NODE_CLAIM)
        return bool(claims) and all(_is_initialized(claim) for claim in claims)


class _TapedMetrics(Unmeasured):
    """A sink that keeps what is counted."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None:
        if amount and self._tape.counted is not None:
            self._tape.counted.append(Counted(metric.name, labels))


_SHORTENED: Mapping[str, float] = {"registration_timeout_s": 20.0, "launch_timeout_s": 15.0}
"""Some recordings are of a build with shorter time-outs."""
_REPAIRS = tuple(RepairPolicy("Ready", status, 10.0) for status in ("False", "Unknown"))
"""The only recording in which nodes are repaired is of that build."""


def _settings(recording: Recording) -> Settings:
    """What Karpenter was started with."""
    header = recording.header
    times: dict[str, Any] = {}
    if header["environment"]:
        assert header["environment"] == {"BATCH_MAX_DURATION": "3s", "BATCH_IDLE_DURATION": "500ms"}
        times = {"batch_max_duration_s": 3.0, "batch_idle_duration_s": 0.5}
    if header["karpenter"] != "as released":
        times |= _SHORTENED
    return Settings(**times).with_feature_gates(recording.gates)


class _TapedLog(io.StringIO):
    """Where karpy's own log is written to, line by line."""

    def __init__(self, lines: list[LogLine]) -> None:
        super().__init__()
        self._lines = lines

    def write(self, text: str) -> int:
        self._lines.extend(LogLine.of(json.loads(line)) for line in text.splitlines())
        return len(text)


def _split(name: str) -> tuple[Kind, str]:
    kind, _, key = name.partition("/")
    return _KINDS[kind], key


def _space(kind: Kind) -> str:
    return NAMESPACE if kind.namespaced else ""


def _owner(pod: Json) -> str | None:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner["name"] for owner in owners), None)


def _is_initialized(claim: Json) -> bool:
    conditions = (claim.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Initialized" and each["status"] == "True" for each in conditions)

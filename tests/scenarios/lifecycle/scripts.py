"""What the script did in each scenario, and when.

Where it waited for something that Karpenter did, so does this; where it just let time pass, so does this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from karpy.objects import kinds
from karpy.sim.cloud import Timing
from tests.scenarios.lifecycle.comparing import differences
from tests.scenarios.lifecycle.kwok import NODE_CLASS, NOT_READY
from tests.scenarios.lifecycle.playing import AT_ONCE, NAMESPACE, Play
from tests.scenarios.lifecycle.recording import Recording

__all__ = ["SCRIPTS", "Script", "compare"]


@attrs.frozen(kw_only=True)
class Script:
    """``timing``: how the machines behave, where it is not as everywhere else."""

    play: Callable[[Play], None]
    timing: Timing = AT_ONCE


def compare(recording: Recording, script: Script, known: frozenset[tuple[str, str]]) -> list[str]:
    """What karpy does otherwise in the scenario; that the script waited in vain is a difference, too."""
    play = Play(recording, timing=script.timing)
    script.play(play)
    if recording.tape.counted is None:
        play.tape.counted = None
    in_vain = [f"! Script: waited in vain for {what}" for what in play.waited_for]
    return [*differences(recording.tape, play.tape, known), *in_vain]


def _pools(play: Play, *names: str) -> None:
    play.apply("KWOKNodeClass/default")
    play.run(2)
    play.apply(*(f"NodePool/{name}" for name in names or ("default",)))


def _settled(play: Play, *names: str) -> None:
    """These exist, all pods run, and all nodes are initialised."""
    play.apply(*names)
    play.until("pods and nodes", lambda: play.all_run() and play.all_initialized())
    play.run(0.3)


def scale_up(play: Play) -> None:
    _pools(play)
    play.run(2)
    _settled(play, "ReplicaSet/plain", "ReplicaSet/spread")
    play.run(5)


def empty(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/a")
    play.remove("a")
    play.until("the nodes to go", lambda: not play.nodes())
    play.run(1)


def consolidate(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/filler", "ReplicaSet/small")
    nodes = play.nodes()
    play.remove("filler")
    play.run(0.5)
    play.remove("small")
    _place(play, "loose", nodes, {"cpu": "300m", "memory": "256Mi"})
    play.until("one node", lambda: len(play.nodes()) == 1, 90)
    play.run(1)


def _place(play: Play, name: str, nodes: list[str], requests: Mapping[str, str]) -> None:
    """Pods of a ReplicaSet that are on a node each from the beginning."""
    pod: Mapping[str, Any] = {
        "metadata": {"labels": {"rs": name}},
        "spec": {"containers": [{"name": "main", "image": "image", "resources": {"requests": requests}}]},
    }
    for number, node in enumerate(nodes):
        metadata = {**pod["metadata"], "name": f"{name}-{number}", "namespace": NAMESPACE}
        spec = {**pod["spec"], "nodeName": node}
        play.world.apply([{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}])
    play.apply(f"ReplicaSet/{name}", spec={"replicas": len(nodes), "template": pod})


def single(play: Play) -> None:
    small = _replace_big(play)
    play.apply("Pod/poke", spec={"nodeName": small})
    play.until("one node", lambda: len(play.nodes()) == 1, 90)
    play.run(1)


def single_stall(play: Play) -> None:
    _replace_big(play)
    play.run(60)


def _replace_big(play: Play) -> str:
    """A node too big is replaced by a small one, whose name this returns; then another is nearly empty."""
    _pools(play)
    _settled(play, "ReplicaSet/big", "ReplicaSet/s")
    big = play.node_with("s")
    play.remove("big")
    play.until("a replacement", lambda: big not in play.nodes())
    (small,) = play.nodes()
    _settled(play, "ReplicaSet/m")
    play.apply("ReplicaSet/m2")
    play.run(1)
    play.remove("m")
    play.run(26)
    return small


def drift(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/d")

    def change_and_wait() -> None:
        before = set(play.nodes())
        play.repeat("NodePool/default")
        play.until("other nodes", lambda: before.isdisjoint(play.nodes()), 120)

    change_and_wait()
    play.repeat("NodePool/default")
    play.run(3)
    change_and_wait()
    play.run(0.1)


def expire(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/dnd", "ReplicaSet/slow")
    before = set(play.nodes())
    play.until("other nodes", lambda: before.isdisjoint(play.nodes()))
    play.repeat("NodePool/default")
    play.run(4)


def deletes(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/p", "ReplicaSet/q", "ReplicaSet/r")
    play.apply("PodDisruptionBudget/p")
    play.run(0.1)
    node = play.node_with("p")
    play.delete(f"Node/{node}")
    play.run(14)
    play.patch("PodDisruptionBudget/p", {"spec": {"maxUnavailable": 1}})
    play.until("the node to go", lambda: node not in play.nodes() and play.all_run())
    play.delete("PodDisruptionBudget/p")
    node = play.node_with("q")
    play.delete(f"NodeClaim/{play.claim_of(node)}")
    play.until("the node to go", lambda: node not in play.nodes() and play.all_run())
    play.delete("NodePool/default")
    play.run(8)


def never_registers(play: Play) -> None:
    _pools(play)
    play.apply("ReplicaSet/a")
    play.run(63)


def launch_fails(play: Play) -> None:
    _pools(play)
    play.run(2)
    manual = ("noclass", "notype", "norequirement", "good", "otherkind")
    play.apply(*(f"NodeClaim/manual-{name}" for name in manual))
    play.run(30)
    play.patch("KWOKNodeClass/default", {"metadata": {"annotations": {NOT_READY: "Broken: class is broken"}}})
    play.run(0.1)
    play.apply("ReplicaSet/a")
    play.run(5)


def startup(play: Play) -> None:
    _pools(play)
    play.apply("ReplicaSet/a")
    play.run(9.6)
    (node,) = play.nodes()
    taints = [taint for taint in play.node(node)["spec"]["taints"] if taint["key"] != "example.com/starting"]
    play.patch(f"Node/{node}", {"spec": {"taints": taints}})
    play.run(0.1)
    play.report(node, "False")
    play.run(3)
    play.report(node, "True")
    play.patch(f"Node/{node}", {"metadata": {"labels": {"team": "zzz"}}})
    protect = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
    play.patch(f"NodeClaim/{play.claim_of(node)}", protect)
    play.run(4)
    play.apply("ReplicaSet/b")
    play.run(4)


def pending(play: Play) -> None:
    play.apply("Pod/no-pool")
    play.run(4)
    play.delete("Pod/no-pool")
    play.apply("KWOKNodeClass/default", "NodePool/missing-class", "Pod/class-missing")
    play.run(5)
    play.delete("Pod/class-missing")
    play.apply("KWOKNodeClass/broken")
    play.apply(*(f"NodePool/{name}" for name in ("broken-class", "limited", "tainted", "other-group")))
    play.run(2)
    hopeless = ("too-big", "no-such-zone", "unknown-label", "windows", "gpu", "bad-affinity", "restricted-label")
    limited = ("hostname", "fits-limit", "over-limit", "spread-unknown-key", "affine-to-none", "no-pvc")
    ignored = ("metadata-name", "tolerant-nowhere", "nodepool-hash", "gated", "other-scheduler")
    play.apply(*(f"Pod/{name}" for name in (*hopeless, *limited, *ignored)))
    play.run(20)
    play.repeat("NodePool/limited")
    play.apply("KWOKNodeClass/not-there")
    play.run(14)
    play.delete(*(f"NodePool/{pool['metadata']['name']}" for pool in play.objects(kinds.NODE_POOL)))
    play.apply("Pod/after-all")
    play.run(5)


def static(play: Play) -> None:
    _pools(play, "static")
    play.until("two nodes", lambda: len(play.nodes()) == 2 and play.all_initialized())
    play.run(2)
    play.repeat("NodePool/static")
    play.until("three nodes", lambda: len(play.nodes()) == 3 and play.all_initialized())
    play.repeat("NodePool/static")
    play.run(4)
    play.repeat("NodePool/static")
    play.until("one node", lambda: len(play.nodes()) == 1)
    (node,) = play.nodes()
    play.run(2)
    play.repeat("NodePool/static")
    play.until("another node", lambda: node not in play.nodes())
    play.repeat("NodePool/static")
    play.until("the nodes to go", lambda: not play.nodes())


def overlay_and_buffer(play: Play) -> None:
    _pools(play)
    play.apply(*(f"NodeOverlay/{name}" for name in ("cheap", "gpu", "conflict-a", "conflict-b", "bad")))
    play.run(5)
    play.apply("ReplicaSet/a", "ReplicaSet/dev")
    play.run(17)
    play.apply("PodTemplate/chunk")
    buffers = ("good", "no-template", "no-deployment", "limits", "replicaset", "strategy", "zero")
    play.apply(*(f"CapacityBuffer/{name}" for name in buffers))
    play.run(14)
    play.repeat("CapacityBuffer/good")
    play.apply("PodTemplate/not-there")
    play.run(8)
    play.delete("NodeOverlay/conflict-b")
    play.run(5)


def repair(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/a")
    sick, *others = play.nodes()
    play.report(sick, "False")
    play.until("the repair", lambda: sick not in play.nodes())
    for node in others[:3]:
        play.report(node, "Unknown")
    play.run(15)


def blocked(play: Play) -> None:
    _pools(play, "closed", "closed-drift", "open")
    _settled(
        play,
        *(f"ReplicaSet/{name}" for name in ("closed", "closed-drift", "dnd-pod", "with-pdb", "dnd-node")),
        "Pod/bare",
    )
    play.apply("PodDisruptionBudget/with-pdb")
    _protect_node(play)
    play.remove("closed")
    for pool in ("closed", "closed-drift", "open"):
        play.repeat(f"NodePool/{pool}")
    play.run(30)
    play.repeat("NodePool/closed")
    play.run(25)


def blocked_texts(play: Play) -> None:
    _pools(play, "open", "never", "whenempty")
    sets = ("dnd-pod", "one-pdb", "two-pdbs", "dnd-node", "dnd-claim", "plain", "never", "whenempty")
    _settled(play, *(f"ReplicaSet/{name}" for name in sets))
    play.apply(*(f"PodDisruptionBudget/{name}" for name in ("one", "two-a", "two-b")))
    _protect_node(play)
    claim = play.claim_of(play.node_with("dnd-claim"))
    play.patch(f"NodeClaim/{claim}", {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}})
    play.restart()
    play.run(28)
    play.repeat("NodePool/open")
    play.run(25)


def _protect_node(play: Play) -> None:
    annotations = {"karpenter.sh/do-not-disrupt": "true"}
    play.patch(f"Node/{play.node_with('dnd-node')}", {"metadata": {"annotations": annotations}})


def node_vanishes(play: Play) -> None:
    _pools(play)
    _settled(play, "ReplicaSet/a")
    (node,) = play.nodes()
    (claim,) = play.claims()
    play.patch(f"Node/{node}", {"metadata": {"finalizers": None}})
    play.delete(f"Node/{node}")
    play.world.cloud.vanish(f"kwok://{node}")
    play.until("the claim to go", lambda: claim not in play.claims(), 180)
    _join(play, "stray", {"karpenter.sh/nodepool": "default"})
    _join(play, "unmanaged", {})
    play.run(6)
    play.restart()
    play.run(10)


def _join(play: Play, name: str, node_labels: Mapping[str, str]) -> None:
    """A node of a machine that no claim asked for. Pods stay away from it."""
    node_class = next(obj for obj in play.recording.applied if obj["kind"] == NODE_CLASS.kind)
    play.world.cloud.add_machine("c-2x-amd64-linux", "test-zone-a", node_class, name)
    play.until(f"the node {name}", lambda: name in play.nodes())
    play.patch(f"Node/{name}", {"metadata": {"labels": node_labels}, "spec": {"unschedulable": True}})


SCRIPTS: Mapping[str, Script] = {
    "01-scale-up": Script(play=scale_up),
    "02-empty": Script(play=empty),
    "03-consolidate": Script(play=consolidate),
    "03b-single": Script(play=single),
    "03c-single-stall": Script(play=single_stall),
    "04-drift": Script(play=drift),
    "05-expire": Script(play=expire),
    "06-deletes": Script(play=deletes),
    "07-never-registers": Script(play=never_registers, timing=attrs.evolve(AT_ONCE, boot=(600.0, 600.0))),
    "07b-launch-fails": Script(play=launch_fails),
    "08-startup": Script(play=startup, timing=attrs.evolve(AT_ONCE, ready=(5.0, 5.0))),
    "09-pending": Script(play=pending),
    "11a-static": Script(play=static),
    "11b-overlay-buffer": Script(play=overlay_and_buffer),
    "12-repair": Script(play=repair),
    "13-blocked": Script(play=blocked),
    "13b-blocked-texts": Script(play=blocked_texts),
    "14-node-vanishes": Script(play=node_vanishes),
}

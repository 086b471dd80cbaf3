"""A cluster of plain objects, and what its pools could buy as far as the installed clouds know without being asked.

Instance types and prices are those of the clouds' models: one region of each, with dated list prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.cloud.registry import load_provider
from karpy.cloud.routing import Clouds
from karpy.kube.client import RawObject
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.objects.pod import Pod
from karpy.scenarios.situation import Situation, gate_notes
from karpy.settings import Settings
from karpy.state.catalogs import evaluate_overlays, with_catalog
from karpy.state.snapshot import Snapshot

__all__ = ["offline_clouds", "situation_in"]


def offline_clouds() -> Clouds:
    """The installed clouds, none of which is talked to."""
    return Clouds([load_provider("sim")])


def situation_in(
    snapshot: Snapshot,
    clouds: Clouds,
    *,
    name: str,
    now: float,
    settings: Settings | None = None,
    pods: tuple[Pod, ...] = (),
    assume_classes: bool = False,
) -> Situation:
    """What to decide about in this cluster. Pools that nothing can be launched from are left out, and the notes say why.

    With ``assume_classes`` a pool may do without its node class, which is then taken to be as it should.
    """
    settings = settings or Settings()
    notes: list[str] = []
    classes: dict[NodeClassRef, RawObject] = dict(snapshot.node_classes)
    pools = tuple(pool for pool in snapshot.pools if _is_usable(pool, classes, clouds, notes, assume=assume_classes))
    if not snapshot.pools:
        notes.append("there is no NodePool: nothing can be launched")
    cluster = attrs.evolve(snapshot, pools=pools, node_classes=classes)
    completed, catalog = with_catalog(cluster, clouds, settings)
    verdicts = evaluate_overlays(completed, clouds).verdicts
    return Situation(
        name=name,
        snapshot=completed,
        catalog=catalog,
        now=now,
        settings=settings,
        notes=(*notes, *gate_notes(snapshot, settings, verdicts)),
        pods=pods,
    )


def _is_usable(
    pool: NodePool, classes: dict[NodeClassRef, RawObject], clouds: Clouds, notes: list[str], *, assume: bool
) -> bool:
    """Whether a node class that a cloud serves stands behind the pool; adds the class that is assumed, and the note about it."""
    ref = pool.node_class
    who, what = f"{pool.origin.kind} {pool.name!r}", _words(ref)
    provider = clouds.serving(ref)
    if provider is None:
        known = ", ".join(sorted({f"{kind.kind}.{kind.group}" for kind in clouds.kinds}))
        notes.append(f"{who} is left out: no installed cloud serves its node class {what} (known kinds: {known})")
        return False
    if ref not in classes:
        if not assume:
            notes.append(f"{who} is left out: its node class {what} does not exist")
            return False
        classes[ref] = _empty(ref)
        notes.append(f"{who}: its node class {what} is not among the files, and is taken to be ready")
        return True
    status = provider.resolve(classes[ref])
    if not status.ready:
        notes.append(f"{who} is left out: its node class {what} is not ready: {status.message or status.reason}")
    return status.ready


def _words(ref: NodeClassRef) -> str:
    group = f".{ref.group}" if ref.group else ""
    return f"{ref.kind or 'of no kind'}{group} {ref.name!r}"


def _empty(ref: NodeClassRef) -> Mapping[str, Any]:
    return {"apiVersion": f"{ref.group}/v1", "kind": ref.kind, "metadata": {"name": ref.name}, "spec": {}}

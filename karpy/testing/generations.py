"""The same pool as users of each generation of the API write it."""

from __future__ import annotations

import random
from typing import Any

from karpy.objects.kinds import NODE_POOL, PROVISIONER
from karpy.objects.nodepool import WHEN_EMPTY, WHEN_UNDERUTILIZED

__all__ = ["GENERATIONS", "as_written", "draw_generation"]

Json = dict[str, Any]

GENERATIONS = ("v1", "v1beta1", "v1alpha5")
_CHANCES = (8, 1, 1)


def draw_generation(seed: int) -> str:
    """Mostly the newest."""
    return random.Random(f"generation/{seed}").choices(GENERATIONS, _CHANCES)[0]


def as_written(pool: Json, generation: str) -> Json:
    """A NodePool of v1 as its user would have written it in ``generation``."""
    if generation == "v1beta1":
        return _beta(pool)
    return _provisioner(pool) if generation == "v1alpha5" else pool


def _beta(pool: Json) -> Json:
    """Nodes that are not empty were consolidated at once: there was no waiting for them."""
    spec = pool["spec"]
    ref = spec["template"]["spec"]["nodeClassRef"]
    old_ref = {"apiVersion": f"{ref['group']}/v1", "kind": ref["kind"], "name": ref["name"]}
    disruption = dict(spec["disruption"])
    if disruption["consolidationPolicy"] != WHEN_EMPTY:
        disruption["consolidationPolicy"] = WHEN_UNDERUTILIZED
        del disruption["consolidateAfter"]
    template = {"spec": {**spec["template"]["spec"], "nodeClassRef": old_ref}}
    return {
        **pool,
        "apiVersion": f"{NODE_POOL.group}/v1beta1",
        "spec": {**spec, "template": template, "disruption": disruption},
    }


def _provisioner(pool: Json) -> Json:
    """Without budgets; a node that is empty goes after a while, unless consolidation is on, which does that too."""
    spec = pool["spec"]
    template = spec["template"]["spec"]
    ref = template["nodeClassRef"]
    made: Json = {
        "providerRef": {"apiVersion": f"{ref['group']}/v1", "kind": ref["kind"], "name": ref["name"]},
        "requirements": template["requirements"],
        "weight": spec["weight"],
    }
    if "limits" in spec:
        made["limits"] = {"resources": spec["limits"]}
    if spec["disruption"]["consolidationPolicy"] == WHEN_EMPTY:
        made["ttlSecondsAfterEmpty"] = 30
    else:
        made["consolidation"] = {"enabled": True}
    return {"apiVersion": PROVISIONER.api_version, "kind": PROVISIONER.kind, "metadata": pool["metadata"], "spec": made}

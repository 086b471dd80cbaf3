"""What a pod finds that comes after all those of a plan."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.objects.pod import Pod
from karpy.scheduling.aftermath import Aftermath
from karpy.scheduling.afterwards import place_after, standing_after
from karpy.scheduling.plan import Launch, Nomination
from karpy.testing import make_instance_type, make_node, make_nodepool, make_pod
from tests.judge import plan_of

FOUR = [make_instance_type("four", cpu="4")]


def aftermath(*objects: Any) -> Aftermath:
    found = plan_of(*objects, types=FOUR).aftermath
    assert found is not None
    return found


def late(cpu: str, **fields: Any) -> Pod:
    return Pod.from_dict(make_pod("late", requests={"cpu": cpu}, **fields))


def test_nodes_are_as_full_as_the_plan_makes_them() -> None:
    left = aftermath(make_node("n", room={"cpu": "4", "pods": "9"}), make_pod(requests={"cpu": "3"}))
    found = place_after(left, late("1"))
    assert isinstance(found, Nomination)
    assert found.node == "n"
    assert place_after(left, late("2")) is None


def test_planned_machines_can_be_joined_and_stay_as_they_were() -> None:
    left = aftermath(make_nodepool(limits={"nodes": 1}), make_pod(requests={"cpu": "3"}))
    for _time in range(2):
        found = place_after(left, late("1"))
        assert isinstance(found, Launch)
        assert found.pods == ("default/pod", "default/late")
    assert place_after(left, late("2")) is None


def test_what_the_plan_took_of_a_limit_is_gone() -> None:
    left = aftermath(make_nodepool(limits={"cpu": "9"}), make_pod(requests={"cpu": "3"}))
    assert isinstance(place_after(left, late("3")), Launch)
    assert dict(left.remaining["default"] or {}) == {"cpu": 5000}
    assert place_after(attrs.evolve(left, remaining={"default": {"cpu": 2000}}), late("3")) is None


@pytest.mark.parametrize("planned", [True, False], ids=["on a planned machine", "on a node"])
def test_pods_of_the_plan_count_where_they_went(planned: bool) -> None:
    term = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    where = [make_nodepool(requirements=[{"key": labels.ZONE, "operator": "In", "values": ["zone-a"]}])]
    if not planned:
        where.append(make_node("n", labels={labels.ZONE: "zone-a"}, room={"cpu": "1", "pods": "1"}))
    left = aftermath(*where, make_pod(labels={"app": "x"}, spec=apart))
    assert place_after(left, late("1")) is not None
    assert place_after(left, late("1", labels={"app": "x"})) is None
    assert place_after(left, late("1", labels={"app": "x"}), kept_away=False) is not None


def test_pods_that_move_are_counted_once() -> None:
    """The pod leaves a node that is being deleted: it counts where it goes to, not where it was."""
    leaving = make_node("old", labels={labels.ZONE: "zone-a"}, metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"})
    other = make_node("new", labels={labels.ZONE: "zone-b"}, room={"cpu": "4", "pods": "9"})
    left = aftermath(leaving, other, make_pod(node="old", requests={"cpu": "1"}))
    assert [(view.name, [pod.key for pod in view.pods]) for view in left.snapshot.nodes] == [
        ("new", ["default/pod"]),
        ("old", []),
    ]


def test_a_pod_that_is_not_looked_at_has_no_standing() -> None:
    left = aftermath(make_nodepool())
    assert standing_after(left, late("1", spec={"nodeSelector": {"karpenter.sh/x": "y"}})) is None
    standing = standing_after(left, late("1"))
    assert standing is not None
    assert [template.pool.name for template in standing.templates] == ["default"]

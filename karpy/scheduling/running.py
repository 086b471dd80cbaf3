"""The pods that run already, as the terms of other pods see them: by namespace and labels, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy.objects.pod import Pod, PodGroup
from karpy.state.snapshot import NodeView

__all__ = ["Running", "running"]


@attrs.frozen(eq=False)
class Running:
    """What runs on one node: how many pods of each group, and the pods that keep others away."""

    view: NodeView
    groups: Mapping[PodGroup, int]
    keeping_apart: Sequence[Pod]


def running(views: Iterable[NodeView], moving: Iterable[Pod]) -> Iterator[Running]:
    """What runs on each node, but for the pods that are about to be placed elsewhere."""
    bound = [pod for pod in moving if pod.spec.node_name]
    nodes, uids = {pod.spec.node_name for pod in bound}, {pod.metadata.uid for pod in bound}
    for view in views:
        if view.node is None or view.node.name not in nodes:
            yield Running(view, view.pod_groups, view.keeping_apart)
            continue
        staying = (pod for pod in view.pods if pod.is_active and pod.metadata.uid not in uids)
        apart = [pod for pod in view.keeping_apart if pod.metadata.uid not in uids]
        yield Running(view, Counter(pod.group for pod in staying), apart)

"""The requirements that EC2's webhook once added to Provisioners which left something open.

Karpenter 0.25 added all of them; 0.5.3 knew no instance categories and kept a list of families instead, for which the
category rule stands in here. Since v1beta1 nothing is added: a NodePool means what it says.
"""

from __future__ import annotations

from typing import Final

from karpy import labels as core
from karpy.objects.kinds import PROVISIONER
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels

__all__ = ["default_requirements"]

_DEFAULTS: Final = (
    Requirement.in_(core.OS, "linux"),
    Requirement.in_(core.ARCH, "amd64"),
    Requirement.in_(core.CAPACITY_TYPE, core.ON_DEMAND),
)
_GENERAL_PURPOSE: Final = (
    Requirement.in_(labels.INSTANCE_CATEGORY, "c", "m", "r"),
    Requirement.at_least(labels.INSTANCE_GENERATION, 3),
)
_CHOOSING: Final = frozenset(
    {core.INSTANCE_TYPE, labels.INSTANCE_FAMILY, labels.INSTANCE_CATEGORY, labels.INSTANCE_GENERATION}
)
"""A pool that names one of these has chosen its types itself."""


def default_requirements(pool: NodePool) -> Requirements:
    """What is added to ``pool``: for a Provisioner the defaults of its day, for a NodePool nothing.

    Keys that the pool's labels fix count as named too, so that a default never contradicts them.
    """
    if pool.origin != PROVISIONER:
        return Requirements()
    named = pool.requirements.keys() | pool.labels.keys()
    added = [default for default in _DEFAULTS if default.key not in named]
    if not named & _CHOOSING:
        added.extend(_GENERAL_PURPOSE)
    return Requirements(added)

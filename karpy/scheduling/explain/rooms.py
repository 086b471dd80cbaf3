"""How much of a resource a pod could have somewhere: the only amounts at which the answer can change."""

from __future__ import annotations

from karpy.scheduling.afterwards import standing_after
from karpy.scheduling.explain.case import Case

__all__ = ["rooms"]


def rooms(case: Case, name: str) -> set[int]:
    """The different amounts of ``name`` that are free on nodes, on planned machines and on new ones."""
    standing = standing_after(case.asked, case.pod)
    if standing is None:
        return set()
    found = {node.free.get(name, 0) for node in standing.nodes}
    for template in standing.templates:
        for group in template.groups:
            taken = group.overhead.get(name, 0)
            found |= {amount - taken for amount in template.columns.rooms(name, group.mask)}
    for claim in standing.claims:
        template, held = claim.shape.template, claim.amounts.get(name, 0)
        for group in template.groups:
            taken = group.overhead.get(name, 0) + held
            found |= {amount - taken for amount in template.columns.rooms(name, group.mask & claim.mask)}
    return found

"""Answers to "why?": what is known of one thing in the cluster, as values for reports."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from karpy.disruption.budgets import Allowance
from karpy.disruption.survey import Judgement
from karpy.disruption.verdicts import Verdict
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.scheduling.explain.explanation import Explanation

__all__ = ["Answer", "NodeAnswer", "PodAnswer", "PoolAnswer"]


@attrs.frozen(kw_only=True, eq=False)
class NodeAnswer:
    """Why a machine stays or goes. ``asked`` is what it was asked about as, such as ``node/web-1``.

    ``places`` says where each pod goes by the command that takes the machine away, or would go if it alone were gone; ``homeless``
    explains those that would have no place. ``allowances`` are what its pool's budgets allow now.
    """

    asked: str
    judged: Judgement
    verdict: Verdict
    goes: bool
    places: Mapping[str, str]
    homeless: tuple[Explanation, ...] = ()
    allowances: tuple[Allowance, ...] = ()


@attrs.frozen(kw_only=True, eq=False)
class PodAnswer:
    """Why a pod waits, or where it is. ``state`` says in a sentence what it does now.

    ``explanation`` is there for a pod that looks for a place; ``machine`` for one that has one.
    """

    asked: str
    pod: Pod
    state: str
    explanation: Explanation | None = None
    machine: NodeAnswer | None = None


@attrs.frozen(kw_only=True, eq=False)
class PoolAnswer:
    """How many nodes of a pool may go at ``at``, by its budgets, and which stay for what reasons."""

    asked: str
    pool: NodePool
    at: float
    allowances: tuple[Allowance, ...]
    nodes: Mapping[str, Verdict]


Answer = NodeAnswer | PodAnswer | PoolAnswer

"""What the schemas of NodePool and NodeClaim demand beyond types and patterns: rules in CEL, which the API server checks.

They refuse at the door what would be no use; what else a pool may not ask for, karpy tells in the pool's conditions.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BUDGETS", "CLAIM_SPEC", "POOL_CLASS", "POOL_SPEC", "REQUIREMENTS", "RULES", "key_rules", "label_rules"]

RULES = "x-kubernetes-validations"

Rules = list[dict[str, Any]]


def _rules(*pairs: tuple[str, str]) -> Rules:
    return [{"message": message, "rule": rule} for rule, message in pairs]


_OWN_DOMAIN = "({0}.find('^([^/]+)') == 'karpenter.sh' || {0}.find('^([^/]+)').endsWith('.karpenter.sh'))"
_NOT_RESERVED = f"{{0}} in [{{1}}] || !{_OWN_DOMAIN}"
_CAPACITY_TYPE, _NODEPOOL = "'karpenter.sh/capacity-type'", "'karpenter.sh/nodepool'"
# What karpy itself puts on the claims of a Provisioner: its name, and that it is its own node class.
_PROVISIONER = "'karpenter.sh/provisioner-name', 'karpenter.sh/provisioner'"


def key_rules(*, pool: bool) -> Rules:
    """Of the key of a requirement. A claim may name the pool that it is of, a pool may not."""
    allowed = [_CAPACITY_TYPE, _NODEPOOL] if pool else [_CAPACITY_TYPE, _NODEPOOL, _PROVISIONER]
    rules = [
        (
            _NOT_RESERVED.format("self", ", ".join(allowed)),
            'labels of "karpenter.sh" are reserved, but for the capacity type',
        ),
        ("self != 'kubernetes.io/hostname'", 'label "kubernetes.io/hostname" is restricted'),
    ]
    if pool:
        rules.append((f"self != {_NODEPOOL}", 'label "karpenter.sh/nodepool" is restricted'))
    return _rules(*rules)


def label_rules() -> Rules:
    """Of the labels of a pool's template."""
    return _rules(
        (
            f"self.all(x, {_NOT_RESERVED.format('x', f'{_CAPACITY_TYPE}, {_NODEPOOL}')})",
            'labels of "karpenter.sh" are reserved, but for the capacity type',
        ),
        (f"self.all(x, x != {_NODEPOOL})", 'label "karpenter.sh/nodepool" is restricted'),
        ("self.all(x, x != 'kubernetes.io/hostname')", 'label "kubernetes.io/hostname" is restricted'),
    )


_IS_BOUND = "x.operator in ['Gt', 'Lt', 'Gte', 'Lte']"
_ONE_INTEGER = "has(x.values) && x.values.size() == 1 && x.values[0].matches('^[0-9]{1,18}$')"

REQUIREMENTS = _rules(
    (
        "self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() != 0))",
        "requirements with operator 'In' need values",
    ),
    (
        f"self.all(x, !({_IS_BOUND}) || ({_ONE_INTEGER}))",
        "requirements with operator 'Gt', 'Lt', 'Gte' or 'Lte' need a single integer, 0 or more",
    ),
    (
        "self.all(x, x.operator != 'In' || !has(x.minValues) || !has(x.values) || x.values.size() >= x.minValues)",
        "requirements with 'minValues' and operator 'In' need at least as many values",
    ),
)

BUDGETS = _rules(
    ("self.all(x, has(x.schedule) == has(x.duration))", "'schedule' and 'duration' must be set together"),
)

POOL_CLASS = _rules(
    ("!has(oldSelf.group) || self.group == oldSelf.group", "nodeClassRef.group cannot be changed"),
    ("!has(oldSelf.kind) || self.kind == oldSelf.kind", "nodeClassRef.kind cannot be changed"),
)

POOL_SPEC = _rules(
    (
        "has(self.replicas) == has(oldSelf.replicas)",
        "a pool with a fixed number of nodes cannot become one that follows its pods, nor the other way round",
    ),
    ("!has(self.replicas) || !has(self.weight)", "'weight' has no meaning beside 'replicas'"),
    (
        "!has(self.replicas) || !has(self.limits) || self.limits.all(x, x == 'nodes')",
        "only the limit 'nodes' is allowed beside 'replicas'",
    ),
)

CLAIM_SPEC = _rules(("self == oldSelf", "spec cannot be changed"))

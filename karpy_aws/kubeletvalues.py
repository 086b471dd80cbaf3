"""A kubelet block made concrete for one instance type: its expressions replaced by what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from karpy.errors import InvalidObject
from karpy_aws.kubeletcel import EvaluationError, ExpressionError, compile_expression
from karpy_aws.kubeletrules import is_expression
from karpy_aws.objects.kubelet import Kubelet

__all__ = ["ConcreteKubelet", "TypeFacts", "concrete_kubelet"]

_MOST_PODS: Final = 2**31 - 1
_STEPS: Final = {"cpu": 10, "memory": 16}
_UNITS: Final = {"cpu": "m", "memory": "Mi", "ephemeral-storage": "Gi", "pid": ""}


@attrs.frozen(kw_only=True)
class TypeFacts:
    """What expressions may ask about an instance type.

    ``max_pods`` is how many pods it has when the block says nothing: by its network addresses, or what the family takes.
    """

    instance_type: str
    vcpus: int
    memory_mib: int
    default_enis: int
    ips_per_eni: int
    max_pods: int

    def variables(self) -> dict[str, int | str]:
        return attrs.asdict(self)


@attrs.frozen
class ConcreteKubelet:
    """``block`` has no expressions; its ``max_pods`` is a number, or None when the instance type decides.

    ``problems`` name the reserved amounts that have no value, for which the family's defaults stand in.
    """

    block: Kubelet
    problems: tuple[str, ...] = ()

    @property
    def max_pods(self) -> int | None:
        return self.block.max_pods if isinstance(self.block.max_pods, int) else None


def concrete_kubelet(kubelet: Kubelet | None, facts: TypeFacts, *, expressions: bool) -> ConcreteKubelet:
    """What the block means on one instance type.

    With ``expressions`` off those in it count as not said; the node class is not ready then, but its nodes must be
    understood. The number of pods comes first: reserved amounts may refer to it.

    Raises:
        InvalidObject: ``maxPods`` has no value on this type.
    """
    if kubelet is None:
        return ConcreteKubelet(Kubelet({}))
    raw = dict(kubelet.raw)
    if isinstance(kubelet.max_pods, str):
        del raw["maxPods"]
        if expressions:
            raw["maxPods"] = _pods(kubelet.max_pods, facts)
    variables = facts.variables()
    variables["max_pods"] = raw["maxPods"] if isinstance(raw.get("maxPods"), int) else facts.max_pods
    problems: list[str] = []
    for field, entries in (("kubeReserved", kubelet.kube_reserved), ("systemReserved", kubelet.system_reserved)):
        if entries is not None:
            raw[field] = _reserved(field, entries, variables if expressions else None, problems)
    return ConcreteKubelet(Kubelet.from_dict(raw), tuple(problems))


def _pods(expression: str, facts: TypeFacts) -> int:
    accepted = f"an expression that gives 0 to {_MOST_PODS}"
    try:
        pods = compile_expression(expression).value(facts.variables())
    except (ExpressionError, EvaluationError) as error:
        problem = f"{expression!r} for {facts.instance_type}: {error}"
        raise InvalidObject(problem, path="spec.kubelet.maxPods", accepted=accepted) from None
    if not 0 <= pods <= _MOST_PODS:
        problem = f"{expression!r} gives {pods} for {facts.instance_type}"
        raise InvalidObject(problem, path="spec.kubelet.maxPods", accepted=accepted)
    return pods


def _reserved(
    field: str, entries: Mapping[str, str], variables: Mapping[str, Any] | None, problems: list[str]
) -> dict[str, str]:
    """The entries with amounts only. Those that have none are left out and told in ``problems``."""
    found: dict[str, str] = {}
    for name, written in entries.items():
        if not is_expression(field, written):
            found[name] = written
        elif variables is not None:
            try:
                found[name] = _amount(name, compile_expression(written).value(variables))
            except (ExpressionError, EvaluationError) as error:
                where = f"spec.kubelet.{field}[{name}]"
                problems.append(f"{where}: {written!r} for {variables['instance_type']}: {error}")
    return found


def _amount(name: str, value: int) -> str:
    """In the unit of its resource, and in steps, so that types that differ little share a launch template.

    >>> _amount("cpu", 672), _amount("memory", 8362)
    ('680m', '8368Mi')
    """
    if value < 0:
        raise EvaluationError(f"it gives {value}, which is negative")
    step = _STEPS.get(name, 1)
    return f"{-(-value // step) * step}{_UNITS.get(name, '')}"

"""Whether a node class may be launched from, as far as its kubelet block goes: the reason and message of its condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from karpy.errors import InvalidObject
from karpy_aws.kubeletcel import ExpressionError, compile_expression
from karpy_aws.kubeletrules import expressions_in, kubelet_violations, unsupported_fields
from karpy_aws.kubeletvalues import TypeFacts, concrete_kubelet
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.schemacheck import Violation

__all__ = [
    "DISABLED",
    "EVALUATION_FAILED",
    "EXPRESSION_INVALID",
    "INVALID",
    "UNSUPPORTED",
    "KubeletFinding",
    "check_kubelet",
]

INVALID: Final = "InvalidKubeletConfiguration"
UNSUPPORTED: Final = "UnsupportedKubeletConfiguration"
DISABLED: Final = "KubeletExpressionsDisabled"
EXPRESSION_INVALID: Final = "KubeletExpressionInvalid"
EVALUATION_FAILED: Final = "KubeletExpressionEvaluationFailed"


@attrs.frozen
class KubeletFinding:
    """Why a class cannot be launched from. With ``waits`` nothing is wrong yet: instance types are not known."""

    reason: str
    message: str
    waits: bool = False


def check_kubelet(
    node_class: NodeClass, *, expressions: bool, types: Iterable[TypeFacts] = ()
) -> KubeletFinding | None:
    """The first thing that keeps the class from being ready; None when there is nothing.

    ``expressions`` is the feature gate NodeClassCEL. ``types`` are all that the class may come to run on.
    """
    kubelet = node_class.kubelet
    if kubelet is None:
        return None
    for reason, found in (
        (INVALID, kubelet_violations(kubelet.raw)),
        (UNSUPPORTED, unsupported_fields(kubelet, node_class.ami_family)),
    ):
        if found:
            return KubeletFinding(reason, "; ".join(_told(violation) for violation in found))
    written = expressions_in(kubelet.raw)
    return _check_expressions(kubelet, written, types, expressions=expressions) if written else None


def _check_expressions(
    kubelet: Kubelet, written: Mapping[str, str], types: Iterable[TypeFacts], *, expressions: bool
) -> KubeletFinding | None:
    if not expressions:
        return KubeletFinding(DISABLED, f"{', '.join(written)}: expressions need the feature gate NodeClassCEL")
    for path, source in written.items():
        try:
            compile_expression(source)
        except ExpressionError as error:
            return KubeletFinding(EXPRESSION_INVALID, f"{path}: {source!r}: {error}")
    known = list(types)
    if not known:
        return KubeletFinding(EVALUATION_FAILED, "the instance types are not known yet", waits=True)
    for facts in known:
        try:
            problems = concrete_kubelet(kubelet, facts, expressions=True).problems
        except InvalidObject as error:
            return KubeletFinding(EVALUATION_FAILED, str(error))
        if problems:
            return KubeletFinding(EVALUATION_FAILED, problems[0])
    return None


def _told(violation: Violation) -> str:
    return str(violation.error())

"""Numbers that depend on the instance type, as expressions in CEL: ``min(110, vcpus * 8)``.

The part of the `Common Expression Language <https://cel.dev>`_ that such numbers need: whole numbers and doubles (which do not
mix), text, truth values and lists of them; arithmetic, comparison, logic, ``? :``, ``in``, conversions, a few questions about
text, and ``min`` and ``max``. Types are checked before anything is computed, so that a mistake shows for all instance types.
Left out on purpose is ``matches``: a pattern can be written that takes Python's regular expressions years.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from karpy_aws.celmeaning import DOUBLE, INT, STRING, EvaluationError, ExpressionError, Values
from karpy_aws.celparser import parse

__all__ = ["VARIABLES", "EvaluationError", "Expression", "ExpressionError", "compile_expression"]

VARIABLES: Final[Mapping[str, str]] = {
    "vcpus": INT,
    "memory_mib": INT,
    "default_enis": INT,
    "ips_per_eni": INT,
    "max_pods": INT,
    "instance_type": STRING,
}

_MOST_CHARACTERS: Final = 2_000


@attrs.frozen
class Expression:
    """A checked expression; its value is a number."""

    source: str
    _run: Callable[[Values], Any]

    def value(self, values: Values) -> int:
        """The value for one instance type, without its fraction. ``values`` has all `VARIABLES`.

        Raises:
            EvaluationError: saying why there is none.

        >>> compile_expression("min(50, max_pods)").value({"max_pods": 29})
        29
        """
        result = self._run(values)
        if isinstance(result, float) and not math.isfinite(result):
            raise EvaluationError("the result is not finite")
        return int(result)


@functools.lru_cache(maxsize=1024)
def compile_expression(source: str) -> Expression:
    """Read and check an expression.

    Raises:
        ExpressionError: naming the place and what is wrong there.
    """
    if len(source) > _MOST_CHARACTERS:
        raise ExpressionError(f"it has {len(source)} characters (accepted: at most {_MOST_CHARACTERS})")
    node = parse(source, VARIABLES)
    if node.type not in (INT, DOUBLE):
        raise ExpressionError(f"it gives a {node.type} (accepted: an int or a double)")
    return Expression(source, node.run)

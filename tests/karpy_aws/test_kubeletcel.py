"""Expressions: what they come to, what is wrong with them, and that the public CEL engine computes the same."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpy_aws.kubeletcel import EvaluationError, ExpressionError, compile_expression

VALUES: dict[str, int | str] = {
    "vcpus": 8,
    "memory_mib": 32_768,
    "default_enis": 4,
    "ips_per_eni": 15,
    "max_pods": 58,
    "instance_type": "m5.2xlarge",
}


def value(source: str) -> int:
    return compile_expression(source).value(VALUES)


@pytest.mark.aws("AWS-055", "AWS-059")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("default_enis * (ips_per_eni - 1) + 2", 58),
        ("min(50, max_pods)", 50),
        ("max(8, memory_mib / 1024)", 32),
        ("min(1.5, 2.5)", 1),
        ("instance_type.startsWith('t3') ? 4 : 50", 50),
        ("instance_type in ['m5.large', \"m5.2xlarge\"] ? 10 : 20", 10),
        ("int(double(memory_mib) / 100.0)", 327),
        ("60.0 + double(vcpus) * 2.5", 80),
        ("10.9", 10),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("1 + 2 * 3 - 4", 3),
        ("(1 + 2) * 3", 9),
        ("-(-vcpus)", 8),
        ("vcpus > 4 && !(max_pods <= 10) ? 1 : 2", 1),
        ("vcpus == 8 ? vcpus != 8 ? 1 : 2 : 3", 2),
        ("'a' + 'b' == 'ab' ? size(instance_type) : 0", 10),
        ("instance_type.endsWith('xlarge') && instance_type.contains('.2') ? 1 : 0", 1),
        ("0x10 + 1", 17),
        ("true || 1 / 0 > 1 ? 1 : 0", 1),
        ("1 / 0 > 1 || true ? 1 : 0", 1),
        ("1 / 0 > 1 && false ? 1 : 0", 0),
        ("-9223372036854775808 + 1", -(2**63) + 1),
        ("1" + "+1" * 120, 121),
        ("-" * 240 + "1", 1),
    ],
)
def test_what_an_expression_comes_to(source: str, expected: int) -> None:
    assert value(source) == expected


@pytest.mark.aws("AWS-055")
@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", "at character 1: found 'the end'"),
        ("vcpus *", "at character 8: found 'the end'"),
        ("vcpus vcpus", "at character 7: found 'vcpus'"),
        ("vcpus # 2", "at character 7: '#' has no meaning here"),
        ("nope + 1", "at character 1: 'nope' is not known .accepted: vcpus, memory_mib"),
        ("vcpus > 2", "it gives a bool .accepted: an int or a double"),
        ("instance_type", "it gives a string"),
        ("vcpus * 2.5", "found int . double .accepted: int . int or double . double"),
        ("vcpus > 2.5 ? 1 : 2", "found int > double .accepted: two values of one type"),
        ("min(1, 2.5)", "accepted: min.int, int. or min.double, double."),
        ("round(1.5)", "accepted: .*contains.*max.*min"),
        ("instance_type.size", "at character 19: found 'the end' .accepted: '.'"),
        ("vcpus ? 1 : 2", "found int . int : int"),
        ("!vcpus ? 1 : 2", "found !int"),
        ("vcpus && true ? 1 : 2", "found int && bool"),
        ("1 in [] ? 1 : 2", "a list has no items"),
        ("'x' in [1] ? 1 : 2", "found string in list of int"),
        ("9223372036854775808", "does not fit 64 bits"),
        ("'a\\q' == 'a' ? 1 : 2", "escape .q is not known"),
        ("(" * 60 + "1" + ")" * 60, "nested too deeply"),
        ("1" + " + 1" * 600, "it has 2401 characters"),
        ("1" + "+1" * 600, "it has 1202 parts"),
        ("-" * 600 + "1", "it has 602 parts"),
    ],
)
def test_what_has_no_meaning(source: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=told):
        compile_expression(source)


@pytest.mark.aws("AWS-056")
@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("vcpus / 0", "division by zero"),
        ("vcpus % (vcpus - 8)", "division by zero"),
        ("1.0 / 0.0", "not finite"),
        ("0.0 / 0.0", "not finite"),
        ("int(1.0 / 0.0)", "not finite"),
        ("9223372036854775807 + vcpus", "64 bits"),
        ("-9223372036854775808 / -1", "64 bits"),
        ("1 / 0 > 1 || false ? 1 : 0", "division by zero"),
    ],
)
def test_what_has_no_value(source: str, told: str) -> None:
    with pytest.raises(EvaluationError, match=told):
        value(source)


INTS, DOUBLES, BOOLS, STRINGS = "int", "double", "bool", "string"


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def expressions(of: str, depth: int = 3) -> st.SearchStrategy[str]:
    """Well-typed expressions of a type, in full brackets."""
    leaves = {
        INTS: st.one_of(st.sampled_from(["vcpus", "max_pods"]), st.integers(0, 2**62).map(str)),
        DOUBLES: st.sampled_from(["0.5", "2.0", "1e3", "0.0"]),
        BOOLS: st.sampled_from(["true", "false"]),
        STRINGS: st.sampled_from(["instance_type", "'m5'", '"a\\"b"']),
    }
    if depth == 0:
        return leaves[of]
    ints, doubles, bools, strings = (expressions(kind, depth - 1) for kind in (INTS, DOUBLES, BOOLS, STRINGS))
    same = expressions(of, depth - 1)
    relations = st.sampled_from([" < ", " <= ", " > ", " >= ", " == ", " != "])
    signs = st.sampled_from([" + ", " - ", " * ", " / "])
    compound = {
        INTS: [
            joined("(", ints, st.one_of(signs, st.just(" % ")), ints, ")"),
            joined("(-", ints, ")"),
            joined("int(", doubles, ")"),
        ],
        DOUBLES: [joined("(", doubles, signs, doubles, ")"), joined("double(", ints, ")")],
        BOOLS: [
            joined("(", bools, st.sampled_from([" && ", " || "]), bools, ")"),
            joined("!", bools),
            joined("(", ints, relations, ints, ")"),
            joined("(", strings, relations, strings, ")"),
            joined("(", ints, " in [", ints, ", ", ints, "])"),
            joined(strings, ".startsWith(", strings, ")"),
        ],
        STRINGS: [joined("(", strings, " + ", strings, ")")],
    }
    choice = joined("(", bools, " ? ", same, " : ", same, ")")
    return st.one_of(leaves[of], *compound[of], choice)


def recomputed(source: str) -> Any:
    """What the public engine computes; None where it has no value."""
    engine = importlib.import_module("cel")
    try:
        return engine.evaluate(source, dict(VALUES))
    except (ArithmeticError, ValueError, RuntimeError, TypeError):
        return None


@settings(deadline=None)  # the first use of the engine loads it
@given(st.one_of(expressions(INTS), expressions(DOUBLES)))
def test_the_public_engine_computes_the_same(source: str) -> None:
    pytest.importorskip("cel", reason="needs the package common-expression-language")
    expected = recomputed(source)
    try:
        found: float | None = value(source)
    except EvaluationError:
        found = None
    if isinstance(expected, float):
        expected = int(expected) if math.isfinite(expected) else None
    assert found == expected

"""Label and field selectors of list and watch calls, as predicates over JSON objects."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.rules.validation import quoted, wrong_label_key, wrong_label_value

__all__ = ["field_selector", "fields_of", "label_selector", "matches_label_selector", "selector_text"]

Object = Mapping[str, Any]
Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]
ObjectPredicate = Callable[[Object], bool]

_TOKEN = re.compile(r"\s*(!=|==|[=!<>(),]|[^\s=!<>(),]+)")


def label_selector(text: str) -> Predicate | None:
    """The predicate over labels that ``text`` asks for; None when it selects everything.

    Raises:
        KubeError: 400, the text is not a selector.
    """
    return _parse_labels(text) if text.strip() else None


@functools.lru_cache(maxsize=4096)
def _parse_labels(text: str) -> Predicate:
    tokens = _TOKEN.findall(text)
    tests: list[Predicate] = []
    at = 0
    while at < len(tokens):
        test, at = _requirement(tokens, at)
        tests.append(test)
        if at < len(tokens):
            if tokens[at] != ",":
                raise _unparsable(f"found '{tokens[at]}', expected: ',' or 'end of string'")
            at += 1
            if at == len(tokens):
                raise _unparsable("found '', expected: identifier after ','")
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _unparsable(why: str) -> KubeError:
    return status.bad_request(f"unable to parse requirement: {why}")


def _requirement(tokens: Sequence[str], at: int) -> tuple[Predicate, int]:
    if tokens[at] == "!":
        if at + 1 == len(tokens):
            raise _unparsable("found '', expected: identifier")
        _check_key(tokens[at + 1])
        return _absent(tokens[at + 1]), at + 2
    key = tokens[at]
    if key in "=!=<>(),":
        raise _unparsable(f"found '{key}', expected: !, identifier, or 'end of string'")
    _check_key(key)
    operator = tokens[at + 1] if at + 1 < len(tokens) else ","
    if operator == ",":
        return (lambda labels: key in labels), at + 1
    if operator in ("=", "==", "!="):
        value, after = (tokens[at + 2], at + 3) if at + 2 < len(tokens) and tokens[at + 2] != "," else ("", at + 2)
        _check_values(key, (value,))
        return (_not_in(key, (value,)) if operator == "!=" else _equals(key, value)), after
    if operator in ("<", ">"):
        return _compare(key, operator, tokens[at + 2] if at + 2 < len(tokens) else ""), at + 3
    if operator in ("in", "notin"):
        values, after = _values(tokens, at + 2)
        _check_values(key, values)
        return (_in(key, values) if operator == "in" else _not_in(key, values)), after
    raise _unparsable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _check_key(key: str) -> None:
    wrong = wrong_label_key(key)
    if wrong:
        raise _unparsable(f"key: Invalid value: {quoted(key)}: {wrong}")


def _check_values(key: str, values: Sequence[str]) -> None:
    for i, value in enumerate(values):
        wrong = wrong_label_value(value)
        if wrong:
            raise _unparsable(f"values[{i}][{key}]: Invalid value: {quoted(value)}: {wrong}")


def _values(tokens: Sequence[str], at: int) -> tuple[tuple[str, ...], int]:
    if at >= len(tokens) or tokens[at] != "(":
        raise _unparsable(f"found '{tokens[at] if at < len(tokens) else ''}' expected: '('")
    values: list[str] = []
    at += 1
    while at < len(tokens) and tokens[at] != ")":
        if tokens[at] != ",":
            if values and tokens[at - 1] != ",":
                raise _unparsable(f"found '{tokens[at]}', expected: ',' or ')'")
            values.append(tokens[at])
        at += 1
    if at == len(tokens):
        expected = "',' or ')'" if tokens[at - 1] not in ",(" else "',', ')' or identifier"
        raise _unparsable(f"found '', expected: {expected}")
    if tokens[at - 1] == "(":
        raise _unparsable("values: Invalid value: []string{}: for 'in', 'notin' operators, values set can't be empty")
    return tuple(values) or ("",), at + 1


def _absent(key: str) -> Predicate:
    return lambda labels: key not in labels


def _equals(key: str, value: str) -> Predicate:
    return lambda labels: labels.get(key) == value


def _in(key: str, values: Sequence[str]) -> Predicate:
    return lambda labels: labels.get(key) in values


def _not_in(key: str, values: Sequence[str]) -> Predicate:
    return lambda labels: labels.get(key) not in values


def _compare(key: str, operator: str, value: str) -> Predicate:
    try:
        bound = int(value)
    except ValueError:
        raise _unparsable(
            f"values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
        ) from None

    def test(labels: Labels) -> bool:
        try:
            found = int(labels[key])
        except (KeyError, ValueError):
            return False
        return found > bound if operator == ">" else found < bound

    return test


def matches_label_selector(selector: Object | None, labels: Labels) -> bool:
    """Whether a ``LabelSelector`` object selects ``labels``; None selects nothing, an empty one everything."""
    return selector_test(selector)(labels)


def selector_test(selector: Object | None) -> Callable[[Labels], bool]:
    """`matches_label_selector` for those who ask about many objects."""
    if selector is None:
        return lambda _labels: False
    wanted = (selector.get("matchLabels") or {}).items()
    expressions = selector.get("matchExpressions")
    if not expressions:
        return lambda labels: wanted <= labels.items()
    return lambda labels: (
        wanted <= labels.items() and all(_matches_expression(expression, labels) for expression in expressions)
    )


def _matches_expression(expression: Object, labels: Labels) -> bool:
    key, values = expression.get("key", ""), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def selector_text(selector: Object | None) -> str:
    """A ``LabelSelector`` in the text form, as the scale subresource and printed columns show it."""
    if selector is None:
        return "<none>"
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression.get("key", ""), ",".join(sorted(expression.get("values") or ()))
        form = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(form.get(expression.get("operator", ""), f"!{key}"))
    return ",".join(parts)


_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "namespaces"): ("status.phase",),
    ("", "secrets"): ("type",),
    ("", "services"): ("spec.clusterIP", "spec.type"),
    ("", "replicationcontrollers"): ("status.replicas",),
    ("", "events"): (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
}
_ALWAYS = ("metadata.name", "metadata.namespace")


def fields_of(key: tuple[str, str]) -> tuple[str, ...]:
    """The field paths that a resource can be selected by."""
    return _ALWAYS + _FIELDS.get(key, ())


def field_selector(text: str, key: tuple[str, str], extra: Sequence[str] = ()) -> ObjectPredicate | None:
    """The predicate over objects that ``text`` asks for; None when it selects everything.

    Raises:
        KubeError: 400, the text is not a selector or names a field that this resource cannot be selected by.
    """
    return _parse_fields(text, key, tuple(extra)) if text.strip() else None


@functools.lru_cache(maxsize=4096)
def _parse_fields(text: str, key: tuple[str, str], extra: tuple[str, ...]) -> ObjectPredicate:
    supported = fields_of(key) + extra
    tests: list[ObjectPredicate] = []
    for term in text.split(","):
        if not term:
            continue
        path, operator, value = _field_term(term)
        if path not in supported:
            raise _unknown_field(path, key)
        tests.append(_field_test(path, value, wanted=operator != "!="))
    if len(tests) == 1:
        return tests[0]
    return lambda obj: all(test(obj) for test in tests)


def _unknown_field(path: str, key: tuple[str, str]) -> KubeError:
    if key in _FIELDS or ("." in key[0] and not key[0].endswith(".k8s.io")):
        return status.bad_request(f"field label not supported: {path}")
    known = ", ".join(f'"{each}"' for each in _ALWAYS)
    return status.bad_request(f'"{path}" is not a known field selector: only {known}')


def _field_term(term: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        path, found, value = term.partition(operator)
        if found:
            return path.strip(), operator, value.strip()
    raise status.bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


def _field_test(path: str, value: str, *, wanted: bool) -> ObjectPredicate:
    if path == "source":
        steps: tuple[str, ...] = ("source", "component")
    else:
        steps = tuple(path.split("."))

    def test(obj: Object) -> bool:
        found: Any = obj
        for step in steps:
            found = found.get(step) if isinstance(found, Mapping) else None
            if found is None:
                break
        return (_text(found, path) == value) is wanted

    return test


def _text(found: Any, path: str) -> str:
    if found is None:
        # a boolean that is not set is false, every other absent field is empty
        return "false" if path in ("spec.unschedulable", "spec.hostNetwork") else ""
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)

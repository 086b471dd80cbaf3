"""Rules of custom resources (``x-kubernetes-validations``), where the optional package common-expression-language is installed."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from karpy.sim.api.schemas.celfunctions import FUNCTIONS
from karpy.sim.api.schemas.schema import ById
from karpy.sim.api.status import Cause

__all__ = ["compile_problem", "has_rules", "validate_rules"]

Schema = Mapping[str, Any]

_RULES = "x-kubernetes-validations"


def compile_problem(rule: str) -> str:
    """Why a rule is no CEL; empty when it is, when this engine cannot tell, or when there is none."""
    engine = _engine()
    if engine is None or ".?" in rule or "[?" in rule:
        return ""  # optional members are a part of CEL that the engine does not read
    try:
        _compiled(engine, rule)
    except ValueError as error:
        return str(error).partition(": ")[2] or str(error)
    return ""


def has_rules(schema: Schema) -> bool:
    """Whether any place of ``schema`` has rules."""
    return _has_rules(ById(schema))


@functools.lru_cache(maxsize=16_384)
def _has_rules(same: ById) -> bool:
    schema: Schema = same.schema
    if _RULES in schema:
        return True
    return any(has_rules(inner) for inner in _below(schema))


def _below(schema: Schema) -> list[Schema]:
    inner = list((schema.get("properties") or {}).values())
    return inner + [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), Mapping)]


def validate_rules(new: Any, old: Any, schema: Schema) -> list[Cause]:
    """The rules of ``schema`` that ``new`` breaks; ``old`` is what it replaces, None when it is created.

    Nothing is checked where the package for CEL is missing: the rules of karpy's own kinds are checked by karpy itself.
    """
    engine = _engine()
    return list(_walk(engine, new, old, schema, "")) if engine is not None and has_rules(schema) else []


@functools.cache
def _engine() -> Any:
    try:
        return importlib.import_module("cel")
    except ImportError:
        return None


def _walk(engine: Any, new: Any, old: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if new is None or new is old or not has_rules(schema):
        return
    for rule in schema.get(_RULES) or ():
        try:
            holds = _holds(engine, rule["rule"], new, old)
        except KeyError as error:
            told = f"no such key: {error.args[0]} evaluating rule: {rule.get('message') or rule['rule'].strip()}"
            yield Cause.bad(path, f'"{_kind(new)}"', told)
            continue
        if not holds:
            yield _broken(engine, rule, new, old, path)
    if isinstance(new, Mapping):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in new.items():
            inner = properties.get(name, additional if isinstance(additional, Mapping) else None)
            if inner is not None:
                before = old.get(name) if isinstance(old, Mapping) else None
                yield from _walk(engine, member, before, inner, f"{path}.{name}" if path else name)
    elif isinstance(new, list) and isinstance(schema.get("items"), Mapping):
        for i, item in enumerate(new):
            before = _counterpart(item, old, schema)
            yield from _walk(engine, item, before, schema["items"], f"{path}[{i}]")


def _counterpart(item: Any, old: Any, schema: Schema) -> Any:
    """The element of the old list that has the same keys; lists without keys have no memory of their elements."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys or not isinstance(old, list) or not isinstance(item, Mapping):
        return None
    same = (each for each in old if isinstance(each, Mapping) and all(each.get(k) == item.get(k) for k in keys))
    return next(same, None)


def _holds(engine: Any, rule: str, new: Any, old: Any) -> bool:
    if "oldSelf" in rule and old is None:
        return True
    result = _evaluate(engine, rule, new, old)
    return result is None or bool(result)


def _evaluate(engine: Any, expression: str, new: Any, old: Any) -> Any:
    """The value of an expression; None when this engine cannot tell (it lacks a function of Kubernetes')."""
    variables = {"self": new} if old is None else {"self": new, "oldSelf": old}
    context = engine.Context(variables=variables)
    for name, function in FUNCTIONS.items():
        context.add_function(name, function)
    try:
        return _compiled(engine, expression).execute(context)
    except (RuntimeError, TypeError, ValueError):
        return None


@functools.lru_cache(maxsize=4096)
def _compiled(engine: Any, expression: str) -> Any:
    return engine.compile(expression)


def _broken(engine: Any, rule: Mapping[str, Any], new: Any, old: Any, path: str) -> Cause:
    message = rule.get("message")
    if not message and rule.get("messageExpression"):
        message = _evaluate(engine, rule["messageExpression"], new, old)
    where = path + str(rule.get("fieldPath", ""))
    text = str(message or f"failed rule: {rule['rule']}").strip()
    return Cause.bad(where, f'"{_kind(new)}"', text)


def _kind(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"

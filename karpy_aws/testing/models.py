"""AWS's own description of its calls, as botocore ships it: what a request may hold, and what an answer looks like."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from typing import Any

from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.validate import ParamValidator

__all__ = ["answer_problems", "as_answered", "request_problems"]


@functools.cache
def _service(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


@functools.cache
def _operation(service: str, operation: str) -> OperationModel:
    return _service(service).operation_model(operation)


def request_problems(service: str, operation: str, request: Mapping[str, Any]) -> str:
    """What is wrong with a request: names that the call does not know, values of a wrong type, members that are missing."""
    return _problems(_operation(service, operation).input_shape, request)


def answer_problems(service: str, operation: str, answer: Mapping[str, Any]) -> str:
    """What no answer of AWS would look like."""
    return _problems(_operation(service, operation).output_shape, answer)


def _problems(shape: Shape | None, value: Mapping[str, Any]) -> str:
    if shape is None:
        return f"nothing is expected, but there is {', '.join(value)}" if value else ""
    return str(ParamValidator().validate(dict(value), shape).generate_report())


def as_answered(service: str, operation: str, member: str, items: Any) -> Any:
    """``items`` as they stand under ``member`` of an answer, with their times as the SDK gives them."""
    shape = _operation(service, operation).output_shape
    assert shape is not None
    return _with_times(items, shape.members[member])


def _with_times(value: Any, shape: Shape) -> Any:
    if shape.type_name == "structure" and isinstance(value, Mapping):
        members = shape.members
        return {name: _with_times(item, members[name]) if name in members else item for name, item in value.items()}
    if shape.type_name == "list" and isinstance(value, list | tuple):
        return [_with_times(item, shape.member) for item in value]
    if shape.type_name == "timestamp" and isinstance(value, str):
        return dt.datetime.fromisoformat(value)
    return value

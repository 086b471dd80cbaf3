"""What the values of a plan have in common: they print as one short line of Python, and complain of what they cannot mean."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from karpy.errors import InvalidObject, shown

__all__ = ["Span", "Terse", "amount", "at_least_one", "kind_of", "positive", "share", "span", "unusual"]

K = TypeVar("K", bound=enum.StrEnum)

Span = tuple[float, float]
"""The least and the most, of seconds."""


class Terse:
    """Prints as the call that makes it, without what is at its default."""

    __slots__ = ()

    def __repr__(self) -> str:
        said = (f"{name}={_said(getattr(self, name))}" for name in unusual(self))
        return f"{type(self).__name__}({', '.join(said)})"


def unusual(value: Any) -> list[str]:
    """The names of the fields that are not at their default."""
    fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(type(value))
    return [field.name for field in fields if not _is_default(value, field)]


def _is_default(value: Any, field: attrs.Attribute[Any]) -> bool:
    """Whether the field says what it would say if it had been left out."""
    default: Any = field.default
    if hasattr(default, "takes_self"):  # a factory
        default = default.factory(value) if default.takes_self else default.factory()
    return bool(default is not attrs.NOTHING and getattr(value, field.name) == default)


def _said(value: Any) -> str:
    return repr(value.value) if isinstance(value, enum.Enum) else repr(value)


def _checked(accepted: str, is_right: Callable[[Any], bool]) -> Any:
    """A validator that complains of values for which ``is_right`` does not hold."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not is_right(value):
            path = f"{type(instance).__name__}.{attribute.name}"
            raise InvalidObject(f"{shown(value)} is no value for it", path=path, accepted=accepted)

    return check


amount = _checked("zero or more", lambda value: value >= 0)
positive = _checked("more than zero", lambda value: value > 0)
at_least_one = _checked("one or more", lambda value: value >= 1)
share = _checked("a share, from 0 to 1", lambda value: 0 <= value <= 1)
span = _checked("two numbers, the first not below zero and not above the second", lambda pair: 0 <= pair[0] <= pair[1])


def kind_of(kinds: type[K], word: str) -> K:
    """The member of ``kinds`` that ``word`` is.

    Raises:
        InvalidObject: there is none.
    """
    try:
        return kinds(word)
    except ValueError:
        accepted = ", ".join(each.value for each in kinds)
        raise InvalidObject(f"there is no {shown(word)}", path=kinds.__name__, accepted=accepted) from None

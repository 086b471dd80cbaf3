"""What every Kubernetes object carries: metadata and conditions; and how wire JSON becomes a value.

Structs hold the fields that karpy reads. Fields they do not name are skipped when decoding and are never lost, because karpy
writes by patches that touch only what it owns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar

import msgspec

from karpy.clock import format_time, parse_time
from karpy.errors import InvalidObject
from karpy.objects.complaints import complaint, depth_complaint, describe, text_complaint, without_nulls

__all__ = [
    "Condition",
    "Integer",
    "ObjectMeta",
    "OwnerReference",
    "decode",
    "describe",
    "find_condition",
    "readable_conditions",
    "set_condition",
    "to_wire",
]

T = TypeVar("T")

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What the API can hold as an integer."""


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all values that are decoded from the API's JSON. They never refer to themselves, so the collector skips them."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | bytes) -> Self:
        """Read the object from the API's JSON.

        Raises:
            InvalidObject: naming the object, the field path, what was found and what is accepted.
        """
        return decode(data, cls)


class OwnerReference(Wire, frozen=True):
    kind: str
    name: str
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Integer = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Integer | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    def __post_init__(self) -> None:
        # What is not a time is refused where it is read, so that nobody who asks for it later has to.
        path = "creationTimestamp"
        try:
            if self.creation_timestamp is not None:
                parse_time(self.creation_timestamp)
            if self.deletion_timestamp is not None:
                path = "deletionTimestamp"
                parse_time(self.deletion_timestamp)
        except InvalidObject as error:
            raise error.at(path=path) from None

    @property
    def created(self) -> float:
        """Seconds since the epoch; 0 when the object was never stored."""
        return parse_time(self.creation_timestamp) if self.creation_timestamp else 0.0

    @property
    def deleted(self) -> float | None:
        return parse_time(self.deletion_timestamp) if self.deletion_timestamp else None

    @property
    def is_deleting(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone for cluster-scoped objects."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Condition(Wire, frozen=True):
    """One line of ``status.conditions``."""

    type: str
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    observed_generation: Integer | None = None

    def __post_init__(self) -> None:
        try:
            if self.last_transition_time is not None:
                parse_time(self.last_transition_time)
        except InvalidObject as error:
            raise error.at(path="lastTransitionTime") from None

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def since(self) -> float:
        return parse_time(self.last_transition_time) if self.last_transition_time else 0.0


def find_condition(conditions: Sequence[Condition], type_: str) -> Condition | None:
    for condition in conditions:  # asked for millions of times: a generator costs more than the search
        if condition.type == type_:
            return condition
    return None


def readable_conditions(raw: Sequence[Mapping[str, Any]] | None) -> tuple[Condition, ...]:
    """The conditions of a raw status; one that cannot be read is left out, and so will be written anew."""
    found = []
    for each in raw or ():
        try:
            found.append(decode(each, Condition))
        except InvalidObject:
            continue
    return tuple(found)


def set_condition(conditions: Sequence[Condition], new: Condition, *, now: float) -> tuple[Condition, ...]:
    """``conditions`` with ``new`` in the place of its type; the transition time moves only when the status does."""
    old = find_condition(conditions, new.type)
    moved = old is None or old.status != new.status
    since = format_time(now) if moved or old is None else old.last_transition_time
    merged = msgspec.structs.replace(new, last_transition_time=since)
    if old is None:
        return (*conditions, merged)
    return tuple(merged if condition.type == new.type else condition for condition in conditions)


_JSON = msgspec.json.Encoder()


def decode(data: Mapping[str, Any] | bytes, type_: type[T]) -> T:
    """Read an object from the API's JSON, parsed or not. A field that is null counts as absent.

    Raises:
        InvalidObject: naming the object, the field path, what was found and what is accepted.
    """
    try:
        if isinstance(data, bytes):
            return msgspec.json.decode(data, type=type_)
        found = msgspec.convert(data, type=type_)
        _JSON.encode(found)  # what no JSON can hold, above all broken text, must not come any further
        return found
    except msgspec.ValidationError:
        return _decode_again(data, type_)
    except UnicodeError:
        raise text_complaint(data) from None
    except msgspec.DecodeError as error:
        raise InvalidObject(f"not JSON: {error}", accepted="a JSON object") from None
    except RecursionError:
        raise depth_complaint(data) from None


def _decode_again(data: Mapping[str, Any] | bytes, type_: type[T]) -> T:
    """Nulls apart: they are rare, so their check must not cost those that have none."""
    raw = msgspec.json.decode(data) if isinstance(data, bytes) else data
    bare = without_nulls(raw, type_)
    try:
        found = msgspec.convert(bare, type=type_)
        _JSON.encode(found)
        return found
    except msgspec.ValidationError as error:
        raise complaint(error, bare) from None
    except UnicodeError:
        raise text_complaint(bare) from None
    except RecursionError:
        raise depth_complaint(bare) from None


def to_wire(value: Any) -> Any:
    """A value of this package, or a sequence of them, as plain JSON: dictionaries, lists, strings and numbers."""
    return msgspec.json.decode(msgspec.json.encode(value))

"""Rules that objects of built-in kinds must keep, with the real server's texts: names, labels and metadata of all of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from karpy.sim.api.resources import Resource
from karpy.sim.api.status import Cause, bad_request

__all__ = ["quoted", "validate_labels", "validate_metadata", "validate_name", "wrong_label_key", "wrong_label_value"]

Object = Mapping[str, Any]

_ANNOTATIONS_SIZE = 256 * 1024
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_PATTERN = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
_LABEL_PATTERN = re.compile(rf"{_LABEL}\Z")
_LABEL_1035_PATTERN = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?\Z")

_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def quoted(text: object) -> str:
    """A string as Go's ``%q`` prints it."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@functools.lru_cache(maxsize=65_536)
def validate_name(name: str, form: str) -> str:
    """What is wrong with a name; empty when nothing is. ``form``: subdomain, label, label1035 or segment."""
    if form == "segment":
        if name in (".", ".."):
            return f"may not be '{name}'"
        for mark in "/%":
            if mark in name:
                return f"may not contain '{mark}'"
        return ""
    pattern, text, longest = {
        "subdomain": (_SUBDOMAIN_PATTERN, _SUBDOMAIN_TEXT, 253),
        "label": (_LABEL_PATTERN, _LABEL_TEXT, 63),
        "label1035": (_LABEL_1035_PATTERN, _LABEL_1035_TEXT, 63),
    }[form]
    if len(name) > longest:
        return f"must be no more than {longest} characters"
    return "" if pattern.match(name) else text


_EVENTS = ("", "events")


def _name_form(key: tuple[str, str]) -> str:
    if key == ("", "namespaces"):
        return "label"
    if key == ("", "services"):
        return "label1035"
    return "segment" if key[0] == "rbac.authorization.k8s.io" or key == _EVENTS else "subdomain"


@functools.lru_cache(maxsize=65_536)
def wrong_label_key(key: str) -> str:
    """What is wrong with the key of a label; empty when nothing is."""
    prefix, slash, name = key.rpartition("/")
    if slash:
        if not prefix:
            return "prefix part must be non-empty"
        if not _SUBDOMAIN_PATTERN.match(prefix):
            return f"prefix part {_SUBDOMAIN_TEXT}"
    if not name:
        return "name part must be non-empty"
    if len(name) > 63:
        return "name part must be no more than 63 characters"
    return "" if _QUALIFIED.match(name) else _QUALIFIED_TEXT


@functools.lru_cache(maxsize=65_536)
def wrong_label_value(value: str) -> str:
    """What is wrong with the value of a label; empty when nothing is."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    return "" if _VALUE.match(value) else _VALUE_TEXT


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        found = "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "object"
        name = field.rpartition(".")[2]
        raise bad_request(f"json: cannot unmarshal {found} into Go struct field ObjectMeta.{name} of type string")
    return value


def validate_labels(labels: Mapping[str, Any], field: str) -> Iterator[Cause]:
    """What is wrong with the keys and values of ``labels``."""
    for key, value in labels.items():
        wrong = wrong_label_key(key)
        if wrong:
            yield Cause.bad(field, quoted(key), wrong)
        wrong = wrong_label_value(_text(value, field))
        if wrong:
            yield Cause.bad(field, quoted(value), wrong)


def validate_metadata(resource: Resource, meta: Object) -> Iterator[Cause]:
    """What is wrong with the metadata of a new or changed object."""
    name, prefix = meta.get("name", ""), meta.get("generateName", "")
    if prefix:
        # what is generated goes on after the prefix: a dash at its end is none at the end of the name
        wrong = validate_name(prefix[:-1] + "a" if prefix.endswith("-") else prefix, _name_form(resource.key))
        if wrong:
            yield Cause.bad("metadata.generateName", quoted(prefix), wrong)
    if not name:
        yield Cause.required("metadata.name", "name or generateName is required")
    else:
        wrong = validate_name(name, _name_form(resource.key))
        if wrong:
            yield Cause.bad("metadata.name", quoted(name), wrong)
    labels = meta.get("labels")
    if labels:
        yield from validate_labels(labels, "metadata.labels")
    for key, value in (meta.get("annotations") or {}).items():
        _text(value, "metadata.annotations")
        wrong = wrong_label_key(key.lower())
        if wrong:
            yield Cause.bad("metadata.annotations", quoted(key), wrong)
    if sum(len(key) + len(value) for key, value in (meta.get("annotations") or {}).items()) > _ANNOTATIONS_SIZE:
        yield Cause(
            "FieldValueTooLong", f"Too long: must have at most {_ANNOTATIONS_SIZE} bytes", "metadata.annotations"
        )
    yield from _owners(meta.get("ownerReferences") or ())
    yield from _finalizers(resource, meta.get("finalizers") or ())


def _finalizers(resource: Resource, finalizers: Sequence[str]) -> Iterator[Cause]:
    for i, finalizer in enumerate(finalizers):
        where = f"metadata.finalizers[{i}]"
        wrong = wrong_label_key(_text(finalizer, where))
        if wrong:
            yield Cause.bad("metadata.finalizers", quoted(finalizer), wrong)
        elif "/" not in finalizer and not resource.custom and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield Cause.bad(where, quoted(finalizer), why)


def _owners(references: Sequence[Object]) -> Iterator[Cause]:
    for i, reference in enumerate(references):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(field):
                where = f"metadata.ownerReferences[{i}].{field}"
                detail = "must not be empty" if field == "uid" else "version must not be empty"
                yield Cause.bad(where, quoted(""), detail if field != "kind" else "must not be empty")
    controllers = [str(reference.get("name", "")) for reference in references if reference.get("controller")]
    if len(controllers) > 1:
        why = f'Only one reference can have Controller set to true. Found "true" in references for {_both(controllers)}'
        yield Cause.bad("metadata.ownerReferences", "[]v1.OwnerReference{...}", why)


def _both(names: Sequence[str]) -> str:
    return " and ".join(names[:2])

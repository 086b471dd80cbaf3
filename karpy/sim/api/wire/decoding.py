"""Reading what clients send: fields that a kind does not have, and values of the wrong type.

Unknown fields are dropped, with warnings or a refusal as the client asked, and with the place where they probably belong.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from karpy.errors import KubeError
from karpy.objects.misplaced import misplaced
from karpy.sim.api import status
from karpy.sim.api.filling.poddefaults import canonical_quantity
from karpy.sim.api.gotext import base64_problem, go_kind
from karpy.sim.api.options import WriteOptions
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.schemas import schema as schemas
from karpy.sim.api.schemas.builtin_schema import QUANTITY_FIELD, object_meta, structural_schema
from karpy.sim.api.wire.nulls import without_nulls

__all__ = ["bad_patch", "complain", "decoded", "metadata_of"]

_encode = msgspec.json.Encoder(order="sorted").encode


def complain(
    resource: Resource,
    version: ResourceVersion,
    schema: Mapping[str, Any],
    obj: Mapping[str, Any],
    unknown: Sequence[str],
    options: WriteOptions,
    *,
    patching: bool,
) -> None:
    """Warn of the ``unknown`` fields of ``obj`` (paths), each with the place where it probably belongs.

    Raises:
        KubeError: the client asked for strict decoding; 400, or 422 when the object came about by a patch.
    """
    complaints = [f'unknown field "{path}"' for path in unknown]
    if options.warn is not None:
        if options.field_validation == "Warn":
            for complaint in complaints:
                options.warn(complaint)
        for hint in misplaced(obj, schema):
            if hint.belongs:
                options.warn(str(hint))
    if options.field_validation != "Strict":
        return
    why = f"strict decoding error: {', '.join(complaints)}"
    if patching:
        raise bad_patch(obj, why)
    raise status.bad_request(
        f'{resource.kind} in version "{version.name}" cannot be handled as a {resource.kind}: {why}'
    )


def bad_patch(obj: Mapping[str, Any], why: str) -> KubeError:
    """422: the object that a patch makes cannot be read."""
    shown = _encode(_encode(obj).decode()).decode()
    message = f"Invalid value: {shown}: {why}"
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
    return KubeError(f' "" is invalid: patch: {message}', code=422, reason="Invalid", details={"causes": [cause]})


def metadata_of(
    resource: Resource, version: ResourceVersion, obj: Mapping[str, Any], *, patching: bool = False
) -> Mapping[str, Any]:
    """The metadata of an object that was sent; nulls are read as Go reads them.

    Raises:
        KubeError: 400 (422 for a patch), something in it has the wrong type.
    """
    meta = obj.get("metadata") or {}
    if isinstance(meta, Mapping):
        wrong = _wrong_type(meta, object_meta(), "ObjectMeta", "metadata")
    else:
        of = f"{resource.kind}.metadata of type v1.ObjectMeta"
        wrong = f"json: cannot unmarshal {go_kind(meta)} into Go struct field {of}"
    if wrong:
        if patching:
            raise bad_patch(obj, wrong)
        raise status.bad_request(
            f'{resource.kind} in version "{version.name}" cannot be handled as a {resource.kind}: {wrong}'
        )
    found: Mapping[str, Any] = without_nulls(meta, object_meta())
    return found


def decoded(
    resource: Resource, version: ResourceVersion, obj: Mapping[str, Any], options: WriteOptions, *, patching: bool
) -> dict[str, Any]:
    """An object of a built-in kind as the server understands it: known fields of the right types.

    Raises:
        KubeError: 400 (422 for a patch), a value has the wrong type, or strict decoding found unknown fields.
    """
    known = structural_schema(resource.group, version.name, resource.kind)
    if known is None:
        return dict(obj)
    obj = without_nulls(obj, known)
    _check_quantities(resource.kind, obj, known)
    wrong = _wrong_type(obj, known, "", "") or _wrong_bytes(obj) or _wrong_schemas(resource, obj)
    if wrong:
        if patching:
            raise bad_patch(obj, wrong)
        raise status.bad_request(
            f'{resource.kind} in version "{version.name}" cannot be handled as a {resource.kind}: {wrong}'
        )
    unknown: list[str] = []
    pruned = dict(schemas.prune(obj, known, unknown))
    if unknown and options.field_validation != "Ignore":
        complain(resource, version, known, obj, unknown, options, patching=patching)
    return pruned


_GO_TYPES = {"integer": "int32", "string": "string", "boolean": "bool", "number": "float64"}
_JSON_TYPES = {bool: "bool", int: "number", float: "number", str: "string"}


def _wrong_type(value: Any, schema: Mapping[str, Any], struct: str, path: str) -> str:
    """What Go's decoder says about the first value of a wrong type; empty when all are right."""
    declared = schema.get("type")
    if value is None or declared is None:
        return ""
    if isinstance(value, Mapping):
        if declared != "object":
            return _mismatch("object", schema, struct, path)
        return _wrong_member(value, schema, struct, path)
    if isinstance(value, list):
        if declared != "array":
            return _mismatch("array", schema, struct, path)
        found = (_wrong_type(item, schema["items"], struct, path) for item in value)
        return next((wrong for wrong in found if wrong), "")
    fits = {
        "string": isinstance(value, str) or (schema is QUANTITY_FIELD and isinstance(value, int | float)),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
    }
    return "" if fits.get(declared) else _mismatch(_JSON_TYPES[type(value)], schema, struct, path)


def _wrong_member(value: Mapping[str, Any], schema: Mapping[str, Any], struct: str, path: str) -> str:
    properties = schema.get("properties") or {}
    struct = schema.get("title", struct)
    for key, member in value.items():
        known = key in properties
        inner = properties.get(key, schema.get("additionalProperties"))
        if isinstance(inner, Mapping):
            # Go names fields, and not the keys of maps
            wrong = _wrong_type(member, inner, struct, (f"{path}.{key}" if path else key) if known else path)
            if wrong:
                return wrong
    return ""


def _check_quantities(kind: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Raises:
    KubeError: 400, a quantity is none. The real decoder tells of these before it tells of wrong types.
    """
    if isinstance(value, Mapping):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, member in value.items():
            inner = properties.get(key, additional)
            if isinstance(inner, Mapping):
                _check_quantities(kind, member, inner)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for item in value:
            _check_quantities(kind, item, schema["items"])
    elif isinstance(value, str) and schema is QUANTITY_FIELD:
        canonical_quantity(value, kind)


def _wrong_bytes(obj: Mapping[str, Any]) -> str:
    """What Go says of the first value of a secret that is not in base64."""
    data = obj.get("data") if obj.get("kind") == "Secret" else obj.get("binaryData")
    for text in (data or {}).values():
        plain = text.replace("\n", "").replace("\r", "") if isinstance(text, str) else ""
        try:
            base64.b64decode(plain, validate=True)
        except binascii.Error:
            return base64_problem(plain)
    return ""


def _wrong_schemas(resource: Resource, obj: Mapping[str, Any]) -> str:
    """What Go says of the first thing in a definition's schemas that is no schema."""
    if resource.kind != "CustomResourceDefinition":
        return ""
    spec = obj.get("spec") or {}
    schemas_of = ((version.get("schema") or {}).get("openAPIV3Schema") for version in spec.get("versions") or ())
    return next((wrong for each in schemas_of if each is not None and (wrong := _wrong_schema(each))), "")


def _wrong_schema(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        where = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema of type v1.JSONSchemaProps"
        return f"json: cannot unmarshal {go_kind(schema)} into Go struct field {where}"
    members = schema.get("properties")
    if members is not None and not isinstance(members, Mapping):
        return f"json: cannot unmarshal {go_kind(members)} into Go struct field JSONSchemaProps.properties"
    inner = [*(members or {}).values(), *(schema[key] for key in ("items", "not") if schema.get(key) is not None)]
    if isinstance(schema.get("additionalProperties"), Mapping):
        inner.append(schema["additionalProperties"])
    for key in ("allOf", "anyOf", "oneOf"):
        inner += schema.get(key) or ()
    return next((wrong for each in inner if (wrong := _wrong_schema(each))), "")


def _mismatch(found: str, schema: Mapping[str, Any], struct: str, path: str) -> str:
    go_type = _GO_TYPES.get(schema.get("type", ""), schema.get("title", "map[string]string"))
    return f"json: cannot unmarshal {found} into Go struct field {struct}.{path} of type {go_type}"

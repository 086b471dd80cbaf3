"""Reading manifests: YAML or JSON text in, raw objects out, and every complaint with the place that it is about.

Takes any mix of documents and lists, as ``kubectl get -o yaml`` prints them. Text is read as kubectl reads it: times stay
text, keys become text. A key that is written twice is refused, since one of the two would be lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import yaml

from karpy.errors import InvalidObject, plain, standing
from karpy.objects.meta import describe
from karpy.objects.misplaced import misplaced

if TYPE_CHECKING:
    from yaml import SafeLoader
else:  # the parser in C is many times faster; PyYAML's wheels have it, a build of one's own may not
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

__all__ = ["Manifests", "Schemas", "check_objects", "read_document", "read_manifests", "schemas_of"]

Schemas: TypeAlias = Mapping[tuple[str, str], Mapping[str, Any]]
"""Structural schemas of whole objects, by ``apiVersion`` and ``kind``."""

_FORM = "a YAML or JSON object with apiVersion, kind and metadata.name"


@attrs.frozen
class Manifests:
    """What a file holds: ``objects`` in the order they stand in, and ``problems``, one for each document that cannot be used.

    ``places`` says where each object stands, in words.
    """

    objects: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[InvalidObject, ...] = ()
    places: tuple[str, ...] = ()

    def __add__(self, other: Manifests) -> Manifests:
        return Manifests(self.objects + other.objects, self.problems + other.problems, self.places + other.places)


def schemas_of(definitions: Iterable[Mapping[str, Any]]) -> Schemas:
    """The schemas that CustomResourceDefinitions hold, of every version that they name."""
    return {
        (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]): version["schema"][
            "openAPIV3Schema"
        ]
        for crd in definitions
        for version in crd["spec"]["versions"]
        if "schema" in version
    }


def read_manifests(text: str, source: str, schemas: Schemas | None = None) -> Manifests:
    """Read ``text``, which came from ``source`` (a file's name, for the complaints).

    Keys of kinds that ``schemas`` knows are checked: one that is misspelt or stands in the wrong place is a problem that says
    where it belongs. A document that cannot be used never hides the others, unless the text after it cannot be parsed.
    """
    if _levels(text) > _DEEPEST:  # a parser written in C would take the whole process down
        return Manifests((), (_too_deep(source),))
    return _checked((pair for where, found in _documents(text, source) for pair in _unfold(found, where)), schemas)


def check_objects(documents: Iterable[Any], source: str, schemas: Schemas | None = None) -> Manifests:
    """The same for documents that are parsed already; complaints count them from 0."""
    indexed = enumerate(documents)
    return _checked((pair for index, found in indexed for pair in _unfold(found, f"{source}[{index}]")), schemas)


def _checked(placed: Iterable[tuple[str, Any]], schemas: Schemas | None) -> Manifests:
    objects: list[Mapping[str, Any]] = []
    places: list[str] = []
    problems: list[InvalidObject] = []
    try:
        for place, obj in placed:
            problem = _problem(obj, place, schemas or {})
            if problem is None:
                objects.append(obj)
                places.append(place)
            else:
                problems.append(problem)
    except InvalidObject as error:  # what comes after cannot be parsed
        problems.append(error)
    return Manifests(tuple(objects), tuple(problems), tuple(places))


_BRACKET = re.compile(r"[\[\]{}]")
_INDENTED = re.compile(r"^(?: |- |\? )+", re.MULTILINE)
_DEEPEST = 300


def _levels(text: str) -> int:
    """How deep the text may nest at the most: by its brackets, or by how far its lines are indented."""
    depth = deepest = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return max(deepest, max((len(line[0]) // 2 for line in _INDENTED.finditer(text)), default=0))


def _too_deep(source: str) -> InvalidObject:
    return InvalidObject("found values nested too deeply", object_name=source, accepted=f"at most {_DEEPEST} levels")


def read_document(text: str, source: str) -> Any:
    """The one document that ``text`` is, whatever it holds; None when it is empty.

    Raises:
        InvalidObject: the text cannot be parsed, or is several documents.
    """
    form = "one YAML or JSON document"
    if _levels(text) > _DEEPEST:
        raise _too_deep(source)
    found = [document for _, document in _documents(text, source, form)]
    if len(found) > 1:
        raise InvalidObject(f"found {len(found)} documents", object_name=source, accepted=form)
    return found[0] if found else None


def _documents(text: str, source: str, form: str = _FORM) -> Iterator[tuple[str, Any]]:
    """The documents that are not empty, each with its place in words."""
    if text.lstrip().startswith("{"):
        whole = _json(text)
        if whole is not None:
            yield source, whole
            return
    try:
        loader = _Loader(text)
    except UnicodeError:
        raise InvalidObject("found text that is not Unicode", object_name=source, accepted=_FORM) from None
    try:
        number = 0
        while loader.check_node():
            number += 1
            node = loader.get_node()
            assert node is not None, "check_node said that there is one"
            where = f"{source}: document {number} (line {node.start_mark.line + 1})"
            document = _construct(loader, node, where)
            if document is not None:
                yield where, document
    except yaml.YAMLError as error:
        raise InvalidObject(_one_line(error), object_name=source, accepted=form) from None
    finally:
        loader.dispose()


def _construct(loader: _Loader, node: yaml.Node, where: str) -> Any:
    try:
        return loader.construct_document(node)
    except InvalidObject as error:
        raise error.at(object_name=where) from None
    except (
        ValueError,
        TypeError,
        AttributeError,
        OverflowError,
    ) as error:  # of the loader, for what a tag does not allow
        problem = f"found a value that is not of its type ({plain(str(error))})"
        raise InvalidObject(problem, object_name=where, accepted=_FORM) from None


def _json(text: str) -> Any:
    """The text as JSON; None when it is none, since a YAML document may begin with a brace too."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _unfold(document: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The document, or the items of the list that it is."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if isinstance(kind, str) and kind.endswith("List"):
        items = document.get("items")
        if isinstance(items, list):
            for index, item in enumerate(items):
                yield from _unfold(item, f"{where}: items[{index}]")
            return
    yield where, document


def _problem(obj: Any, where: str, schemas: Schemas) -> InvalidObject | None:
    if not isinstance(obj, Mapping):
        return InvalidObject(f"found {standing(obj)}", object_name=where, accepted=_FORM)
    for path, value in (("apiVersion", obj.get("apiVersion")), ("kind", obj.get("kind"))):
        if not isinstance(value, str) or not value:
            return InvalidObject(
                f"found {standing(value)}", path=path, object_name=where, accepted="text that is not empty"
            )
    name = f"{where}: {describe(obj)}"
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return InvalidObject(
            f"found {standing(metadata)}", path="metadata", object_name=name, accepted="an object with a name"
        )
    if not any(isinstance(metadata.get(key), str) and metadata[key] for key in ("name", "generateName")):
        found = standing(metadata.get("name"))
        return InvalidObject(
            f"found {found}", path="metadata.name", object_name=name, accepted="text that is not empty"
        )
    schema = schemas.get((obj["apiVersion"], obj["kind"]))
    wrong = misplaced(obj, schema) if schema is not None else ()
    if wrong:
        return InvalidObject("; ".join(str(each) for each in wrong), object_name=name)
    return None


def _one_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    place = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
    return " ".join(f"cannot be parsed: {problem}{place}".split())


_NOT_TIMES = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()
}


class _Loader(SafeLoader):
    """Safe YAML as kubectl takes it: times stay text, and so do keys, since JSON knows no others."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.yaml_implicit_resolvers = _NOT_TIMES

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge" or not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise InvalidObject(
                    f"the key {key.value!r} is written twice, the second time on line {key.start_mark.line + 1}",
                    accepted="each key once",
                )
            seen.add(key.value)
            key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep=deep)

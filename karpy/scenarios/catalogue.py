"""Finding scenarios: by the name of one that ships with karpy, or as any file or folder of manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from karpy.errors import InvalidObject
from karpy.objects.kinds import DEPLOYMENT
from karpy.objects.manifest import Schemas, read_manifests

__all__ = ["Scenario", "expanded", "load_scenario", "read_files", "scenario_names"]

_SUFFIXES = (".yaml", ".yml", ".json")

INFLATE: Mapping[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "inflate"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "inflate"}},
        "template": {
            "metadata": {"labels": {"app": "inflate"}},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {
                        "name": "inflate",
                        "image": "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
                        "resources": {"requests": {"cpu": 1}},
                    }
                ],
            },
        },
    },
}
"""The Deployment of the guides: pods that ask for one core and do nothing."""


@attrs.frozen
class Scenario:
    """Manifests to begin with. ``notes`` say what was added to them."""

    name: str
    objects: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()

    def with_something_to_scale(self) -> Scenario:
        """The same with the guides' ``inflate`` Deployment, if it has no Deployment of its own."""
        if any(obj["kind"] == DEPLOYMENT.kind for obj in self.objects):
            return self
        note = "the manifests bring no Deployment: inflate is added, whose pods ask for one core each"
        return attrs.evolve(self, objects=(*self.objects, INFLATE), notes=(*self.notes, note))


def scenario_names() -> tuple[str, ...]:
    """The scenarios that ship with karpy."""
    shipped = (entry.name for entry in files("karpy.scenarios").iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in shipped if name.endswith(".yaml")))


def load_scenario(name_or_path: str, schemas: Schemas | None = None) -> Scenario:
    """The scenario of this name, or the manifests in this file or folder.

    Raises:
        InvalidObject: there is none, or manifests cannot be used.
    """
    if name_or_path in scenario_names():
        text = files("karpy.scenarios").joinpath(f"{name_or_path}.yaml").read_text(encoding="utf-8")
        return Scenario(name_or_path, _usable([(f"{name_or_path}.yaml", text)], schemas))
    path = Path(name_or_path)
    if not path.exists():
        names = ", ".join(scenario_names())
        raise InvalidObject(f"unknown scenario {name_or_path!r}", accepted=f"{names}, or the path of manifests")
    return Scenario(path.stem, read_files((path,), schemas))


def read_files(paths: Iterable[Path], schemas: Schemas | None = None) -> tuple[Mapping[str, Any], ...]:
    """The objects in these files; a folder stands for the manifests right in it, by name.

    Raises:
        InvalidObject: a file cannot be read, or documents cannot be used; every problem is named, one a line.
    """
    return _usable([(str(path), _text(path)) for path in expanded(paths)], schemas)


def expanded(paths: Iterable[Path]) -> Iterator[Path]:
    """The files, and for each folder the manifests right in it, by name."""
    for path in paths:
        if path.is_dir():
            yield from sorted(entry for entry in path.iterdir() if entry.suffix in _SUFFIXES)
        else:
            yield path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidObject(f"cannot be read: {error.strerror}", object_name=str(path)) from None
    except UnicodeDecodeError as error:
        raise InvalidObject(
            f"is not text in UTF-8: {error.reason} at byte {error.start}", object_name=str(path)
        ) from None


def _usable(texts: Iterable[tuple[str, str]], schemas: Schemas | None) -> tuple[Mapping[str, Any], ...]:
    read = [read_manifests(text, source, schemas) for source, text in texts]
    problems = [problem for each in read for problem in each.problems]
    if problems:
        raise InvalidObject("\n".join(str(problem) for problem in problems))
    objects = tuple(obj for each in read for obj in each.objects)
    if not objects:
        sources = ", ".join(source for source, _ in texts)
        raise InvalidObject("there are no objects", object_name=sources, accepted="at least one manifest")
    return objects

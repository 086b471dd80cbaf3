"""Objects in other versions than the stored one: conversion strategy None changes ``apiVersion`` and nothing else."""

from __future__ import annotations

from typing import Any

from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.schema import prune
from karpy.sim.api.store import Record

__all__ = ["as_version"]


def as_version(record: Record, resource: Resource, version: ResourceVersion) -> dict[str, Any]:
    """The object of ``record`` as ``version`` shows it; the stored object itself where they are the same."""
    if version.name == resource.storage:
        return record.object
    return record.view(version.name, lambda obj: _converted(obj, resource, version))


def _converted(obj: dict[str, Any], resource: Resource, version: ResourceVersion) -> dict[str, Any]:
    shown = {**obj, "apiVersion": resource.api_version(version.name)}
    return prune(shown, version.schema) if version.schema is not None else shown

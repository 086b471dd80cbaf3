"""Events of the group events.k8s.io: the same objects as the core group's events, with some fields under other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["API_VERSION", "KEY", "as_core", "as_new", "core_field_selector"]

KEY = ("events.k8s.io", "events")
API_VERSION = "events.k8s.io/v1"

_CORE_NAMES: Mapping[str, str] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_NEW_NAMES: Mapping[str, str] = {core: new for new, core in _CORE_NAMES.items()}


def as_core(event: Any) -> Any:
    """An event, or a patch of one, under the core group's names; a JSON patch stays as it is."""
    if not isinstance(event, Mapping):
        return event
    renamed = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    return {**renamed, "apiVersion": "v1"} if "apiVersion" in renamed else renamed


def as_new(event: Mapping[str, Any]) -> dict[str, Any]:
    """A core event under the names of events.k8s.io."""
    renamed = {_NEW_NAMES.get(key, key): value for key, value in event.items()}
    return {**renamed, "apiVersion": API_VERSION}


def core_field_selector(text: str) -> str:
    """A field selector over events.k8s.io in the names of the core group."""
    for new, core in _CORE_NAMES.items():
        text = text.replace(f"{new}.", f"{core}.").replace(f"{new}=", f"{core}=")
    return text

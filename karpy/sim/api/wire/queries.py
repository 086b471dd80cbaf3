"""The options in a query string, read as the real server reads them, and its complaints about those that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.status import Cause

__all__ = ["check_list_options", "check_watch_options", "check_write_options", "flag", "integer", "parse_revision"]

Query = Mapping[str, str]

_LONGEST_MANAGER = 128
_VALIDATIONS = ("Ignore", "Strict", "Warn")


def flag(query: Query, name: str) -> bool:
    """A boolean option: given at all, it is true unless it says false or 0."""
    return name in query and query[name].lower() not in ("false", "0")


def integer(query: Query, name: str) -> int | None:
    """A number, or None when the option is absent or empty.

    Raises:
        KubeError: 400, it is no number.
    """
    text = query.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def check_write_options(query: Query, kind: str, *, applying: bool = False) -> None:
    """Refuse wrong options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions.

    Raises:
        KubeError: 422, an option has a value that is not known.
    """
    if not query:
        return
    causes = list(_dry_run(query))
    if kind == "PatchOptions" and not applying and "force" in query:
        causes.append(Cause.forbidden("force", "may not be specified for non-apply patch"))
    manager = query.get("fieldManager", "")
    if len(manager) > _LONGEST_MANAGER:
        causes.append(
            Cause("FieldValueTooLong", f"Too long: must have at most {_LONGEST_MANAGER} bytes", "fieldManager")
        )
    elif not manager.isprintable():
        causes.append(Cause.bad("fieldManager", f'"{manager}"', "should only contain printable characters"))
    validation = query.get("fieldValidation", "")
    if validation and validation not in _VALIDATIONS:
        causes.append(Cause.unsupported("fieldValidation", f'"{validation}"', _VALIDATIONS))
    _refuse(kind, causes)


def _dry_run(query: Query) -> Iterator[Cause]:
    asked = query.get("dryRun", "All")
    if asked != "All":
        yield Cause.unsupported("dryRun", f'[]string{{"{asked}"}}', ("All",))


def _refuse(kind: str, causes: Sequence[Cause]) -> None:
    if causes:
        raise status.invalid_options(kind, *causes)


def check_list_options(query: Query) -> None:
    """Refuse options of a list that contradict each other.

    Raises:
        KubeError: 422 or 400.
    """
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    causes = []
    if match:
        if not version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.append(Cause.forbidden("resourceVersionMatch", why))
        if query.get("continue"):
            causes.append(_not_when_continued())
        if match not in ("Exact", "NotOlderThan"):
            choices = ("Exact", "NotOlderThan", "")
            causes.append(Cause.unsupported("resourceVersionMatch", f'"{match}"', choices))
        if match == "Exact" and version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(Cause.forbidden("resourceVersionMatch", why))
    if "sendInitialEvents" in query:
        causes.append(Cause.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _refuse("ListOptions", causes)
    if query.get("continue") and version not in ("", "0"):
        raise status.bad_request("specifying resource version is not allowed when using continue")


def check_watch_options(query: Query, *, watch_list: bool) -> None:
    """Refuse options of a watch that contradict each other, or ask for what the server does not have.

    Raises:
        KubeError: 422.
    """
    match, streaming = query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    causes = []
    if streaming and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(Cause.forbidden("resourceVersionMatch", why))
    if streaming and not watch_list:
        why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        causes.append(Cause.forbidden("sendInitialEvents", why))
    if match:
        if not streaming:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(Cause.forbidden("resourceVersionMatch", why))
        if match != "NotOlderThan":
            causes.append(Cause.unsupported("resourceVersionMatch", f'"{match}"', ("NotOlderThan",)))
        if query.get("continue"):
            causes.append(_not_when_continued())
    _refuse("ListOptions", causes)


def _not_when_continued() -> Cause:
    return Cause.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")


def parse_revision(text: str) -> int:
    """A resource version as a number; 0 when there is none.

    Raises:
        KubeError: 500 as the real server has it, it is none.
    """
    if text and not text.isdecimal():
        raise KubeError(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax', code=500
        )
    return int(text or 0)

"""Finding clouds: entry points of the group ``karpy.cloud_providers``.

Only the provider asked for is imported. A plug-in that cannot be loaded, or does not implement the protocol, is refused by
the name of its entry point and its distribution, before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

import attrs

from karpy.cloud.provider import CloudProvider, ProviderContext
from karpy.errors import PluginError

__all__ = ["AvailableProvider", "available_providers", "load_provider"]

GROUP = "karpy.cloud_providers"
_EXTRAS = {"boto3": "aws", "botocore": "aws", "azure": "azure"}
_MEMBERS = (
    "name",
    "labels",
    "node_classes",
    "instance_types",
    "create",
    "delete",
    "get",
    "list",
    "drift_reason",
    "resolve",
)


@attrs.frozen(order=True)
class AvailableProvider:
    """An installed plug-in, not imported yet."""

    name: str
    distribution: str
    version: str
    target: str


def available_providers() -> tuple[AvailableProvider, ...]:
    """The installed providers, sorted by name. Nothing is imported."""
    return tuple(sorted(_describe(point) for point in entry_points(group=GROUP)))


def load_provider(name: str, context: ProviderContext | None = None) -> CloudProvider:
    """Import and create the provider called ``name``.

    Raises:
        PluginError: unknown, not importable, failing, or not a CloudProvider.
    """
    point = _find(name, entry_points(group=GROUP))
    where = f"cloud provider {name!r} ({_describe(point).distribution}: {point.value})"
    try:
        create = point.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{where} cannot be imported: {error}{_install_hint(error)}") from error
    try:
        provider = create(context or ProviderContext())
    except PluginError:
        raise  # it says for itself what is the matter
    except Exception as error:  # whatever a plug-in does wrong must not end in a traceback of ours
        raise PluginError(f"{where} cannot start: {error}{_install_hint(error)}") from error
    missing = [member for member in _MEMBERS if not hasattr(provider, member)]
    if missing:
        raise PluginError(f"{where} is no CloudProvider: it lacks {', '.join(missing)}")
    loaded: CloudProvider = provider
    return loaded


def _find(name: str, points: Iterable[EntryPoint]) -> EntryPoint:
    known = {point.name: point for point in points}
    if name not in known:
        raise PluginError(f"unknown cloud provider {name!r}; installed: {', '.join(sorted(known)) or 'none'}")
    return known[name]


def _describe(point: EntryPoint) -> AvailableProvider:
    distribution = point.dist
    return AvailableProvider(
        point.name,
        distribution.name if distribution else "unknown distribution",
        distribution.version if distribution else "",
        point.value,
    )


def _install_hint(error: Exception) -> str:
    module = error.name if isinstance(error, ImportError) else None
    extra = _EXTRAS.get((module or "").partition(".")[0])
    return f"; run: pip install 'karpy[{extra}]'" if extra else ""

"""From settings to a provider that is known to work: what is missing is told before anything runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from karpy.cloud.provider import ProviderContext
from karpy.errors import InvalidObject, PluginError, ProviderError, shown
from karpy.settings import Settings
from karpy_aws.api import Connection, connect
from karpy_aws.clusterfacts import check_access
from karpy_aws.provider import AWSProvider
from karpy_aws.settings import AWSSettings, read_config_map, read_options

__all__ = ["settings_of", "start"]

_CONFIG_MAP_PREFIX: Final = "aws."
_STRICT: Final = "Strict"
_BEST_EFFORT: Final = "BestEffort"
_REGION: Final = "AWS_REGION"
_ENDPOINT: Final = "AWS_ENDPOINT_URL"


def start(context: ProviderContext) -> AWSProvider:
    """The provider for a context.

    Raises:
        PluginError: naming what is missing or refused.
    """
    try:
        settings, core = settings_of(context, os.environ)
        apis = connect(Connection(region=_region(context, os.environ), endpoint_urls=_endpoints(context)))
        check_access(apis.ec2)
        provider = AWSProvider(
            apis,
            settings,
            clock=context.clock,
            reserved_capacity=core.reserved_capacity,
            strict_min_values=core.strict_min_values,
        )
        provider.check_cluster()
    except (InvalidObject, ProviderError) as error:
        raise PluginError(f"cloud provider 'aws': {error}") from error
    return provider


def settings_of(context: ProviderContext, environment: Mapping[str, str]) -> tuple[AWSSettings, Settings]:
    """The settings of the provider, and those of the core that it goes by.

    Raises:
        InvalidObject: with everything that is wrong.
    """
    given = {name: _text(value) for name, value in context.settings.items()}
    if any(name.startswith(_CONFIG_MAP_PREFIX) for name in given):
        named = {"aws.clusterName": context.cluster_name} if context.cluster_name else {}
        return read_config_map({**named, **given})
    named = {"CLUSTER_NAME": context.cluster_name} if context.cluster_name else {}
    told = {**environment, **named, **given}
    core = Settings(strict_min_values=_min_values_policy(told.get("MIN_VALUES_POLICY", _STRICT)) == _STRICT)
    return read_options(told), core.with_feature_gates(told.get("FEATURE_GATES", ""))


def _min_values_policy(text: str) -> str:
    if text not in (_STRICT, _BEST_EFFORT):
        raise InvalidObject(f"found {shown(text)}", path="MIN_VALUES_POLICY", accepted=f"{_STRICT} or {_BEST_EFFORT}")
    return text


def _text(value: Any) -> str:
    """Settings may be given as what they mean."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _region(context: ProviderContext, environment: Mapping[str, str]) -> str:
    """What EKS puts into the environment of pods, the SDK for Python does not look at."""
    return str(context.settings.get(_REGION) or environment.get(_REGION, ""))


def _endpoints(context: ProviderContext) -> Mapping[str, str]:
    """Where AWS is, if it is not where it usually is. What the environment says of that the SDK reads by itself."""
    url = context.settings.get(_ENDPOINT)
    return {"": str(url)} if url else {}

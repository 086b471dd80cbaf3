"""EC2 behind karpy's cloud protocol.

Importing this package loads neither the AWS SDK nor the catalog: both wait until they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karpy.errors import PluginError

if TYPE_CHECKING:
    from karpy.cloud.model import CloudModel
    from karpy.cloud.provider import CloudProvider, ProviderContext

__all__ = ["cloud_model", "create_provider"]


def create_provider(context: ProviderContext) -> CloudProvider:
    """The provider that launches on EC2.

    Raises:
        PluginError: always, in this version.
    """
    del context
    raise PluginError(
        "cloud provider 'aws': launching on EC2 is not in this version yet; "
        "the provider 'sim' offers EC2's instance types, prices and node classes on a simulated cloud"
    )


def cloud_model() -> CloudModel:
    """What is known of EC2 offline; its catalog is read when it is first asked for."""
    from karpy_aws.model import AWSModel

    return AWSModel()

"""AKS nodes on Azure virtual machines, behind karpy's cloud protocol.

Importing this package loads neither the Azure SDK nor the catalog: both wait until they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karpy.errors import PluginError

if TYPE_CHECKING:
    from karpy.cloud.model import CloudModel
    from karpy.cloud.provider import CloudProvider, ProviderContext

__all__ = ["cloud_model", "create_provider"]


def create_provider(context: ProviderContext) -> CloudProvider:
    """The provider that launches on Azure.

    Raises:
        PluginError: always, in this version.
    """
    del context
    raise PluginError(
        "cloud provider 'azure': launching on Azure is not in this version yet; "
        "the provider 'sim' offers Azure's sizes, prices and node classes on a simulated cloud"
    )


def cloud_model() -> CloudModel:
    """What is known of Azure offline; its catalog is read when it is first asked for."""
    from karpy_azure.model import AzureModel

    return AzureModel()

"""EC2 behind karpy's cloud protocol.

Importing this package loads neither the AWS SDK nor the catalog: both wait until they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karpy.cloud.model import CloudModel
    from karpy.cloud.provider import CloudProvider, ProviderContext

__all__ = ["cloud_model", "create_provider"]


def create_provider(context: ProviderContext) -> CloudProvider:
    """The provider that launches on EC2, after it was seen that EC2 and the cluster can be reached.

    Settings come from the context, by the names of Karpenter's environment variables (``CLUSTER_NAME``) or of its ConfigMap
    (``aws.clusterName``), and what it does not say from the environment. Region and credentials the SDK finds by itself.

    Raises:
        PluginError: a setting, the SDK, the region, credentials or a permission is missing; it says which.
    """
    from karpy_aws.starting import start

    return start(context)


def cloud_model() -> CloudModel:
    """What is known of EC2 offline; its catalog is read when it is first asked for."""
    from karpy_aws.model import AWSModel

    return AWSModel()

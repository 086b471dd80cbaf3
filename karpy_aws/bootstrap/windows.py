"""Windows: PowerShell that calls the image's own bootstrap script."""

from __future__ import annotations

from typing import Final

from karpy_aws.bootstrap.kubeletflags import kubelet_flags
from karpy_aws.bootstrap.node import NodeBootstrap

__all__ = ["user_data"]

_SCRIPT: Final = r'[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"'


def user_data(node: NodeBootstrap) -> str:
    """The user's script, then karpy's. Local disks stay as they are."""
    call = [
        f"& $EKSBootstrapScriptFile -EKSClusterName '{node.cluster.name}' -APIServerEndpoint '{node.cluster.endpoint}'"
    ]
    if node.cluster.ca_bundle:
        call.append(f"-Base64ClusterCA '{node.cluster.ca_bundle}'")
    flags = kubelet_flags(node)
    if flags:
        call.append(f"-KubeletExtraArgs '{flags}'")
    if node.dns_ips:
        call.append(f"-DNSClusterIP '{node.dns_ips[0]}'")
    script = [node.user_data] if node.user_data else []
    return "\n".join(["<powershell>", *script, _SCRIPT, " ".join(call), "</powershell>"])

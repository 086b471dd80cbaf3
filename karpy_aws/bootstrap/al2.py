"""Amazon Linux 2 and Ubuntu: a shell script that calls the image's own bootstrap script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpy.cloud.instancetype import InstanceType
from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER, Kind
from karpy_aws.bootstrap.kubeletflags import kubelet_flags
from karpy_aws.bootstrap.mime import Part, is_archive, read_parts, shell_part, write_parts
from karpy_aws.bootstrap.node import NodeBootstrap
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE

__all__ = ["container_runtime", "user_data"]

_CONTAINERD: Final = "containerd"
_ACCELERATORS: Final = frozenset({"nvidia.com/gpu", "aws.amazon.com/neuron"})
_HEAD: Final = """\
#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
"""


def user_data(node: NodeBootstrap) -> str:
    """An archive: the user's parts, then the script. For an inline provider the script alone.

    Raises:
        InvalidObject: the user's part is no archive that can be read.
    """
    script = _script(node)
    if node.origin == PROVISIONER:
        return script + "\n"
    return write_parts([*_users_parts(node), shell_part(script)])


def container_runtime(origin: Kind, family: str, asked: str, types: Iterable[InstanceType]) -> str:
    """What the script is to say of the container runtime: nothing, since EC2NodeClass.

    An AWSNodeTemplate's machines use containerd unless the Provisioner ``asked`` for another; an inline provider's too, but for
    those with accelerators, whose drivers once knew docker alone.
    """
    if origin == AWS_NODE_TEMPLATE:
        return asked or (_CONTAINERD if family == "AL2" else "")
    if origin == PROVISIONER:
        return "" if any(_ACCELERATORS & instance_type.capacity.keys() for instance_type in types) else _CONTAINERD
    return ""


def _users_parts(node: NodeBootstrap) -> tuple[Part, ...]:
    if not node.user_data:
        return ()
    if is_archive(node.user_data):
        return read_parts(node.user_data)
    if node.origin == AWS_NODE_TEMPLATE:
        raise InvalidObject(
            "it is no archive", path="spec.userData", accepted="a MIME multipart archive, shell scripts as its parts"
        )
    return (shell_part(node.user_data),)


def _script(node: NodeBootstrap) -> str:
    """The bootstrap script takes no ``=`` between an option and its value."""
    ca_bundle = f"--b64-cluster-ca '{node.cluster.ca_bundle}'" if node.cluster.ca_bundle else ""
    options = [
        f"/etc/eks/bootstrap.sh '{node.cluster.name}' --apiserver-endpoint '{node.cluster.endpoint}' {ca_bundle}"
    ]
    if node.dns_ips:
        if ":" in node.dns_ips[0]:
            options.append("--ip-family ipv6")
        options.append(f"--dns-cluster-ip '{node.dns_ips[0]}'")
    if node.kubelet.get("maxPods") is not None:
        options.append("--use-max-pods false")
    if node.container_runtime:
        options.append(f"--container-runtime {node.container_runtime}")
    flags = kubelet_flags(node, quoted=node.origin == EC2_NODE_CLASS)
    if flags:
        options.append(f"--kubelet-extra-args '{flags}'")
    if node.joins_local_disks:
        options.append("--local-disks raid0")
    return _HEAD + " \\\n".join(options)

"""Launch templates: all that machines are started with, as requests of CreateLaunchTemplate. A template's name is its content's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import InstanceType
from karpy.errors import CreateFailed
from karpy.objects.kinds import PROVISIONER
from karpy_aws.bootstrap import NodeBootstrap, encoded, user_data, warnings
from karpy_aws.bootstrap.al2 import container_runtime
from karpy_aws.images import image_version
from karpy_aws.templatedata import TemplateSettings, tag_list, tags_of_machine_parts, template_data
from karpy_aws.templategroups import KubeletOf, TemplateGroup, group_types

__all__ = ["LaunchTemplate", "TemplateSettings", "launch_templates"]

_NEWEST: Final = "$Latest"
_DEFAULT: Final = "$Default"
_OLDER_CLUSTER_TAG: Final = "karpenter.k8s.aws/cluster"


@attrs.frozen(kw_only=True)
class LaunchTemplate:
    """A template and the types that it serves. ``request`` makes it; None for a template of the user's own."""

    name: str
    types: tuple[InstanceType, ...]
    version: str = _NEWEST
    group: TemplateGroup | None = None
    request: Mapping[str, Any] | None = None
    user_data_bytes: int = 0
    warnings: tuple[str, ...] = ()
    """What a person should know of it, one line each."""


def launch_templates(
    types: Sequence[InstanceType], settings: TemplateSettings, kubelet_of: KubeletOf
) -> tuple[LaunchTemplate, ...]:
    """The templates that machines of these types are launched with.

    Raises:
        CreateFailed: no image is for any of the types, or there are no security groups.
        NodeClassNotReady: the class has no instance profile yet, or its user data needs what is not known yet.
        InvalidObject: the class's user data or block devices cannot be read.
    """
    node_class = settings.node_class
    if node_class.launch_template:
        version = _DEFAULT if node_class.origin == PROVISIONER else _NEWEST
        return (LaunchTemplate(name=node_class.launch_template, types=tuple(types), version=version),)
    if not node_class.status.security_groups:
        raise CreateFailed("the status of the node class names no security group")
    groups = group_types(
        types,
        node_class.status.amis,
        kubelet_of=kubelet_of,
        requests=settings.requests,
        reserved=settings.capacity_type == core.RESERVED,
    )
    return _merged(_template(group, settings) for group in groups)


def _merged(templates: Iterable[LaunchTemplate]) -> tuple[LaunchTemplate, ...]:
    """One of each name: a custom image is not told its kubelet's settings, so groups that differ in them are one after all."""
    by_name: dict[str, LaunchTemplate] = {}
    for template in templates:
        known = by_name.get(template.name)
        types = (*known.types, *template.types) if known else template.types
        by_name[template.name] = attrs.evolve(known or template, types=types)
    return tuple(by_name.values())


def _template(group: TemplateGroup, settings: TemplateSettings) -> LaunchTemplate:
    family, node = settings.node_class.ami_family, _bootstrap(group, settings)
    text = user_data(family, node)
    data = {**template_data(group, settings), **({"UserData": encoded(text)} if text else {})}
    tags = [{"ResourceType": "launch-template", "Tags": tag_list(_tags_of_template(settings))}]
    name = _name(settings, [settings.node_class.name, data, tags])
    return LaunchTemplate(
        name=name,
        types=group.types,
        group=group,
        request={"LaunchTemplateName": name, "LaunchTemplateData": data, "TagSpecifications": tags},
        user_data_bytes=len(text.encode()),
        warnings=warnings(family, node, text),
    )


def _name(settings: TemplateSettings, content: Sequence[Any]) -> str:
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
    number = int.from_bytes(digest[:8], "big")
    return (
        f"Karpenter-{settings.bootstrap.cluster.name}-{number}" if settings.is_older else f"karpenter.k8s.aws/{number}"
    )


def _bootstrap(group: TemplateGroup, settings: TemplateSettings) -> NodeBootstrap:
    """What machines of a group are told."""
    node_class = settings.node_class
    asked = str(group.kubelet.get("containerRuntime") or "")
    return attrs.evolve(
        settings.bootstrap,
        origin=node_class.origin,
        user_data=node_class.user_data or "",
        instance_store_policy=node_class.instance_store_policy,
        kubelet=group.kubelet,
        container_runtime=container_runtime(node_class.origin, node_class.ami_family, asked, group.types),
        image_version=image_version(node_class, group.image),
    )


def _tags_of_template(settings: TemplateSettings) -> Mapping[str, str]:
    if settings.is_older:
        return {**tags_of_machine_parts(settings), _OLDER_CLUSTER_TAG: settings.bootstrap.cluster.name}
    return settings.tags

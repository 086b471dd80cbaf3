"""``spec.provider`` of a Provisioner (``karpenter.sh/v1alpha5``): the AWS block inline, as Karpenter 0.5 knew it.

The Provisioner object itself is the node class. Unknown fields are refused, as then: a misspelt key must not pass unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

import attrs

from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER
from karpy.objects.meta import ObjectMeta, Wire, decode
from karpy.objects.nodepool import at
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.nodeclass import NodeClass, SelectorTerm
from karpy_aws.objects.nodetemplate import NodeTemplateSpec, build
from karpy_aws.objects.nodetemplateschema import TEMPLATE_ONLY, inline_provider_spec
from karpy_aws.objects.schemacheck import violations

__all__ = ["default_selector", "read_inline_provider", "with_default_selectors"]

_PATH: Final = "spec.provider"
_ACCEPTED: Final = sorted(inline_provider_spec()["properties"])


class _Spec(Wire, frozen=True):
    provider: dict[str, Any] | None = None
    kubelet_configuration: dict[str, Any] | None = None


class _Provisioner(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()


def read_inline_provider(data: Mapping[str, Any]) -> NodeClass:
    """Read the inline provider of a Provisioner.

    Selectors that are not given stay empty; see `with_default_selectors`.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    wire = decode(data, _Provisioner)
    provider = wire.spec.provider
    if provider is None:
        raise InvalidObject("there is no inline provider", path=_PATH, accepted="an object")
    for field in provider:
        _check_field(field)
    for violation in violations(provider, inline_provider_spec(), _PATH):
        raise violation.error()
    read = build(wire.metadata, PROVISIONER, at(_PATH, NodeTemplateSpec.from_dict, provider))
    kubelet = wire.spec.kubelet_configuration
    if kubelet is None:
        return read
    return attrs.evolve(read, kubelet=at("spec.kubeletConfiguration", Kubelet.from_dict, kubelet))


def default_selector(cluster: str) -> dict[str, str]:
    """What a selector that is not given means: all that bears the cluster's tag.

    >>> default_selector("prod")
    {'kubernetes.io/cluster/prod': '*'}
    """
    return {f"kubernetes.io/cluster/{cluster}": "*"}


def with_default_selectors(node_class: NodeClass, cluster: str) -> NodeClass:
    """The node class with the selectors that its Provisioner did not give; those of other kinds stay as they are."""
    if node_class.origin != PROVISIONER:
        return node_class
    default = (SelectorTerm(tags=default_selector(cluster)),)
    own_template = bool(node_class.launch_template)
    return attrs.evolve(
        node_class,
        subnet_selector_terms=node_class.subnet_selector_terms or default,
        security_group_selector_terms=node_class.security_group_selector_terms or (() if own_template else default),
    )


def _check_field(field: str) -> None:
    if field in _ACCEPTED:
        return
    if field in TEMPLATE_ONLY:
        raise InvalidObject(
            "only an AWSNodeTemplate may have it", path=f"{_PATH}.{field}", accepted=", ".join(_ACCEPTED)
        )
    near = get_close_matches(field, _ACCEPTED, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InvalidObject(f"unknown field{hint}", path=f"{_PATH}.{field}", accepted=", ".join(_ACCEPTED))

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
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.nodetemplate import NodeTemplateSpec, build
from karpy_aws.objects.nodetemplateschema import TEMPLATE_ONLY, inline_provider_spec
from karpy_aws.objects.schemacheck import violations

__all__ = ["read_inline_provider"]

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

    Selectors that are not given stay empty; the cluster's own tag ``kubernetes.io/cluster/<name>`` is meant then.

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

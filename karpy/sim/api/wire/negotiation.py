"""In what form a client wants its answer: JSON, the same laid out for reading, or YAML; another is refused."""

from __future__ import annotations

import attrs
import msgspec
import yaml

from karpy.errors import KubeError
from karpy.sim.api.wire.answers import JSON, Answer
from karpy.sim.api.wire.requests import Request

__all__ = ["check_accept", "in_form"]

_YAML = "application/yaml"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_TAKEN = (JSON, _YAML, _PROTOBUF, "application/*", "*/*", "")
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_INDENT = 2


def _media(header: str) -> list[str]:
    return [choice.partition(";")[0].strip() for choice in header.split(",")]


def check_accept(request: Request) -> None:
    """Refuse a client that takes nothing that this server has.

    Raises:
        KubeError: 406.
    """
    if request.accept in (JSON, "", "*/*") or any(media in _TAKEN for media in _media(request.accept)):
        return
    accepted = f"{JSON}, {_YAML}, {_PROTOBUF}"
    raise KubeError(f"only the following media types are accepted: {accepted}", code=406, reason="NotAcceptable")


def in_form(answer: Answer, request: Request) -> Answer:
    """The answer as YAML where that is what the client likes best, and laid out where it asks for that."""
    if not answer.content_type.startswith(JSON):
        return answer
    if request.accept.startswith(_YAML):
        text = yaml.dump(msgspec.json.decode(answer.body), Dumper=_DUMPER, sort_keys=True)
        return attrs.evolve(answer, body=text.encode(), content_type=_YAML)
    if request.query.get("pretty", "") in ("1", "true"):
        return attrs.evolve(answer, body=msgspec.json.format(answer.body, indent=_INDENT))
    return answer

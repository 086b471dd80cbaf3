from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.sim.api.wire.protobuf import MAGIC, decode_object


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3, value])


def _envelope(kind: str, api_version: str, raw: bytes) -> bytes:
    return MAGIC + _field(1, _field(1, api_version.encode()) + _field(2, kind.encode())) + _field(2, raw)


def test_an_object_is_read_from_its_envelope() -> None:
    labels = _field(11, _field(1, b"a") + _field(2, b"b"))
    meta = _field(1, b"d") + _field(2, b"") + _field(3, b"t") + _number(7, 0) + labels
    spec = _number(1, 0) + _field(2, _field(1, _field(1, b"app") + _field(2, b"d"))) + _number(5, 0)
    assert decode_object(_envelope("Deployment", "apps/v1", _field(1, meta) + _field(2, spec) + _field(3, b""))) == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "d", "namespace": "t", "labels": {"a": "b"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}},
    }


def test_numbers_or_strings_keep_their_kind() -> None:
    for raw, value in ((_number(1, 0) + _number(2, 3), 3), (_number(1, 1) + _field(3, b"50%"), "50%")):
        budget = decode_object(_envelope("PodDisruptionBudget", "policy/v1", _field(2, _field(1, raw))))
        assert budget["spec"]["minAvailable"] == value


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (_envelope("Mystery", "v1", b""), 415),
        (_envelope("Namespace", "v1", _field(15, b"x")), 415),
        (MAGIC + b"\xff\xff", 400),
        (_envelope("Namespace", "v1", b"\x0a\x7f"), 400),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, code: int) -> None:
    with pytest.raises(KubeError) as refused:
        decode_object(body)
    assert refused.value.code == code

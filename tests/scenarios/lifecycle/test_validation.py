"""What a real API server with Karpenter's schemas answered to good and bad objects, and what it answers with karpy's.

Compared are the verdict, its reason, which fields are to blame and for what, and what is stored. The sentences are karpy's own.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.kube.crds import core_crds
from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock

Json = Mapping[str, Any]

_KINDS = {kind.kind: kind for kind in (kinds.NODE_POOL, kinds.NODE_CLAIM, kinds.NODE_OVERLAY, kinds.CAPACITY_BUFFER)}

DIFFERENT: Mapping[str, str] = {
    "requirement: value with a space": "refused; Karpenter finds out when it runs that no node can have such a label",
    "requirement: value too long": "refused; Karpenter finds out when it runs that no node can have such a label",
    "requirement: Gt of -1": "refused for the same reason, and also because no label can have this value",
    "static -1": "said once; Karpenter's schema has two rules for it",
}
"""Objects that are answered otherwise, each with the reason."""


@pytest.mark.skipif(importlib.util.find_spec("cel") is None, reason="needs a package that evaluates CEL")
@pytest.mark.core("CORE-720", "CORE-721", "CORE-722", "CORE-723", "CORE-724", "CORE-725", "CORE-728", "CORE-729")
@pytest.mark.core("CORE-730", "CORE-731", "CORE-732", "CORE-733", "CORE-734", "CORE-735")
def test_objects_are_answered_as_a_real_server_answered(shared: Path) -> None:
    path = shared / "data" / "vectors" / "lifecycle" / "10-validation.jsonl"
    _header, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert len(lines) == 138
    server = ApiServer(VirtualClock())
    for crd in core_crds():
        server.install_crd(crd)
    server.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    answers = {line["name"]: (_recorded(line), _answer(server, line)) for line in lines}
    unlike = {name: pair for name, pair in answers.items() if pair[0] != pair[1]}
    assert {name: pair for name, pair in unlike.items() if name not in DIFFERENT} == {}
    assert DIFFERENT.keys() - unlike.keys() == set()


def _recorded(line: Json) -> Json:
    answer = {"code": line["code"], "reason": line.get("reason"), "causes": _causes(line.get("causes"))}
    if line["code"] == 201:
        answer["stored"] = line.get("stored", line["object"]["spec"])
    return answer


def _answer(server: ApiServer, line: Json) -> Json:
    """The answer to a creation, or to a change of an object that is created for it; nothing is left behind."""
    kind, name = _KINDS[line["object"]["kind"]], line["object"]["metadata"]["name"]
    namespace = line["object"]["metadata"].get("namespace", "")
    try:
        spec = server.create(kind, line["object"], namespace)["spec"]
        try:
            if line["type"] == "CREATE":
                return {"code": 201, "reason": None, "causes": None, "stored": spec}
            server.patch(kind, name, line["mergePatch"], namespace)
            return {"code": 200, "reason": None, "causes": None}
        finally:
            server.delete(kind, name, namespace)
    except KubeError as error:
        return {"code": error.code, "reason": error.reason, "causes": _causes(error.details.get("causes"))}


def _causes(causes: Any) -> list[tuple[str, str]] | None:
    """Which fields are to blame, and for what kind of mistake."""
    return None if causes is None else [(cause["reason"], cause["field"]) for cause in causes]

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from karpy.errors import KubeError
from karpy.kube.crds import core_crds
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock

BETA_POOL = Kind("karpenter.sh", "v1beta1", "NodePool", "nodepools", namespaced=False)
CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(VirtualClock())
    for crd in core_crds():
        server.install_crd(crd)
    return server


def _pool(**spec: object) -> dict:
    return {
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"nodeClassRef": CLASS, "requirements": []}}, **spec},
    }


def test_a_node_pool_gets_the_defaults_of_v1(server: ApiServer) -> None:
    spec = server.create(kinds.NODE_POOL, _pool())["spec"]
    assert spec["template"]["spec"]["expireAfter"] == "720h"
    assert spec["disruption"] == {
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "10%"}],
    }


def test_a_v1beta1_pool_keeps_what_its_author_wrote_and_gets_the_defaults_of_v1beta1(server: ApiServer) -> None:
    pool = {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"nodeClassRef": {"name": "c"}}}}}
    server.create(BETA_POOL, pool)
    server.patch(kinds.NODE_POOL, "d", {"status": {"nodes": 2}}, subresource="status")
    server.patch(kinds.NODE_POOL, "d", {"metadata": {"annotations": {"a": "b"}}})
    stored = server.get(kinds.NODE_POOL, "d")
    assert stored["metadata"]["generation"] == 1
    assert stored["spec"]["template"] == {"spec": {"nodeClassRef": {"name": "c"}}}
    assert stored["spec"]["disruption"] == {
        "consolidationPolicy": "WhenUnderutilized",
        "expireAfter": "720h",
        "budgets": [{"nodes": "10%"}],
    }


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"weight": 101}, "spec.weight in body should be less than or equal to 100"),
        ({"disruption": {"consolidateAfter": "soon"}}, "spec.disruption.consolidateAfter in body should match"),
        ({"disruption": {"consolidateAfter": "0s", "consolidationPolicy": "Never"}}, "Unsupported value"),
        ({"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "200%"}]}}, "budgets"),
        ({"limits": {"cpu": "many"}}, "spec.limits.cpu in body should match"),
    ],
)
def test_a_bad_node_pool_is_refused(server: ApiServer, spec: dict, complaint: str) -> None:
    with pytest.raises(KubeError, match=complaint):
        server.create(kinds.NODE_POOL, _pool(**spec))


def test_pools_can_be_scaled(server: ApiServer) -> None:
    server.create(kinds.NODE_POOL, _pool(replicas=1))
    assert server.patch(kinds.NODE_POOL, "d", {"spec": {"replicas": 3}}, subresource="scale")["spec"] == {"replicas": 3}


def test_claims_follow_their_life_in_the_status(server: ApiServer) -> None:
    server.create(kinds.NODE_CLAIM, {"metadata": {"name": "c"}, "spec": {"nodeClassRef": CLASS, "requirements": []}})
    condition = {
        "type": "Launched",
        "status": "True",
        "reason": "Launched",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"providerID": "sim://1", "capacity": {"cpu": "4"}, "conditions": [condition]}
    assert server.patch(kinds.NODE_CLAIM, "c", {"status": status}, subresource="status")["status"] == status


def test_the_core_objects_of_the_guides_are_accepted(server: ApiServer, shared: Path) -> None:
    accepted = []
    for path in sorted((shared / "data" / "seeds").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document["apiVersion"].startswith("karpenter.sh/") and "as-printed" not in path.name:
                version = document["apiVersion"].partition("/")[2]
                plural = {"NodePool": "nodepools", "Provisioner": "provisioners"}[document["kind"]]
                kind = Kind("karpenter.sh", version, document["kind"], plural, namespaced=False)
                document["metadata"]["name"] += f"-{len(accepted)}"
                server.create(kind, document)
                accepted.append(document["kind"])
    assert len(accepted) == 5


def _describe(schema: dict, path: str) -> list[str]:
    missing = [] if schema.get("description") or path.endswith("[]") or path.count(".") < 2 else [path]
    for name, inner in (schema.get("properties") or {}).items():
        missing += _describe(inner, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        missing += _describe(schema["items"], f"{path}[]")
    return missing


def test_every_field_is_described() -> None:
    for crd in core_crds():
        for version in crd["spec"]["versions"]:
            assert _describe(version["schema"]["openAPIV3Schema"], version["name"]) == []

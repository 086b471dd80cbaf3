from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import InvalidObject, KubeError
from karpy.kube.buffercrd import capacity_buffer_crd
from karpy.objects.capacitybuffer import ACTIVE_CAPACITY, CapacityBuffer
from karpy.objects.kinds import CAPACITY_BUFFER, NAMESPACE
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from tests.vectors import read


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(VirtualClock())
    server.install_crd(capacity_buffer_crd())
    return server


def create(server: ApiServer, **spec: Any) -> Any:
    return server.create(CAPACITY_BUFFER, {"metadata": {"name": "b"}, "spec": spec}, "default")


@pytest.mark.core("CORE-460")
def test_the_strategy_has_a_default(server: ApiServer) -> None:
    spec = {"podTemplateRef": {"name": "chunk"}, "replicas": 0}
    assert create(server, **spec)["spec"] == {**spec, "provisioningStrategy": ACTIVE_CAPACITY}


@pytest.mark.core("CORE-460")
@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (
            {"podTemplateRef": {"name": "x"}, "replicas": -1},
            r"spec\.replicas in body should be greater than or equal to 0",
        ),
        ({"scalableRef": {"kind": "Deployment", "name": "x"}, "percentage": -1}, r"spec\.percentage in body should be"),
        ({"podTemplateRef": {}, "replicas": 1}, r"spec\.podTemplateRef\.name: Required value"),
        ({"podTemplateRef": {"name": ""}, "replicas": 1}, r"spec\.podTemplateRef\.name"),
        ({"scalableRef": {"kind": "Deployment"}}, r"spec\.scalableRef\.name: Required value"),
        ({"scalableRef": {"name": "x"}}, r"spec\.scalableRef\.kind: Required value"),
        ({"podTemplateRef": {"name": "x"}, "limits": {"cpu": "lots"}}, r"spec\.limits\.cpu in body should match"),
    ],
)
def test_the_schema_refuses(server: ApiServer, spec: dict[str, Any], complaint: str) -> None:
    with pytest.raises(KubeError, match=complaint):
        create(server, **spec)


@pytest.mark.core("CORE-460")
def test_the_answers_are_those_of_a_real_api_server(server: ApiServer, shared: Path) -> None:
    pytest.importorskip("cel")
    server.create(NAMESPACE, {"metadata": {"name": "t"}})
    for line in recorded(shared):
        expected = (201, line["stored"]) if line["code"] == 201 else (line["code"], line["message"])
        assert answer(server, line["object"]) == expected


def answer(server: ApiServer, obj: dict[str, Any]) -> tuple[int, Any]:
    """Code and stored spec, or code and complaint."""
    try:
        stored = server.create(CAPACITY_BUFFER, obj, "t")
    except KubeError as error:
        return error.code, error.message
    server.delete(CAPACITY_BUFFER, stored["metadata"]["name"], "t")
    return 201, stored["spec"]


@pytest.mark.core("CORE-460")
def test_karpy_itself_refuses_what_the_api_server_refused(shared: Path) -> None:
    for line in recorded(shared):
        obj = copy.deepcopy(line["object"])
        if line["code"] == 201:
            assert CapacityBuffer.from_dict(obj).metadata.name == "b"
        else:
            with pytest.raises(InvalidObject, match=r"^CapacityBuffer/t/b: spec"):
                CapacityBuffer.from_dict(obj)


def recorded(shared: Path) -> list[dict[str, Any]]:
    """What the real API server answered to CapacityBuffers."""
    lines = read(shared, "lifecycle/10-validation.jsonl")
    found = [line for line in lines if line.get("object", {}).get("kind") == "CapacityBuffer"]
    assert len(found) == 5
    return found


def test_it_is_found_by_its_short_name_and_among_what_scales() -> None:
    names = capacity_buffer_crd()["spec"]["names"]
    assert (names["shortNames"], names["categories"]) == (["cb"], ["autoscaling"])


def test_kubectl_shows_strategy_template_replicas_and_the_first_condition() -> None:
    columns = capacity_buffer_crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == [
        *("Strategy", "PodTemplate", "Replicas"),
        *("ConditionsType", "ConditionsStatus", "ConditionsReason", "Age"),
    ]


def test_a_status_is_stored_as_it_is_written(server: ApiServer) -> None:
    created = create(server, podTemplateRef={"name": "chunk"}, replicas=1)
    condition = {
        "type": "ReadyForProvisioning",
        "status": "True",
        "reason": "Resolved",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {
        "podTemplateRef": {"name": "chunk"},
        "podTemplateGeneration": 1,
        "replicas": 1,
        "provisioningStrategy": ACTIVE_CAPACITY,
        "conditions": [condition],
    }
    stored = server.patch(CAPACITY_BUFFER, "b", {"status": status}, "default", subresource="status")
    assert stored["status"] == status
    assert stored["metadata"]["generation"] == created["metadata"]["generation"]

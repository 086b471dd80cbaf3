from __future__ import annotations

import copy

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.apiserver import ApiServer

GADGET = Kind("example.com", "v1", "Gadget", "gadgets", namespaced=False)
OLD_GADGET = Kind("example.com", "v1beta1", "Gadget", "gadgets", namespaced=False)

SPEC = {
    "type": "object",
    "required": ["size"],
    "x-kubernetes-validations": [
        {"rule": "!has(self.weight) || self.weight <= self.size", "message": "weight must not exceed size"}
    ],
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "weight": {"type": "integer"},
        "color": {"type": "string", "default": "red"},
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is fixed"}],
        },
    },
}
CRD = {
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": {"type": "object"}}}
                },
            },
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            },
        ],
    },
}


@pytest.fixture
def gadgets(server: ApiServer) -> ApiServer:
    server.install_crd(CRD)
    return server


def _gadget(name: str = "g", **spec: object) -> dict:
    return {"metadata": {"name": name}, "spec": spec}


def test_a_definition_is_established_and_its_kind_served(gadgets: ApiServer) -> None:
    conditions = gadgets.get(kinds.CRD, "gadgets.example.com")["status"]["conditions"]
    assert {each["type"]: each["status"] for each in conditions} == {"NamesAccepted": "True", "Established": "True"}
    assert gadgets.list(GADGET).items == ()


def test_unknown_fields_go_and_defaults_come(gadgets: ApiServer) -> None:
    created = gadgets.create(GADGET, {**_gadget(size=3, sice=4), "status": {"x": 1}})
    assert created["spec"] == {"size": 3, "color": "red"}
    assert "status" not in created


def test_the_schema_is_enforced(gadgets: ApiServer) -> None:
    with pytest.raises(KubeError, match=r'Gadget\.example\.com "g" is invalid: spec\.size: Invalid value: 0'):
        gadgets.create(GADGET, _gadget(size=0))


def test_rules_are_enforced(gadgets: ApiServer) -> None:
    pytest.importorskip("cel")
    with pytest.raises(KubeError, match='spec: Invalid value: "object": weight must not exceed size'):
        gadgets.create(GADGET, _gadget(size=1, weight=2))
    gadgets.create(GADGET, _gadget(size=1, fixed="x"))
    with pytest.raises(KubeError, match="fixed is fixed"):
        gadgets.patch(GADGET, "g", {"spec": {"fixed": "y"}})


def test_versions_differ_in_their_name_only(gadgets: ApiServer) -> None:
    gadgets.create(OLD_GADGET, _gadget(size=3))
    assert gadgets.get(GADGET, "g")["apiVersion"] == "example.com/v1"
    old = gadgets.get(OLD_GADGET, "g")
    assert old["apiVersion"] == "example.com/v1beta1"
    assert old is gadgets.get(OLD_GADGET, "g")
    watch = gadgets.watch(OLD_GADGET, "1")
    assert [event.object["apiVersion"] for event in watch.poll()] == ["example.com/v1beta1"]


def test_a_write_to_the_status_leaves_a_spec_of_another_version_alone(gadgets: ApiServer) -> None:
    written = gadgets.create(OLD_GADGET, _gadget(other=1))["spec"]
    gadgets.patch(GADGET, "g", {"status": {"x": 1}}, subresource="status")
    gadgets.patch(GADGET, "g", {"metadata": {"labels": {"a": "b"}}})
    assert gadgets.get(OLD_GADGET, "g")["spec"] == written


def test_a_changed_definition_holds_at_once(gadgets: ApiServer) -> None:
    gadgets.create(GADGET, _gadget(size=3))
    changed = copy.deepcopy(CRD)
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["extra"] = {
        "type": "string"
    }
    gadgets.install_crd(changed)
    assert gadgets.patch(GADGET, "g", {"spec": {"extra": "x"}})["spec"]["extra"] == "x"


def test_a_definition_takes_its_objects_along(gadgets: ApiServer) -> None:
    gadgets.create(GADGET, {**_gadget(size=3), "metadata": {"name": "held", "finalizers": ["a.b/c"]}})
    gadgets.create(GADGET, _gadget(size=3))
    gadgets.delete(kinds.CRD, "gadgets.example.com")
    assert [item["metadata"]["name"] for item in gadgets.list(GADGET).items] == ["held"]
    gadgets.patch(GADGET, "held", {"metadata": {"finalizers": None}})
    assert gadgets.list(kinds.CRD).items == ()
    with pytest.raises(KubeError):
        gadgets.list(GADGET)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"group": "other.com"}, "must be spec.names.plural"),
        ({"scope": "Galaxy"}, "spec.scope: Unsupported value"),
        ({"versions": []}, "must have exactly one version marked as storage version"),
    ],
)
def test_a_bad_definition_is_refused(server: ApiServer, change: dict, complaint: str) -> None:
    with pytest.raises(KubeError, match=complaint):
        server.install_crd({**CRD, "spec": {**CRD["spec"], **change}})

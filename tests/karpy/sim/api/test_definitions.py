"""CustomResourceDefinitions over their whole life: what is refused, names that clash, versions and schemas that change."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.kube.watch import Reflector
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType
from tests.karpy.sim.api.conftest import Client, events

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/example.com/{}/gadgets"
MERGE = "application/merge-patch+json"


def version(name: str = "v1", spec: dict | None = None, *, storage: bool = True, **more: Any) -> dict:
    properties = {"spec": {"type": "object", "properties": spec or {"size": {"type": "integer"}}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, **more}


def definition(*versions: dict, **names: Any) -> dict:
    called = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{called['plural']}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": called,
            "versions": list(versions) or [version()],
        },
    }


def gadget(name: str = "g", version: str = "v1", **spec: Any) -> dict:
    return {"apiVersion": f"example.com/{version}", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def install(rest: Client, crd: dict) -> dict:
    code, answer = rest("POST", CRDS, crd)
    assert code == 201, answer
    found: dict = rest("GET", f"{CRDS}/{crd['metadata']['name']}")[1]
    return found


def change(rest: Client, crd: dict) -> tuple[int, dict]:
    code, answer = rest("PUT", f"{CRDS}/{crd['metadata']['name']}", crd)
    return code, answer


def conditions(crd: dict) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in crd["status"]["conditions"]}


def with_schema(node: dict) -> dict:
    return definition(version(spec={"a": node}))


ROOT = "spec.validation.openAPIV3Schema.properties[spec].properties[a]"


@pytest.mark.parametrize(
    ("crd", "problem"),
    [
        ({**definition(), "metadata": {"name": "x"}}, 'must be spec.names.plural+"."+spec.group'),
        (definition(kind="Gad_get"), 'spec.names.kind: Invalid value: "Gad_get": may have mixed case'),
        (definition(shortNames=["G"]), 'spec.names.shortNames[0]: Invalid value: "G": a DNS-1035 label'),
        (definition(listKind="Gadget"), "kind and listKind may not be the same"),
        (definition(version("V1")), 'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label'),
        (definition(version(), version(storage=False)), "must contain unique version names"),
        (definition(version(storage=False)), "must have exactly one version marked as storage version"),
        (definition({**version(), "schema": {}}), "spec.versions[0].schema.openAPIV3Schema: Required value"),
        (with_schema({}), f"{ROOT}.type: Required value: must not be empty for specified object fields"),
        (with_schema({"type": "x"}), f'{ROOT}.type: Unsupported value: "x"'),
        (with_schema({"type": "array"}), f"{ROOT}.items: Required value: must be specified"),
        (with_schema({"type": "array", "items": {}}), f"{ROOT}.items.type: Required value: must not be empty for"),
        (with_schema({"type": "string", "pattern": "("}), f'{ROOT}.pattern: Invalid value: "(": must be a valid'),
        (with_schema({"type": "string", "default": 5}), f"{ROOT}.default: Invalid value"),
        (with_schema({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}),
         f"{ROOT}.x-kubernetes-list-map-keys: Required value"),
        (with_schema({"type": "object", "additionalProperties": False}), "additionalProperties cannot be set to false"),
        (with_schema({"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}), "compilation failed: ERROR"),
        (with_schema({"type": "string", "anyOf": [{"type": "string"}]}), f"{ROOT}.anyOf[0].type: Forbidden: must be empty"),
        (definition(version(additionalPrinterColumns=[{"name": "A", "type": "x", "jsonPath": ".a"}])),
         "must be one of integer,number,string,boolean,date"),
        (definition(version(subresources={"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.r"}})),
         "should be a json path under .spec"),
    ],
)  # fmt: skip
def test_definitions_that_are_refused(rest: Client, crd: dict, problem: str) -> None:
    code, answer = rest("POST", CRDS, crd)
    assert code == 422
    assert problem in answer["message"]


def test_groups_of_the_project_need_an_approval(rest: Client) -> None:
    crd = definition()
    crd["spec"]["group"] = "test.k8s.io"
    crd["metadata"]["name"] = "gadgets.test.k8s.io"
    assert (
        'protected groups must have approval annotation "api-approved.kubernetes.io"'
        in rest("POST", CRDS, crd)[1]["message"]
    )
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for a test"}
    assert rest("POST", CRDS, crd)[0] == 201


def test_what_is_accepted_is_served_and_says_so(rest: Client) -> None:
    found = install(rest, definition(shortNames=["gd"], categories=["things"]))
    assert conditions(found) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert found["status"]["acceptedNames"]["shortNames"] == ["gd"]
    (listed,) = rest("GET", "/apis/example.com/v1")[1]["resources"]
    assert (listed["shortNames"], listed["categories"]) == (["gd"], ["things"])


def test_names_that_another_definition_has_are_not_accepted(rest: Client) -> None:
    install(rest, definition(shortNames=["gd"]))
    other = install(rest, definition(plural="gods", singular="god", kind="God", shortNames=["gd"]))
    assert conditions(other) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert other["status"]["conditions"][0]["message"] == '"gd" is already in use'
    assert rest("GET", "/apis/example.com/v1/gods")[0] == 404
    same_kind = install(rest, definition(plural="gizmos", singular="gizmo", kind="Gadget", listKind="GizmoList"))
    assert conditions(same_kind)["NamesAccepted"] == ("False", "KindConflict")


def test_objects_are_read_in_every_version_whatever_they_are_stored_in(rest: Client) -> None:
    install(rest, definition(version("v1"), version("v2", storage=False)))
    rest("POST", GADGETS.format("v1"), gadget(size=1))
    found = rest("GET", GADGETS.format("v2"))[1]["items"][0]
    assert (found["apiVersion"], found["spec"]) == ("example.com/v2", {"size": 1})


def test_the_storage_version_can_move_while_objects_exist(rest: Client) -> None:
    install(rest, definition(version("v1"), version("v2", storage=False)))
    rest("POST", GADGETS.format("v1"), gadget(size=1))
    assert change(rest, definition(version("v1", storage=False), version("v2")))[0] == 200
    stored = rest("GET", f"{CRDS}/gadgets.example.com")[1]["status"]["storedVersions"]
    assert stored == ["v1", "v2"]
    for name in ("v1", "v2"):
        found = rest("GET", GADGETS.format(name) + "/g")[1]
        assert (found["apiVersion"], found["spec"]) == (f"example.com/{name}", {"size": 1})
    code, answer = change(rest, definition(version("v2")))
    assert code == 422
    assert 'status.storedVersions[0]: Invalid value: "v1"' in answer["message"]


def test_a_new_default_shows_on_old_objects_and_a_field_that_is_gone_does_not(rest: Client) -> None:
    install(rest, definition(version(spec={"size": {"type": "integer"}, "old": {"type": "string"}})))
    created = rest("POST", GADGETS.format("v1"), gadget(size=1, old="x"))[1]
    change(rest, definition(version(spec={"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}})))
    found = rest("GET", GADGETS.format("v1") + "/g")[1]
    assert found["spec"] == {"size": 1, "color": "red"}
    assert found["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert rest("GET", GADGETS.format("v1"))[1]["items"][0]["spec"] == found["spec"]
    line = json.loads(rest.watch(GADGETS.format("v1")).lines()[0])
    assert line["object"]["spec"] == found["spec"]
    changed = rest("PATCH", GADGETS.format("v1") + "/g", {"spec": {"size": 2}}, media=MERGE)[1]
    assert changed["spec"] == {"size": 2, "color": "red"}


def test_a_stricter_schema_lets_old_values_stay(rest: Client) -> None:
    install(rest, definition())
    rest("POST", GADGETS.format("v1"), gadget(size=1))
    change(rest, definition(version(spec={"size": {"type": "integer", "minimum": 5}})))
    labelled = {"metadata": {"labels": {"a": "b"}}}
    assert rest("PATCH", GADGETS.format("v1") + "/g", labelled, media=MERGE)[0] == 200
    assert rest("PATCH", GADGETS.format("v1") + "/g", {"spec": {"size": 2}}, media=MERGE)[0] == 422


def test_the_kind_of_a_served_definition_stays(rest: Client) -> None:
    install(rest, definition())
    code, answer = change(rest, definition(kind="Widget"))
    assert code == 422
    assert 'spec.names.kind: Invalid value: "Widget": field is immutable' in answer["message"]


def test_a_deleted_definition_takes_its_objects_along(rest: Client) -> None:
    install(rest, definition())
    rest("POST", GADGETS.format("v1"), gadget("a"))
    stream = rest.watch(GADGETS.format("v1"))
    assert events(stream) == [("ADDED", "a")]
    rest("DELETE", f"{CRDS}/gadgets.example.com")
    assert events(stream) == [("DELETED", "a")]
    assert rest("GET", GADGETS.format("v1"))[0] == 404
    assert rest("GET", f"{CRDS}/gadgets.example.com")[0] == 404


def test_a_definition_waits_for_objects_that_are_held_and_takes_no_new_ones(rest: Client) -> None:
    install(rest, definition())
    held = gadget("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    rest("POST", GADGETS.format("v1"), held)
    rest("DELETE", f"{CRDS}/gadgets.example.com")
    code, answer = rest("POST", GADGETS.format("v1"), gadget("b"))
    assert (code, answer["message"]) == (405, "create not allowed while custom resource definition is terminating")
    assert "deletionTimestamp" in rest("GET", GADGETS.format("v1") + "/a")[1]["metadata"]
    rest("PATCH", GADGETS.format("v1") + "/a", {"metadata": {"finalizers": None}}, media=MERGE)
    assert rest("GET", f"{CRDS}/gadgets.example.com")[0] == 404


def test_fields_can_be_made_selectable(rest: Client) -> None:
    spec = {"color": {"type": "string"}}
    install(rest, definition(version(spec=spec, selectableFields=[{"jsonPath": ".spec.color"}])))
    rest("POST", GADGETS.format("v1"), gadget("r", color="red"))
    rest("POST", GADGETS.format("v1"), gadget("g", color="green"))
    found = rest("GET", GADGETS.format("v1"), fieldSelector="spec.color=red")[1]["items"]
    assert [each["metadata"]["name"] for each in found] == ["r"]
    code, answer = rest("GET", GADGETS.format("v1"), fieldSelector="spec.size=1")
    assert (code, answer["message"]) == (400, "field label not supported: spec.size")


def test_deprecated_versions_warn(rest: Client) -> None:
    install(rest, definition(version(), version("v1beta1", storage=False, deprecated=True)))
    assert rest.warnings("GET", GADGETS.format("v1beta1")) == ("example.com/v1beta1 Gadget is deprecated",)
    assert rest.warnings("GET", GADGETS.format("v1")) == ()


@pytest.mark.parametrize(
    ("node", "value", "problem"),
    [
        ({"type": "string", "format": "date-time"}, "yesterday", "spec.a in body must be of type date-time"),
        ({"type": "string", "format": "ipv4"}, "1.2.3", "spec.a in body must be of type ipv4"),
        ({"type": "integer", "multipleOf": 5}, 7, "spec.a in body should be a multiple of 5"),
        ({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}, {},
         "spec.a in body should have at least 1 properties"),
        ({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
         {"kind": "Pod"}, "spec.a.apiVersion: Required value: must not be empty"),
        ({"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
          "x-kubernetes-validations": [{"rule": "self.x == 'a'"}]},
         {"y": "b"}, "spec.a: Invalid value: \"object\": no such key: x evaluating rule: self.x == 'a'"),
        ({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": "self.sum() < 5"}]},
         [2, 4], 'spec.a: Invalid value: "array": failed rule: self.sum() < 5'),
    ],
)  # fmt: skip
def test_values_that_the_schema_forbids(rest: Client, node: dict, value: Any, problem: str) -> None:
    install(rest, with_schema(node))
    code, answer = rest("POST", GADGETS.format("v1"), gadget(a=value))
    assert code == 422
    assert problem in answer["message"]


def test_embedded_objects_keep_their_metadata(rest: Client) -> None:
    node = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }
    install(rest, with_schema(node))
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": "y", "z": "gone"}}
    found = rest("POST", GADGETS.format("v1"), gadget(a=copy.deepcopy(inner)))[1]["spec"]["a"]
    assert found == {**inner, "spec": {"x": "y"}}


def test_a_scale_below_zero_is_refused(rest: Client) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    install(rest, definition(version(subresources={"scale": scale})))
    rest("POST", GADGETS.format("v1"), gadget(size=1))
    code, answer = rest("PATCH", GADGETS.format("v1") + "/g/scale", {"spec": {"replicas": -1}}, media=MERGE)
    assert code == 422
    assert answer["message"] == (
        'Scale.autoscaling "g" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    )


class TestEnds:
    def test_who_watches_a_resource_is_told_that_it_ended(self, rest: Client) -> None:
        install(rest, definition())
        rest("POST", GADGETS.format("v1"), gadget("a"))
        stream = rest.watch(GADGETS.format("v1"))
        assert (events(stream), stream.is_over) == ([("ADDED", "a")], False)
        rest("DELETE", f"{CRDS}/gadgets.example.com")
        assert (events(stream), stream.is_over) == ([("DELETED", "a")], True)

    def test_a_follower_finds_the_objects_of_a_resource_that_was_defined_again(self, rest: Client) -> None:
        kind, told = Kind("example.com", "v1", "Gadget", "gadgets", namespaced=False), []
        follower = Reflector(
            rest.server, kind, lambda event: told.append((event.type, event.object["metadata"]["name"]))
        )
        for name in ("a", "b"):
            install(rest, definition())
            rest("POST", GADGETS.format("v1"), gadget(name))
            follower.poll()
            rest("DELETE", f"{CRDS}/gadgets.example.com")
            follower.poll()
            with pytest.raises(KubeError, match="the server could not find the requested resource"):
                follower.poll()
        assert told == [
            (EventType.ADDED, "a"),
            (EventType.DELETED, "a"),
            (EventType.ADDED, "b"),
            (EventType.DELETED, "b"),
        ]

    def test_no_watch_begins_in_the_time_of_an_earlier_resource_of_that_name(self, rest: Client) -> None:
        install(rest, definition())
        then = rest("GET", GADGETS.format("v1"))[1]["metadata"]["resourceVersion"]
        rest("DELETE", f"{CRDS}/gadgets.example.com")
        install(rest, definition())
        with pytest.raises(KubeError) as lost:
            rest.watch(GADGETS.format("v1"), resourceVersion=then).lines()
        assert lost.value.gone

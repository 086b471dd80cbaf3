"""Objects of any shape that JSON can have: whatever is sent, the API server says what is wrong with it, and lives on."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from tests.karpy.sim.api.conftest import Client

SPACE = "/namespaces/default"
LABELS = {"a": "b"}
CONTAINER = {
    "name": "c",
    "image": "i",
    "ports": [{"containerPort": 80, "name": "p"}],
    "env": [{"name": "A", "value": "b"}],
    "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
    "livenessProbe": {"httpGet": {"port": 80}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}
POD = {
    "containers": [CONTAINER],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}}
            ]
        }
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "nodeSelector": LABELS,
}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
META = {
    "name": "x",
    "labels": LABELS,
    "annotations": LABELS,
    "finalizers": ["a.b/c"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
}
OBJECTS: dict[str, dict[str, Any]] = {
    f"/api/v1{SPACE}/pods": {"spec": POD},
    "/api/v1/nodes": {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}, "status": {"capacity": {"cpu": "1"}}},
    f"/api/v1{SPACE}/services": {"spec": {"ports": [{"port": 80, "targetPort": "p"}], "selector": LABELS}},
    f"/api/v1{SPACE}/configmaps": {"data": LABELS, "binaryData": {"c": ""}},
    f"/api/v1{SPACE}/events": {"involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"}, "reason": "R"},
    f"/api/v1{SPACE}/persistentvolumeclaims": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    f"/api/v1{SPACE}/resourcequotas": {"spec": {"hard": {"pods": "5"}}},
    f"/api/v1{SPACE}/limitranges": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
    f"/apis/apps/v1{SPACE}/deployments": {
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": LABELS, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
            "template": TEMPLATE,
            "strategy": {"rollingUpdate": {"maxSurge": "10%"}},
        }
    },
    f"/apis/apps/v1{SPACE}/statefulsets": {
        "spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, "serviceName": "s"}
    },
    f"/apis/batch/v1{SPACE}/cronjobs": {
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}},
        }
    },
    f"/apis/policy/v1{SPACE}/poddisruptionbudgets": {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}},
    f"/apis/autoscaling/v2{SPACE}/horizontalpodautoscalers": {
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 5}}}],
        }
    },
    "/apis/scheduling.k8s.io/v1/priorityclasses": {"value": 5},
    "/apis/storage.k8s.io/v1/storageclasses": {"provisioner": "p", "parameters": LABELS},
    f"/apis/coordination.k8s.io/v1{SPACE}/leases": {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 5}},
    f"/apis/rbac.authorization.k8s.io/v1{SPACE}/roles": {
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
                }
            ],
        },
    },
}
MEDIA = ("application/merge-patch+json", "application/strategic-merge-patch+json")

oddities = st.sampled_from(
    [None, True, -1, 3, 1.5, "", "x", "a b", [], ["x"], [None], [[1]], {}, {"x": 1}, {"x": None}]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, the whole of it left out."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*path, key)
        yield from places(member, (*path, key))


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = odd
    return changed


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(sorted(OBJECTS)), oddities)
def test_the_server_has_an_answer_to_every_shape(data: st.DataObject, path: str, odd: Any) -> None:
    rest = Client(ApiServer(VirtualClock()))
    whole = {"metadata": META, **OBJECTS[path]}
    place = data.draw(st.sampled_from(list(places(whole))))
    changed = put(whole, place, odd)
    sound(rest, "POST", path, changed)
    rest("POST", path, whole)
    name = whole["metadata"]["name"]
    sound(rest, "PUT", f"{path}/{name}", changed)
    sound(rest, "PATCH", f"{path}/{name}", changed, media=data.draw(st.sampled_from(MEDIA)))
    apply = {"media": "application/apply-patch+yaml", "fieldManager": "m", "force": "true"}
    sound(rest, "PATCH", f"{path}/{name}", {**rest_head(rest, path, name), **changed}, **apply)
    sound(rest, "GET", path)
    sound(rest, "GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    sound(rest, "DELETE", f"{path}/{name}")


def rest_head(rest: Client, path: str, name: str) -> dict[str, Any]:
    found = rest("GET", f"{path}/{name}")[1]
    return {key: found[key] for key in ("kind", "apiVersion") if key in found and found["kind"] != "Status"}


def sound(rest: Client, method: str, path: str, body: Any = None, **options: str) -> None:
    """The answer tells a rule, and not that the server stumbled."""
    code, answer = rest(method, path, body, **options)
    stumbled = code == 500 and "does not contain declared merge key" not in answer["message"]
    assert not stumbled, answer["message"]

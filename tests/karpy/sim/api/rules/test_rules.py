"""What objects of built-in kinds must hold, and what of them may not change: each rule with the real server's text."""

from __future__ import annotations

from typing import Any

import pytest

from tests.karpy.sim.api.conftest import Client

MERGE = "application/merge-patch+json"
SPACE = "/namespaces/default"
PATHS = {
    **{kind: f"/api/v1{SPACE}/{kind}" for kind in (
        *("pods", "services", "configmaps", "secrets", "persistentvolumeclaims", "limitranges"),)},
    **{kind: f"/api/v1/{kind}" for kind in ("nodes", "persistentvolumes")},
    **{kind: f"/apis/apps/v1{SPACE}/{kind}" for kind in ("deployments", "statefulsets", "daemonsets", "replicasets")},
    **{kind: f"/apis/batch/v1{SPACE}/{kind}" for kind in ("jobs", "cronjobs")},
    "horizontalpodautoscalers": f"/apis/autoscaling/v2{SPACE}/horizontalpodautoscalers",
    "poddisruptionbudgets": f"/apis/policy/v1{SPACE}/poddisruptionbudgets",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "leases": f"/apis/coordination.k8s.io/v1{SPACE}/leases",
    "roles": f"/apis/rbac.authorization.k8s.io/v1{SPACE}/roles",
    "rolebindings": f"/apis/rbac.authorization.k8s.io/v1{SPACE}/rolebindings",
}  # fmt: skip
CONTAINER = {"name": "c", "image": "i"}
LABELS = {"a": "b"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
WORKLOAD = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
RUN_ONCE = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def named(name: str = "x", **members: Any) -> dict:
    return {"metadata": {"name": name}, **members}


def pod(**spec: Any) -> dict:
    return named(spec={"containers": [CONTAINER], **spec})


def container(**members: Any) -> dict:
    return pod(containers=[{**CONTAINER, **members}])


def workload(**spec: Any) -> dict:
    return named(spec={**WORKLOAD, **spec})


def cron(**spec: Any) -> dict:
    return named(spec={"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": RUN_ONCE}}, **spec})


def service(**spec: Any) -> dict:
    return named(spec={"ports": [{"port": 80}], **spec})


def budget(**spec: Any) -> dict:
    return named(spec={"selector": {"matchLabels": LABELS}, **spec})


PODS = [
    (container(name="C"), 'spec.containers[0].name: Invalid value: "C": a lowercase RFC 1123 label'),
    (container(image=""), "spec.containers[0].image: Required value"),
    (pod(containers=[CONTAINER, CONTAINER]), 'spec.containers[1].name: Duplicate value: "c"'),
    (pod(initContainers=[CONTAINER]), 'spec.initContainers[0].name: Duplicate value: "c"'),
    (container(ports=[{"containerPort": 70000}]),
     "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"),
    (container(ports=[{"containerPort": 1, "name": "UP"}]), "must contain only alpha-numeric characters (a-z, 0-9)"),
    (container(env=[{"name": "1A"}]), 'spec.containers[0].env[0].name: Invalid value: "1A": a valid environment'),
    (container(env=[{"name": "A", "valueFrom": {}}]), "must specify one of: `fieldRef`, `resourceFieldRef`"),
    (container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
     'spec.containers[0].volumeMounts[0].name: Not found: "v"'),
    (container(imagePullPolicy="Soon"),
     'imagePullPolicy: Unsupported value: "Soon": supported values: "Always", "IfNotPresent", "Never"'),
    (container(livenessProbe={}), "spec.containers[0].livenessProbe: Required value: must specify a handler type"),
    (container(resources={"requests": {"foo": "1"}}), "must be a standard resource for containers"),
    (container(resources={"requests": {"x.io/gpu": "1"}}), "Limit must be set for non overcommitable resources"),
    (container(resources={"requests": {"x.io/gpu": "1"}, "limits": {"x.io/gpu": "2"}}),
     'spec.containers[0].resources.requests: Invalid value: "1": must be equal to x.io/gpu limit of 2'),
    (container(resources={"limits": {"x.io/gpu": "500m"}}), "must be an integer"),
    (pod(volumes=[{"name": "v", "ephemeral": {}}]), "spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"),
    (pod(volumes=[{"name": "v"}, {"name": "v"}]), 'spec.volumes[1].name: Duplicate value: "v"'),
    (pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]), "may not specify more than 1 volume type"),
    (pod(restartPolicy="Maybe"),
     'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"'),
    (pod(nodeSelector={"a": "b c"}), 'spec.nodeSelector: Invalid value: "b c": a valid label must be'),
    (pod(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647"),
    (pod(tolerations=[{"operator": "Equal"}]), "operator must be Exists when `key` is empty"),
    (pod(tolerations=[{"key": "k", "operator": "Exists", "tolerationSeconds": 5, "effect": "NoSchedule"}]),
     "effect must be 'NoExecute' when `tolerationSeconds` is set"),
    (pod(affinity={"podAntiAffinity": {REQUIRED: [{}]}}), "topologyKey: Required value: can not be empty"),
    (pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 0, "podAffinityTerm": {"topologyKey": "z"}}]}}), "must be in the range 1-100"),
    (pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "k", "operator": "In"}]}]}}}), "must be specified when `operator` is 'In' or 'NotIn'"),
    (pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway",
                                     "minDomains": 2}]), "can only use minDomains if whenUnsatisfiable=DoNotSchedule"),
    (pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}] * 2),
     'spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, ScheduleAnyway}"'),
]  # fmt: skip


@pytest.mark.parametrize(("body", "problem"), PODS)
def test_pods_that_are_refused(rest: Client, body: dict, problem: str) -> None:
    refused(rest, "pods", body, problem)


def refused(rest: Client, kind: str, body: dict, problem: str) -> None:
    code, answer = rest("POST", PATHS[kind], body)
    assert code == 422, answer
    assert problem in answer["message"]


def done_when(rule: dict) -> dict:
    """A Job of three parts that ends by a rule of its own."""
    template = {"spec": {**pod()["spec"], "restartPolicy": "Never"}}
    policy = {"rules": [rule]}
    return named(spec={"completions": 3, "completionMode": "Indexed", "successPolicy": policy, "template": template})


WORKLOADS = [
    ("deployments", named(spec={"template": TEMPLATE}), "spec.selector: Required value"),
    ("deployments", workload(selector={}), "empty selector is invalid for deployment"),
    ("deployments", workload(replicas=-1), "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
    ("deployments", workload(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
     "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"),
    ("deployments", workload(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
     "may not be 0 when `maxSurge` is 0"),
    ("deployments", workload(strategy={"rollingUpdate": {"maxUnavailable": "110%"}}), "must not be greater than 100%"),
    ("deployments", workload(progressDeadlineSeconds=5, minReadySeconds=5), "must be greater than minReadySeconds"),
    ("deployments", workload(template={**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}),
     'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'),
    ("statefulsets", workload(podManagementPolicy="x"), "must be 'OrderedReady' or 'Parallel'"),
    ("daemonsets", workload(selector={"matchLabels": {"a": "other"}}), "`selector` does not match template `labels`"),
    ("jobs", named(spec={"template": {"spec": {"containers": [CONTAINER]}}}),
     'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
    ("jobs", named(spec={"template": RUN_ONCE, "completionMode": "Indexed", "parallelism": 1}), "when completion mode is Indexed"),
    ("cronjobs", cron(schedule="61 * * * *"), "end of range (61) above maximum (59): 61"),
    ("cronjobs", cron(timeZone="Nowhere/Land"), "unknown time zone Nowhere/Land"),
    ("jobs", done_when({}), "successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes"),
    ("jobs", done_when({"succeededIndexes": "a-b"}), "succeededIndexes: cannot convert string to integer for index"),
    ("jobs", done_when({"succeededIndexes": "1-0"}), "succeededIndexes: non-increasing order"),
    ("jobs", done_when({"succeededIndexes": "0-999999999999"}), 'succeededIndexes: too large index: "999999999999"'),
    ("cronjobs", cron(concurrencyPolicy="x"), 'supported values: "Allow", "Forbid", "Replace"'),
    ("cronjobs", {**cron(), "metadata": {"name": "n" * 53}}, "must be no more than 52 characters"),
    ("poddisruptionbudgets", budget(minAvailable="half"), "a valid percent string must be"),
    ("poddisruptionbudgets", budget(maxUnavailable=-1), "must be greater than or equal to 0"),
    ("horizontalpodautoscalers", named(spec={"maxReplicas": 0, "scaleTargetRef": {"kind": "D", "name": "d"}}),
     "spec.maxReplicas: Invalid value: 0: must be greater than 0"),
    ("horizontalpodautoscalers", named(spec={"minReplicas": 3, "maxReplicas": 2, "scaleTargetRef": {"kind": "D"}}),
     "must be greater than or equal to `minReplicas`, spec.scaleTargetRef.name: Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "problem"), WORKLOADS)
def test_workloads_that_are_refused(rest: Client, kind: str, body: dict, problem: str) -> None:
    refused(rest, kind, body, problem)


OTHERS = [
    ("services", named(spec={}), "spec.ports: Required value"),
    ("services", service(ports=[{"port": 0}]), "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535"),
    ("services", service(ports=[{"port": 1}, {"port": 2}]), "spec.ports[0].name: Required value"),
    ("services", service(type="Odd"),
     'spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'),
    ("services", named(spec={"type": "ExternalName"}), "spec.externalName: Required value"),
    ("services", {**service(), "metadata": {"name": "1x"}}, "a DNS-1035 label must consist of"),
    ("configmaps", named(data={"a b": ""}), 'data[a b]: Invalid value: "a b": a valid config key must consist of'),
    ("configmaps", named(data={"a": "x" * (1 << 20), "b": "y"}), "[]: Too long: must have at most 1048576 bytes"),
    ("secrets", named(type="kubernetes.io/tls", data={"tls.crt": ""}), "data[tls.key]: Required value"),
    ("persistentvolumeclaims", named(spec={}), "spec.accessModes: Required value: at least 1 access mode is required"),
    ("persistentvolumeclaims", named(spec={"accessModes": ["Some"], "resources": {"requests": {"storage": "1Gi"}}}),
     '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'),
    ("persistentvolumes", named(spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}),
     "spec: Required value: must specify a volume type"),
    ("nodes", named(spec={"taints": [{"key": "k"}]}), "metadata.taints[0].effect: Required value"),
    ("nodes", named(spec={"taints": [{"key": "k", "effect": "NoExecute"}] * 2}), "must be unique by key and effect"),
    ("priorityclasses", named(value=2_000_000_000), "maximum allowed value of a user defined priority is 1000000000"),
    ("priorityclasses", named("system-mine", value=1), "prefix are reserved for system use only"),
    ("storageclasses", named(), "provisioner: Required value"),
    ("leases", named(spec={"leaseDurationSeconds": 0}), "must be greater than 0"),
    ("limitranges", named(spec={"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}),
     'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'),
    ("roles", named(rules=[{"apiGroups": [""], "resources": ["pods"]}]), "verbs must contain at least one value"),
    ("roles", named(rules=[{"verbs": ["get"], "apiGroups": [""]}]), "must supply at least one resource"),
    ("rolebindings", named(roleRef={"kind": "Foo", "name": "r"}), 'supported values: "Role", "ClusterRole"'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "problem"), OTHERS)
def test_objects_of_other_kinds_that_are_refused(rest: Client, kind: str, body: dict, problem: str) -> None:
    refused(rest, kind, body, problem)


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CHANGES = [
    ("pods", pod(), {"spec": {"hostname": "h"}}, "spec: Forbidden: pod updates may not change fields other than"),
    ("pods", pod(), {"spec": {"schedulingGates": [{"name": "a.b/c"}]}}, "only deletion is allowed, but found new"),
    ("statefulsets", workload(serviceName="s"), {"spec": {"serviceName": "t"}},
     "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template'"),
    ("daemonsets", workload(), {"spec": {"selector": {"matchLabels": {"a": "c"}}}}, "spec.selector: Invalid value"),
    ("jobs", named(spec={"template": RUN_ONCE}), {"spec": {"completions": 3}},
     "spec.completions: Invalid value: 3: field is immutable"),
    ("configmaps", named(data={"a": "b"}, immutable=True), {"data": {"a": "c"}},
     "data: Forbidden: field is immutable when `immutable` is set"),
    ("configmaps", named(immutable=True), {"immutable": False}, "immutable: Forbidden: field is immutable when"),
    ("secrets", named(), {"type": "mine"}, 'type: Invalid value: "mine": field is immutable'),
    ("services", service(), {"spec": {"clusterIP": "10.96.9.9"}},
     'spec.clusterIPs[0]: Invalid value: []string{"10.96.9.9"}: may not change once set'),
    ("persistentvolumeclaims", named(spec=CLAIM), {"spec": {"accessModes": ["ReadWriteMany"]}},
     "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName"),
    ("persistentvolumes", named(spec={**CLAIM, "resources": None, "capacity": {"storage": "1Gi"},
                                      "hostPath": {"path": "/a"}}),
     {"spec": {"hostPath": {"path": "/b"}}}, "spec.persistentvolumesource is immutable after creation"),
    ("priorityclasses", named(value=1), {"value": 2}, "value: Forbidden: may not be changed in an update."),
    ("storageclasses", named(provisioner="p"), {"provisioner": "q"}, "updates to provisioner are forbidden."),
    ("storageclasses", named(provisioner="p"), {"volumeBindingMode": "WaitForFirstConsumer"}, "field is immutable"),
    ("rolebindings", named(roleRef={"kind": "Role", "name": "r"}), {"roleRef": {"name": "s"}}, "cannot change roleRef"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "change", "problem"), CHANGES)
def test_changes_that_are_refused(rest: Client, kind: str, body: dict, change: dict, problem: str) -> None:
    code, answer = rest("POST", PATHS[kind], body)
    assert code == 201, answer
    code, answer = rest("PATCH", f"{PATHS[kind]}/x", change, media=MERGE)
    assert code == 422, answer
    assert problem in answer["message"]


def test_a_gated_pod_may_still_be_told_where_to_go(rest: Client) -> None:
    rest("POST", PATHS["pods"], pod(schedulingGates=[{"name": "a.b/c"}]))
    code, answer = rest("PATCH", f"{PATHS['pods']}/x", {"spec": {"nodeSelector": {"z": "1"}}}, media=MERGE)
    assert (code, answer["spec"]["nodeSelector"]) == (200, {"z": "1"})
    rest("PATCH", f"{PATHS['pods']}/x", {"spec": {"schedulingGates": None}}, media=MERGE)
    assert rest("PATCH", f"{PATHS['pods']}/x", {"spec": {"nodeSelector": {"z": "2"}}}, media=MERGE)[0] == 422


def test_status_writes_are_not_held_up_by_the_spec(rest: Client) -> None:
    rest("POST", PATHS["pods"], pod())
    code, answer = rest("PATCH", f"{PATHS['pods']}/x/status", {"status": {"phase": "Running"}}, media=MERGE)
    assert (code, answer["status"]["phase"]) == (200, "Running")


class TestServices:
    def test_addresses_are_given_and_kept_through_a_replacement(self, rest: Client) -> None:
        given = rest("POST", PATHS["services"], service())[1]["spec"]
        assert given["clusterIPs"] == [given["clusterIP"]]
        code, answer = rest("PUT", f"{PATHS['services']}/x", service(ports=[{"port": 81}]))
        assert (code, answer["spec"]["clusterIP"]) == (200, given["clusterIP"])

    def test_node_ports_come_and_go_with_the_type(self, rest: Client) -> None:
        rest("POST", PATHS["services"], service())
        path = f"{PATHS['services']}/x"
        opened = rest("PATCH", path, {"spec": {"type": "NodePort"}}, media=MERGE)[1]["spec"]
        assert 30_000 <= opened["ports"][0]["nodePort"] <= 32_767
        assert opened["externalTrafficPolicy"] == "Cluster"
        replaced = rest("PUT", path, service(type="NodePort"))[1]["spec"]
        assert replaced["ports"] == opened["ports"]
        closed = rest("PATCH", path, {"spec": {"type": "ClusterIP"}}, media=MERGE)[1]["spec"]
        assert "nodePort" not in closed["ports"][0]

    @pytest.mark.parametrize(
        ("spec", "problem"),
        [
            ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30_000}]}, "provided port is already allocated"),
            ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}, "The range of valid ports is 30000-32767"),
            ({"clusterIP": "10.96.0.2"}, "failed to allocate IP 10.96.0.2: provided IP is already allocated"),
        ],
    )
    def test_what_another_has_cannot_be_had(self, rest: Client, spec: dict, problem: str) -> None:
        taken = {"type": "NodePort", "clusterIP": "10.96.0.2", "ports": [{"port": 1, "nodePort": 30_000}]}
        assert rest("POST", PATHS["services"], service(**taken))[0] == 201
        refused(rest, "services", {**service(**spec), "metadata": {"name": "y"}}, problem)

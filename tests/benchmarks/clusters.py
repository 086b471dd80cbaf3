"""A large cluster as the API server tells of it: pages of JSON with all that real objects carry, read by karpy or not."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import attrs

from karpy import labels
from karpy.objects.kinds import NODE, POD, Kind

PAGE = 500
"""How many objects the API server gives at a time, asked as informers ask."""

TIME = "2026-11-21T%(hour)02d:%(minute)02d:%(second)02dZ"
ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
DAEMONS = 6
APPS = 400
SHAPES = 100
"""How many applications the waiting pods are of."""


@attrs.frozen
class Cluster:
    """``nodes`` machines of ``cpus`` with ``pods`` pods on them, in equal shares: some of DaemonSets, the rest of Deployments."""

    nodes: int
    pods: int
    cpus: int = 16

    def pages(self) -> Iterator[tuple[Kind, bytes]]:
        """All objects, page by page."""
        yield from _pages(NODE, (self.node(index) for index in range(self.nodes)))
        yield from _pages(POD, (self.pod(index) for index in range(self.pods)))

    def node(self, index: int) -> bytes:
        return _node(self.cpus) % _fields(
            name=f"node-{index:05d}", zone=ZONES[index % 3], uid=f"{index:012x}", number=index
        )

    def daemon(self, app: int) -> dict[str, Any]:
        """What the pods of a DaemonSet ask for."""
        return {"requests": _asked(app), "spec": _placing(app)}

    def waiting(self, index: int) -> bytes:
        """A pod that kube-scheduler gave up, of one of the applications that ask for much or little of where they run."""
        app = DAEMONS + index % SHAPES
        return _waiting(app) % _fields(name=f"new-{app}-6b7f9d-{index:06d}", uid=f"f{index:011x}", number=index)

    def pod(self, index: int) -> bytes:
        """The pods of a node are its daemons, and pods of applications that follow each other."""
        node, place = index % self.nodes, index // self.nodes
        app = place if place < DAEMONS else DAEMONS + (index * 7 + place) % APPS
        return _pod(app) % _fields(
            name=f"app-{app}-6b7f9d-{index:06d}",
            node=f"node-{node:05d}",
            uid=f"{index:012x}",
            number=index,
        )


def _fields(number: int, **values: object) -> dict[bytes, object]:
    values |= {"number": number, "hour": number // 3600 % 24, "minute": number // 60 % 60, "second": number % 60}
    return {key.encode(): value.encode() if isinstance(value, str) else value for key, value in values.items()}


def _pages(kind: Kind, objects: Iterator[bytes]) -> Iterator[tuple[Kind, bytes]]:
    head = b'{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"9000000"},"items":[' % kind.kind.encode()
    page = []
    for obj in objects:
        page.append(obj)
        if len(page) == PAGE:
            yield kind, head + b",".join(page) + b"]}"
            page = []
    if page:
        yield kind, head + b",".join(page) + b"]}"


def _metadata(manager: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Metadata with the notes of who manages which field: the greater part of many an object."""
    return {
        "name": "%(name)s",
        "uid": "6c0f3a52-4f0e-4e0c-9f5b-%(uid)s",
        "resourceVersion": "%(number)d",
        "creationTimestamp": TIME,
        **more,
        "managedFields": [
            {
                "manager": manager,
                "operation": "Update",
                "apiVersion": "v1",
                "time": TIME,
                "fieldsType": "FieldsV1",
                "fieldsV1": fields,
            },
            {
                "manager": "kubelet",
                "operation": "Update",
                "apiVersion": "v1",
                "time": TIME,
                "fieldsType": "FieldsV1",
                "subresource": "status",
                "fieldsV1": {
                    "f:status": {
                        "f:conditions": {
                            f'k:{{"type":"{name}"}}': _noted(
                                ".", "f:lastProbeTime", "f:lastTransitionTime", "f:status", "f:type"
                            )
                            for name in ("ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready")
                        },
                        **_noted("f:containerStatuses", "f:hostIP", "f:phase", "f:podIP", "f:startTime"),
                    }
                },
            },
        ],
    }


def _noted(*names: str) -> dict[str, Any]:
    return {name: {} for name in names}


@functools.cache
def _node(cpus: int) -> bytes:
    own = {
        labels.HOSTNAME: "%(name)s",
        labels.ZONE: "%(zone)s",
        labels.REGION: "us-west-2",
        labels.INSTANCE_TYPE: "m6i.4xlarge",
        labels.ARCH: "amd64",
        labels.OS: "linux",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "node.kubernetes.io/lifecycle": "normal",
        "team": "platform",
        "k8s.io/cloud-provider-aws": "0123456789abcdef",
        **{f"example.com/fact-{index}": f"value-{index}" for index in range(6)},
    }
    room = {
        "cpu": f"{cpus - 1}890m",
        "ephemeral-storage": "95551679124",
        "memory": f"{cpus * 3884018}Ki",
        "pods": "110",
    }
    conditions = [
        {
            "type": type_,
            "status": "True" if type_ == "Ready" else "False",
            "reason": f"Kubelet{type_}",
            "message": "kubelet has sufficient of it",
            "lastHeartbeatTime": TIME,
            "lastTransitionTime": TIME,
        }
        for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {"names": [f"registry.example.com/team/image-{i}@sha256:{i:064x}"], "sizeBytes": 10**8} for i in range(30)
    ]
    return _template(
        {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": _metadata(
                "kubelet",
                {"f:metadata": {"f:labels": {f"f:{key}": {} for key in own}}},
                labels=own,
                annotations={"node.alpha.kubernetes.io/ttl": "0"},
            ),
            "spec": {"providerID": "aws:///%(zone)s/i-%(uid)s", "podCIDR": "10.0.0.0/24"},
            "status": {
                "capacity": {**room, "cpu": str(cpus)},
                "allocatable": room,
                "conditions": conditions,
                "images": images,
                "addresses": [{"type": "Hostname", "address": "%(name)s"}],
                "nodeInfo": {"kubeletVersion": "v1.33.1", "osImage": "Linux", "architecture": "amd64"},
            },
        }
    )


@functools.cache
def _pod(app: int) -> bytes:
    return _template(_running(app))


@functools.cache
def _waiting(app: int) -> bytes:
    obj = _running(app)
    del obj["spec"]["nodeName"]
    given_up = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2000 nodes do"}
    return _template({**obj, "status": {"phase": "Pending", "conditions": [given_up], "qosClass": "Burstable"}})


def _running(app: int) -> dict[str, Any]:
    """A pod of this application: the first applications are DaemonSets."""
    is_daemon = app < DAEMONS
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet" if is_daemon else "ReplicaSet",
        "name": f"app-{app}-6b7f9d",
        "uid": f"11111111-2222-3333-4444-{app:012d}",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    own = {
        "app.kubernetes.io/name": f"app-{app}",
        "app.kubernetes.io/instance": f"app-{app}",
        "app.kubernetes.io/part-of": f"system-{app % 20}",
        "pod-template-hash": "6b7f9d",
    }
    asked = _asked(app)
    names = ["main"] if app % 3 else ["main", "proxy"]
    times = {"lastProbeTime": None, "lastTransitionTime": TIME}
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(
            "kube-controller-manager",
            {
                "f:metadata": {"f:labels": {f"f:{key}": {} for key in own}, "f:ownerReferences": {}},
                "f:spec": {
                    "f:containers": {
                        f'k:{{"name":"{name}"}}': _noted(
                            ".", "f:env", "f:image", "f:livenessProbe", "f:resources", "f:volumeMounts"
                        )
                        for name in names
                    }
                },
            },
            generateName=f"app-{app}-6b7f9d-",
            namespace="kube-system" if is_daemon else f"team-{app % 40}",
            labels=own,
            annotations={"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
            ownerReferences=[owner],
        ),
        "spec": {
            **_placing(app),
            "nodeName": "%(node)s",
            "containers": [_container(name, app, asked) for name in names],
            "volumes": [_token(), {"name": "config", "configMap": {"name": f"app-{app}", "defaultMode": 420}}],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": f"app-{app}",
            "schedulerName": "default-scheduler",
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": type_, "status": "True", **times} for type_ in types],
            "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1",
            "startTime": TIME,
            "qosClass": "Burstable",
            "containerStatuses": [_container_status(name, app, asked) for name in names],
        },
    }


def _asked(app: int) -> dict[str, str]:
    return {"cpu": f"{50 + app % 7 * 25}m", "memory": f"{64 + app % 11 * 32}Mi"}


def _placing(app: int) -> dict[str, Any]:
    """What some applications ask of where they run: to be spread over zones, to be one to a host, a zone, a kind of machine."""
    about = {"matchLabels": {"app.kubernetes.io/name": f"app-{app}"}}
    found: dict[str, Any] = {
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ]
    }
    if app < DAEMONS:
        return {**found, "tolerations": [{"operator": "Exists"}]}
    if app % 4 == 0:
        spread = {
            "maxSkew": 5,
            "topologyKey": labels.ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": about,
        }
        found["topologySpreadConstraints"] = [spread]
    if app % 6 == 0:
        found["nodeSelector"] = {labels.ARCH: "amd64", "team": "platform"}
    if app % 9 == 0:
        found["nodeSelector"] = {labels.ZONE: ZONES[app % 3]}
    if app % 7 == 0:
        apart = {"topologyKey": labels.HOSTNAME, "labelSelector": about}
        found["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    elif app % 5 == 0:
        term = {"weight": 100, "podAffinityTerm": {"topologyKey": labels.HOSTNAME, "labelSelector": about}}
        found["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return found


def _container(name: str, app: int, asked: dict[str, str]) -> dict[str, Any]:
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "initialDelaySeconds": 5,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
    }
    return {
        "name": name,
        "image": f"registry.example.com/team/app-{app}:v1.2.3",
        "args": ["--config=/etc/config/app.yaml", "--log-level=info"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            *({"name": f"SETTING_{index}", "value": f"value-of-setting-{index}"} for index in range(6)),
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        ],
        "resources": {"requests": asked, "limits": {"memory": asked["memory"]}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config"},
            {
                "name": "kube-api-access-%(uid)s",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True},
    }


def _token() -> dict[str, Any]:
    """The volume that every pod has for its service account."""
    return {
        "name": "kube-api-access-%(uid)s",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ],
            "defaultMode": 420,
        },
    }


def _container_status(name: str, app: int, asked: dict[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "state": {"running": {"startedAt": TIME}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": f"registry.example.com/team/app-{app}:v1.2.3",
        "imageID": f"registry.example.com/team/app-{app}@sha256:{app:064x}",
        "containerID": "containerd://%(uid)s",
        "started": True,
        "allocatedResources": asked,
        "resources": {"requests": asked, "limits": {"memory": asked["memory"]}},
    }


def _template(obj: dict[str, Any]) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()

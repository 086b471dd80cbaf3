"""The real kubectl on a living cluster: workloads are rolled out, scaled, waited for, watched and deleted."""

from __future__ import annotations

import re

import pytest

from tests.clients.cluster import Kubectl

pytestmark = pytest.mark.kubectl

SETS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: one}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: one}]}}
"""


def names(kubectl: Kubectl, what: str) -> list[str]:
    return kubectl(f"get {what} -o name").split()


def test_a_deployment_is_rolled_out_undone_restarted_and_paused(kubectl: Kubectl) -> None:
    kubectl("create deployment web --image=nginx:1 --replicas=2")
    told = kubectl("rollout status deployment/web")
    assert told.splitlines()[-1] == 'deployment "web" successfully rolled out'

    kubectl("set image deployment/web nginx=nginx:2")
    kubectl("annotate deployment/web kubernetes.io/change-cause=second")
    kubectl("rollout status deployment/web")
    history = kubectl("rollout history deployment/web").splitlines()
    assert [line.split() for line in history[2:4]] == [["1", "<none>"], ["2", "second"]]
    assert "Image:\tnginx:2" in kubectl("rollout history deployment/web --revision=2")

    assert kubectl("rollout undo deployment/web") == "deployment.apps/web rolled back\n"
    kubectl("rollout status deployment/web")
    assert kubectl("get deployment web -o jsonpath={..image}") == "nginx:1"
    revisions = kubectl("rollout history deployment/web").splitlines()
    assert [line.split()[0] for line in revisions[2:4]] == ["2", "3"], "revision 1 has become 3"

    before = set(names(kubectl, "pods"))
    assert kubectl("rollout restart deployment/web") == "deployment.apps/web restarted\n"
    kubectl("rollout status deployment/web")
    kubectl(f"wait --for=delete {' '.join(before)} --timeout=50s")

    kubectl("rollout pause deployment/web")
    kubectl("set image deployment/web nginx=nginx:4")
    assert "timed out" in kubectl.fails("rollout status deployment/web --timeout=1s")
    assert "nginx:4" not in kubectl("get pods -o jsonpath={..image}")
    kubectl("rollout resume deployment/web")
    kubectl("rollout status deployment/web")
    assert "nginx:4" in kubectl("get pods -o jsonpath={..image}")


def test_stateful_and_daemon_sets_are_rolled_out_too(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETS)
    assert "partitioned roll out complete: 2 new pods" in kubectl("rollout status statefulset/db")
    assert kubectl("rollout status daemonset/agent") == 'daemon set "agent" successfully rolled out\n'
    kubectl("set image statefulset/db daemonset/agent c=two")
    kubectl("rollout status statefulset/db")
    kubectl("rollout status daemonset/agent")
    for each in ("statefulset/db", "daemonset/agent"):
        assert [line.split()[0] for line in kubectl(f"rollout history {each}").splitlines()[2:4]] == ["1", "2"]
    kubectl("rollout undo statefulset/db")
    kubectl("rollout status statefulset/db")
    assert kubectl("get pod db-0 -o jsonpath={.spec.containers[0].image}") == "one"


def test_replicas_are_set_by_number_and_with_a_condition(kubectl: Kubectl) -> None:
    kubectl("create deployment web --image=nginx")
    assert kubectl("scale deployment web --replicas=2") == "deployment.apps/web scaled\n"
    assert "Expected replicas to be 5, was 2" in kubectl.fails("scale deployment web --replicas=1 --current-replicas=5")
    kubectl('patch deployment web --subresource=scale --type=merge -p \'{"spec":{"replicas":3}}\'')
    kubectl("wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=50s")
    assert re.fullmatch(
        r"NAME +DESIRED +AVAILABLE +AGE\nweb +3 +3 +\d+\w*\n", kubectl("get deployment web --subresource=scale")
    )


def test_an_autoscaler_keeps_its_bounds_and_shows_what_it_knows(kubectl: Kubectl) -> None:
    kubectl("create deployment web --image=nginx")
    kubectl("autoscale deployment web --min=2 --max=5 --cpu=80%")
    kubectl("wait deployment/web --for=jsonpath={.status.readyReplicas}=2 --timeout=50s")
    printed = kubectl("get hpa web").splitlines()[1].split()
    assert printed[:6] == ["web", "Deployment/web", "cpu:", "<unknown>/80%", "2", "5"], "no load was scripted"
    assert re.search(r"AbleToScale +True +Succeeded", kubectl("describe hpa web"))


def test_waiting_ends_when_it_happens(kubectl: Kubectl) -> None:
    kubectl("run one --image=nginx")
    assert kubectl("wait pod/one --for=condition=Ready --timeout=50s") == "pod/one condition met\n"
    assert kubectl("wait pod/one --for=jsonpath={.status.phase}=Running") == "pod/one condition met\n"
    with kubectl.start("wait pod/one --for=delete --timeout=50s") as waiting:
        kubectl("delete pod one --grace-period=1")
        waiting.rest()
    kubectl("create job sum --image=busybox -- true")
    assert kubectl("wait job/sum --for=condition=Complete --timeout=50s") == "job.batch/sum condition met\n"
    assert kubectl("get job sum").splitlines()[1].split()[:3] == ["sum", "Complete", "1/1"]
    assert "timed out waiting" in kubectl.fails("wait job/sum --for=condition=Failed --timeout=1s")


def test_a_watch_prints_what_happens_in_columns(kubectl: Kubectl) -> None:
    kubectl("run there --image=nginx")
    pod_watch = kubectl.start("get pods --watch --output-watch-events")
    with pod_watch as pods, kubectl.start("get nodes --watch -o wide") as nodes:
        lines = pods.until("there")  # now it watches
        assert lines[0].split() == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        kubectl('run one --image=nginx --overrides=\'{"spec":{"terminationGracePeriodSeconds":1}}\'')
        one = [pods.until(" one ")[-1].split() for _ in range(2)]
        assert [line[:4] for line in one] == [["ADDED", "one", "0/1", "Pending"], ["MODIFIED", "one", "0/1", "Pending"]]
        while one[-1][3] != "Running":
            one.append(pods.until(" one ")[-1].split())
        assert one[-2][3] == "ContainerCreating"
        assert one[-1][:5] == ["MODIFIED", "one", "1/1", "Running", "0"]
        seen = nodes.until(" Ready ")
        assert seen[0].split()[-4:] == ["EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"]
        kubectl("delete pod one")
        assert " Terminating " in pods.until(" one ")[-1]
        assert pods.until("DELETED")[-1].split()[1] == "one"


def test_owners_are_deleted_with_before_and_without_their_dependents(kubectl: Kubectl) -> None:
    for name in ("background", "foreground", "orphan"):
        kubectl(f"create deployment {name} --image=nginx")
    kubectl("wait deployment --all --for=condition=Available --timeout=50s")

    kubectl("delete deployment background --cascade=background")
    kubectl("wait pod,replicaset -l app=background --for=delete --timeout=50s")

    kubectl("delete deployment foreground --cascade=foreground")
    assert names(kubectl, "pods,replicasets -l app=foreground") == [], "they went first"

    kubectl("delete deployment orphan --cascade=orphan")
    (left,) = kubectl.json("get replicasets -l app=orphan")["items"]
    assert "ownerReferences" not in left["metadata"]
    assert len(names(kubectl, "pods -l app=orphan")) == 1
    kubectl("create deployment orphan --image=nginx")
    kubectl(f"wait replicaset/{left['metadata']['name']} --for=jsonpath={{.metadata.ownerReferences[0].name}}=orphan")


def test_pods_end_gracefully_or_at_once(kubectl: Kubectl) -> None:
    kubectl("run slow --image=nginx")
    kubectl("run fast --image=nginx")
    kubectl("wait pod --all --for=condition=Ready --timeout=50s")
    assert kubectl("delete pod slow") == f'pod "slow" deleted from {kubectl.namespace} namespace\n'
    assert "force deleted" in kubectl("delete pod fast --force --grace-period=0")
    assert kubectl.run("get pods").stderr == f"No resources found in {kubectl.namespace} namespace.\n"
    assert kubectl.fails("delete pod slow") == 'Error from server (NotFound): pods "slow" not found\n'
    kubectl("delete pod slow --ignore-not-found")


def test_a_namespace_goes_with_all_that_is_in_it(kubectl: Kubectl) -> None:
    space = f"{kubectl.namespace[:50]}-x"
    kubectl(f"create namespace {space}")
    kubectl(f"create deployment web --image=nginx --namespace={space}")
    kubectl(f"wait deployment/web --for=condition=Available --timeout=50s --namespace={space}")
    assert kubectl(f"delete namespace {space}") == f'namespace "{space}" deleted\n'
    assert kubectl(f"get all --namespace={space} -o name") == ""
    assert "not found" in kubectl.fails(f"create configmap late --namespace={space}")

"""The official Python client on a living cluster: typed and dynamic calls, watches, informers, elections, and errors."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from karpy.clock import SystemClock
from karpy.sim.apiserver import ApiServer
from karpy.sim.http import serve
from tests.clients.cluster import PATIENCE_S, Kubectl

SETTINGS = {"metadata": {"name": "a", "labels": {"app": "x"}}, "data": {"k": "1"}}


def deployment(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def api(kubectl: Kubectl) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(kubectl.kubeconfig)) as api:
        yield api


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def space(kubectl: Kubectl) -> str:
    return kubectl.namespace


def refused(call: Any, *arguments: Any, **options: Any) -> tuple[int, str]:
    """The code and the reason of a call that fails, as it must."""
    with pytest.raises(ApiException) as caught:
        call(*arguments, **options)
    return caught.value.status, caught.value.reason


def test_typed_objects_go_there_and_back(core: client.CoreV1Api, space: str) -> None:
    made = core.create_namespaced_config_map(space, SETTINGS)
    assert made.metadata.uid
    assert made.metadata.creation_timestamp.tzinfo is not None
    made.data["k"] = "2"
    changed = core.replace_namespaced_config_map("a", space, made)
    assert int(changed.metadata.resource_version) > int(made.metadata.resource_version)
    core.patch_namespaced_config_map("a", space, {"data": {"k": None, "l": "3"}})
    core.patch_namespaced_config_map("a", space, [{"op": "add", "path": "/data/m", "value": "4"}])
    assert core.read_namespaced_config_map("a", space).data == {"l": "3", "m": "4"}
    assert core.delete_namespaced_config_map("a", space)["status"] == "Success"


def test_errors_have_their_codes(core: client.CoreV1Api, space: str) -> None:
    assert refused(core.read_namespaced_config_map, "a", space) == (404, "Not Found")
    made = core.create_namespaced_config_map(space, SETTINGS)
    assert refused(core.create_namespaced_config_map, space, SETTINGS) == (409, "Conflict")
    core.patch_namespaced_config_map("a", space, {"data": {"k": "2"}})
    assert refused(core.replace_namespaced_config_map, "a", space, made) == (409, "Conflict")
    wrong = {"metadata": {"name": "Bad_Name"}, "spec": {"containers": []}}
    assert refused(core.create_namespaced_pod, space, wrong) == (422, "Unprocessable Entity")
    assert refused(core.list_namespaced_pod, space, limit=1, _continue="nonsense")[0] == 400
    assert refused(core.list_namespaced_pod, space, field_selector="no=1")[0] == 400
    uid = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="other"))
    assert refused(core.delete_namespaced_config_map, "a", space, body=uid) == (409, "Conflict")


def test_lists_come_in_pages_of_one_moment(core: client.CoreV1Api, space: str) -> None:
    for name in "abcde":
        core.create_namespaced_config_map(space, {"metadata": {"name": name}})
    first = core.list_namespaced_config_map(space, limit=2)
    core.delete_namespaced_config_map("e", space)
    assert first.metadata.remaining_item_count == 3
    rest = core.list_namespaced_config_map(space, _continue=first.metadata._continue)
    assert [each.metadata.name for each in (*first.items, *rest.items)] == list("abcde")
    assert rest.metadata.resource_version == first.metadata.resource_version


def test_watches_go_on_where_a_list_ended(core: client.CoreV1Api, space: str) -> None:
    since = core.list_namespaced_config_map(space).metadata.resource_version
    core.create_namespaced_config_map(space, SETTINGS)
    core.patch_namespaced_config_map("a", space, {"data": {"k": "2"}})
    core.patch_namespaced_config_map("a", space, {"metadata": {"labels": {"app": "y"}}})
    core.delete_namespaced_config_map("a", space)

    def seen(**options: Any) -> list[str]:
        watching = watch.Watch()
        stream = watching.stream(core.list_namespaced_config_map, space, timeout_seconds=1, **options)
        return [event["type"] for event in stream]

    assert seen(resource_version=since) == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert seen(resource_version=since, label_selector="app=x") == ["ADDED", "MODIFIED", "DELETED"]
    assert seen(resource_version=since, label_selector="app=y") == ["ADDED", "DELETED"]
    assert seen(resource_version=since, field_selector="metadata.name=b") == []
    assert seen() == [], "what is there now, and nothing is"


def test_an_informer_keeps_a_cache_of_what_is_there(core: client.CoreV1Api, space: str) -> None:
    core.create_namespaced_config_map(space, SETTINGS)
    informer = SharedInformer(core.list_namespaced_config_map, namespace=space, label_selector="app=x")
    told: queue.Queue[tuple[str, str]] = queue.Queue()
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda obj, kind=kind: told.put((kind, obj.metadata.name)))
    informer.start()
    try:
        assert told.get(timeout=PATIENCE_S) == ("ADDED", "a")
        core.create_namespaced_config_map(space, {"metadata": {"name": "b", "labels": {"app": "x"}}})
        assert told.get(timeout=PATIENCE_S) == ("ADDED", "b")
        core.patch_namespaced_config_map("b", space, {"data": {"k": "2"}})
        assert told.get(timeout=PATIENCE_S) == ("MODIFIED", "b")
        assert informer.cache.get_by_key(f"{space}/b").data == {"k": "2"}
        core.patch_namespaced_config_map("b", space, {"metadata": {"labels": {"app": "y"}}})
        assert told.get(timeout=PATIENCE_S) == ("DELETED", "b")
        assert informer.cache.list_keys() == [f"{space}/a"]
    finally:
        core.delete_namespaced_config_map("a", space)  # wakes the thread, which would wait for something to happen
        informer.stop()


def test_who_comes_too_late_is_told_so(tmp_path: Path) -> None:
    face = serve(ApiServer(SystemClock(), log_capacity=4))
    try:
        face.write_kubeconfig(tmp_path / "kubeconfig")
        with config.new_client_from_config(str(tmp_path / "kubeconfig")) as api:
            core = client.CoreV1Api(api)
            for name in ("a", "b"):
                core.create_namespaced_config_map("default", {"metadata": {"name": name}})
            page = core.list_namespaced_config_map("default", limit=1).metadata
            for i in range(20):
                core.patch_namespaced_config_map("a", "default", {"data": {"k": str(i)}})
            late = watch.Watch().stream(
                core.list_namespaced_config_map, "default", resource_version=page.resource_version
            )
            code, reason = refused(list, late)
            assert code == 410
            assert reason.startswith("Expired: too old resource version")
            assert refused(core.list_namespaced_config_map, "default", _continue=page._continue) == (410, "Gone")
    finally:
        face.stop()


def test_dynamic_calls_find_every_kind(api: client.ApiClient, kubectl: Kubectl, space: str) -> None:
    found = dynamic.DynamicClient(api)
    deployments = found.resources.get(api_version="apps/v1", kind="Deployment")
    assert set(deployments.subresources) == {"scale", "status"}
    deployments.server_side_apply(deployment("web", 1), name="web", namespace=space, field_manager="test")
    merge = "application/merge-patch+json"
    deployments.patch({"spec": {"replicas": 2}}, name="web", namespace=space, content_type=merge)
    assert deployments.scale.get(name="web", namespace=space).spec.replicas == 2
    for event in deployments.watch(namespace=space, timeout=PATIENCE_S):
        if event["object"].status.readyReplicas == 2:
            break
    pods = found.resources.get(api_version="v1", kind="Pod")
    assert len(pods.get(namespace=space, label_selector="app=web").items) == 2

    pools = found.resources.get(api_version="karpenter.sh/v1", kind="NodePool")
    assert pools.get(name="default").spec.template.spec.nodeClassRef.kind == "EC2NodeClass"
    with pytest.raises(dynamic.exceptions.NotFoundError):
        pools.get(name="nope")
    with pytest.raises(dynamic.exceptions.ResourceNotFoundError):
        found.resources.get(api_version="v1", kind="Unicorn")
    deployments.delete(name="web", namespace=space, body={"propagationPolicy": "Foreground"})


def test_custom_objects_without_a_class(api: client.ApiClient) -> None:
    custom = client.CustomObjectsApi(api)
    of = ("karpenter.sh", "v1", "nodepools")
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": reference, "requirements": []}}
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "spare"}}
    made = custom.create_cluster_custom_object(*of, {**head, "spec": {"template": template, "limits": {"cpu": "0"}}})
    assert made["spec"]["disruption"]["consolidationPolicy"] == "WhenEmptyOrUnderutilized", "the schema's default"
    assert refused(custom.create_cluster_custom_object, *of, {**head, "metadata": {"name": "x"}, "spec": {}})[0] == 422
    changed = custom.patch_cluster_custom_object(*of, "spare", {"spec": {"weight": 5}})
    assert changed["metadata"]["generation"] == made["metadata"]["generation"] + 1
    assert {"default", "spare"} <= {
        each["metadata"]["name"] for each in custom.list_cluster_custom_object(*of)["items"]
    }
    custom.delete_cluster_custom_object(*of, "spare")


def test_an_eviction_is_asked_of_the_budget(api: client.ApiClient, core: client.CoreV1Api, space: str) -> None:
    apps, policy = client.AppsV1Api(api), client.PolicyV1Api(api)
    lasting = deployment("web", 1)  # its pod is still there when it is looked at, however slow this machine is
    lasting["spec"]["template"]["metadata"]["annotations"] = {"sim.karpy.dev/stop-seconds": "inf"}
    apps.create_namespaced_deployment(space, lasting)
    budget = client.V1PodDisruptionBudget(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1PodDisruptionBudgetSpec(
            min_available=1, selector=client.V1LabelSelector(match_labels={"app": "web"})
        ),
    )
    policy.create_namespaced_pod_disruption_budget(space, budget)
    for event in watch.Watch().stream(policy.list_namespaced_pod_disruption_budget, space, timeout_seconds=PATIENCE_S):
        if event["object"].status.current_healthy == 1:
            break
    (pod,) = core.list_namespaced_pod(space).items
    assert pod.status.conditions
    patience = client.V1DeleteOptions(grace_period_seconds=900)
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=pod.metadata.name), delete_options=patience)
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_pod_eviction(pod.metadata.name, space, eviction)
    assert (caught.value.status, caught.value.reason) == (429, "Too Many Requests")
    assert "The disruption budget web needs 1 healthy pods and has 1 currently" in caught.value.body
    policy.delete_namespaced_pod_disruption_budget("web", space)
    assert core.create_namespaced_pod_eviction(pod.metadata.name, space, eviction).kind == "Status"
    assert core.read_namespaced_pod(pod.metadata.name, space).metadata.deletion_grace_period_seconds == 900
    core.delete_namespaced_pod(pod.metadata.name, space, grace_period_seconds=0)


def test_manifests_are_created_from_files(api: client.ApiClient, space: str, tmp_path: Path) -> None:
    manifests = tmp_path / "all.yaml"
    manifests.write_text(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot}\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], selector: {app: web}}\n---\n"
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sum}\n"
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
    )
    utils.create_from_yaml(api, str(manifests), namespace=space)
    with pytest.raises(utils.FailToCreateError):
        utils.create_from_yaml(api, str(manifests), namespace=space)
    jobs = client.BatchV1Api(api)
    for event in watch.Watch().stream(jobs.list_namespaced_job, space, timeout_seconds=PATIENCE_S):
        if event["object"].status.succeeded == 1:
            break
    assert jobs.read_namespaced_job("sum", space).status.completion_time is not None


def test_of_two_candidates_one_leads_until_it_gives_up(
    kubectl: Kubectl, api: client.ApiClient, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.load_kube_config(str(kubectl.kubeconfig))  # the lock makes its own client
    leads: queue.Queue[str] = queue.Queue()
    gives_up = {name: threading.Event() for name in ("first", "second")}

    class Candidate(LeaseLock):
        def update(self, name: str, namespace: str, record: Any) -> Any:
            return False if gives_up[self.identity].is_set() else super().update(name, namespace, record)

    def run(name: str) -> threading.Thread:
        lock = Candidate("leader", space, name)
        times = {"lease_duration": 3, "renew_deadline": 2, "retry_period": 1}
        settings = electionconfig.Config(
            lock, **times, onstarted_leading=lambda: leads.put(name), onstopped_leading=lambda: leads.put(f"not {name}")
        )
        thread = threading.Thread(target=leaderelection.LeaderElection(settings).run, daemon=True)
        thread.start()
        return thread

    run("first")
    assert leads.get(timeout=PATIENCE_S) == "first"
    lease = client.CoordinationV1Api(api).read_namespaced_lease("leader", space)
    assert lease.spec.holder_identity == "first"
    second = run("second")
    gives_up["first"].set()
    assert {leads.get(timeout=PATIENCE_S), leads.get(timeout=PATIENCE_S)} == {"not first", "second"}
    gives_up["second"].set()
    second.join(PATIENCE_S)
    assert leads.get(timeout=PATIENCE_S) == "not second"

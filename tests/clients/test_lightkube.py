"""lightkube on a living cluster: its models and generic resources, server-side apply, waits, watches, and its async client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig, operators
from lightkube.generic_resource import (
    create_global_resource,
    get_generic_resource,
    load_in_cluster_generic_resources,
)
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod
from lightkube.types import CascadeType, PatchType

from tests.clients.cluster import PATIENCE_S, Kubectl

NodePool = create_global_resource("karpenter.sh", "v1", "NodePool", "nodepools")


def deployment(replicas: int) -> Deployment:
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[Container(name="c", image="i")])
    )
    spec = DeploymentSpec(replicas=replicas, selector=LabelSelector(matchLabels={"app": "web"}), template=template)
    return Deployment(metadata=ObjectMeta(name="web"), spec=spec)


@pytest.fixture
def settings(kubectl: Kubectl) -> KubeConfig:
    return KubeConfig.from_file(str(kubectl.kubeconfig))


@pytest.fixture
def client(settings: KubeConfig, kubectl: Kubectl) -> Iterator[Client]:
    client = Client(config=settings, namespace=kubectl.namespace, field_manager="lightkube")
    yield client
    client._client._client.close()


def test_a_deployment_is_applied_waited_for_scaled_and_deleted(client: Client) -> None:
    applied = client.apply(deployment(2))
    assert [entry.manager for entry in applied.metadata.managedFields] == ["lightkube"]
    assert client.wait(Deployment, "web", for_conditions=["Available"]).status.availableReplicas == 2
    assert len(list(client.list(Pod, labels={"app": "web"}, chunk_size=1))) == 2
    running = {"app": operators.in_(["web", "other"])}
    assert len(list(client.list(Pod, labels=running, fields={"status.phase": "Running"}))) == 2

    with pytest.raises(ApiError, match=r'conflict with "lightkube": \.spec\.replicas') as caught:
        client.apply(deployment(5), field_manager="other")
    assert (caught.value.status.code, caught.value.status.reason) == (409, "Conflict")
    assert client.apply(deployment(3), field_manager="other", force=True).spec.replicas == 3

    client.patch(Deployment, "web", {"spec": {"replicas": 1}}, patch_type=PatchType.MERGE)
    assert client.get(Deployment.Scale, "web").spec.replicas == 1
    scale = client.get(Deployment.Scale, "web")
    scale.spec.replicas, scale.metadata.resourceVersion = 2, None
    assert client.replace(scale, name="web").spec.replicas == 2

    client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)
    seen = []
    for kind, obj in client.watch(Deployment, fields={"metadata.name": "web"}, server_timeout=PATIENCE_S):
        seen.append((kind, obj.metadata.deletionTimestamp is not None))
        if kind == "DELETED":
            break
    assert all(going for _, going in seen)
    assert list(client.list(Pod, labels={"app": "web"})) == []
    with pytest.raises(ApiError, match=r'deployments.apps "web" not found'):
        client.get(Deployment, "web")


def test_generic_resources_are_known_or_found(client: Client) -> None:
    pool = client.get(NodePool, "default")
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["kind"] == "EC2NodeClass"
    load_in_cluster_generic_resources(client)
    assert get_generic_resource("karpenter.k8s.aws/v1", "EC2NodeClass") is not None
    note = {"metadata": {"annotations": {"note": "x"}}}
    assert client.patch(NodePool, "default", note, patch_type=PatchType.MERGE).metadata.annotations["note"] == "x"


def test_collections_are_deleted_whole(client: Client) -> None:
    for name in ("a", "b"):
        client.create(ConfigMap(metadata=ObjectMeta(name=name)))
    client.deletecollection(ConfigMap)
    assert list(client.list(ConfigMap)) == []


def test_the_async_client_watches_what_it_does(settings: KubeConfig, kubectl: Kubectl) -> None:
    async def session() -> list[str]:
        client = AsyncClient(config=settings, namespace=kubectl.namespace, field_manager="lightkube")
        listed = client.list(ConfigMap)
        assert [each async for each in listed] == []
        since = listed.resourceVersion
        await client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "1"}))
        await client.patch(ConfigMap, "a", {"data": {"k": "2"}})
        await client.delete(ConfigMap, "a")
        seen = []
        async for kind, _ in client.watch(ConfigMap, resource_version=since):
            seen.append(kind)
            if kind == "DELETED":
                break
        await client.close()
        return seen

    assert asyncio.run(asyncio.wait_for(session(), PATIENCE_S)) == ["ADDED", "MODIFIED", "DELETED"]

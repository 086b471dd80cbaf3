"""What a person at kubectl sees of rollouts, on a world whose time the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.http import serve
from karpy.sim.world import World
from tests.karpy.sim.manifests import pods, workload, world_with_nodes
from tests.karpy.sim.test_kubectl import Session

pytestmark = pytest.mark.kubectl

KINDS = (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET)


@pytest.fixture
def world() -> World:
    return world_with_nodes(2)


@pytest.fixture
def kubectl(world: World, tmp_path: Path) -> Iterator[Session]:
    face = serve(world.api)
    yield Session(face, tmp_path)
    face.stop()


def images(world: World) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in pods(world)}


def put(world: World, kind: Kind, **spec: Any) -> str:
    """A workload of that kind that has settled, and what kubectl calls it."""
    more = {} if kind is kinds.DAEMON_SET else {"replicas": 2}
    world.apply([workload(kind, "web", **more, **spec)])
    world.run(30)
    return f"{kind.kind.lower()}/web"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_rollout_is_followed_told_and_undone(world: World, kubectl: Session, kind: Kind) -> None:
    name = put(world, kind)
    kubectl(f"annotate {name} kubernetes.io/change-cause=first")
    world.run(1)
    kubectl(f"set image {name} main=nginx:2")
    kubectl(f"annotate {name} kubernetes.io/change-cause=second --overwrite")
    world.run(90)
    assert images(world) == {"nginx:2"}
    told = kubectl(f"rollout status {name} --timeout=5s")
    assert "successfully rolled out" in told or "roll out complete: 2 new pods" in told
    history = [line.split() for line in kubectl(f"rollout history {name}").splitlines()[2:] if line]
    assert [number for number, *_ in history] == ["1", "2"]
    assert "nginx:1" in kubectl(f"rollout history {name} --revision=1")
    assert "rolled back" in kubectl(f"rollout undo {name}")
    world.run(90)
    assert images(world) == {"nginx:1"}
    history = [line.split() for line in kubectl(f"rollout history {name}").splitlines()[2:] if line]
    assert [number for number, *_ in history] == ["2", "3"]
    assert "(no changes)" not in kubectl(f"rollout undo {name} --to-revision=2")
    world.run(90)
    assert images(world) == {"nginx:2"}


def test_the_cause_of_each_revision_of_a_deployment_is_told(world: World, kubectl: Session) -> None:
    name = put(world, kinds.DEPLOYMENT)
    kubectl(f"annotate {name} kubernetes.io/change-cause=first")
    world.run(1)
    kubectl(f"set image {name} main=nginx:2")
    kubectl(f"annotate {name} kubernetes.io/change-cause=second --overwrite")
    world.run(90)
    history = [line.split() for line in kubectl(f"rollout history {name}").splitlines()[2:] if line]
    assert history == [["1", "first"], ["2", "second"]]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_restart_replaces_every_pod(world: World, kubectl: Session, kind: Kind) -> None:
    name = put(world, kind)
    before = {pod["metadata"]["uid"] for pod in pods(world)}
    kubectl(f"rollout restart {name}")
    world.run(90)
    after = {pod["metadata"]["uid"] for pod in pods(world)}
    assert len(after) == 2
    assert not before & after


def test_a_paused_deployment_cannot_be_undone_and_goes_on_when_resumed(world: World, kubectl: Session) -> None:
    name = put(world, kinds.DEPLOYMENT)
    kubectl(f"set image {name} main=nginx:2")
    world.run(60)
    kubectl(f"rollout pause {name}")
    kubectl(f"set image {name} main=nginx:3")
    world.run(30)
    assert images(world) == {"nginx:2"}
    assert "cannot rollback a paused deployment" in kubectl.run(f"rollout undo {name}").stderr
    kubectl(f"rollout resume {name}")
    world.run(60)
    assert images(world) == {"nginx:3"}


def test_a_rollout_that_is_stuck_is_an_error(world: World, kubectl: Session) -> None:
    name = put(world, kinds.DEPLOYMENT, progressDeadlineSeconds=30)
    kubectl(f"set resources {name} --requests=cpu=64")
    world.run(60)
    done = kubectl.run(f"rollout status {name} --timeout=5s")
    assert done.returncode == 1
    assert 'deployment "web" exceeded its progress deadline' in done.stderr


def test_the_size_of_a_stateful_set_is_its_scale(world: World, kubectl: Session) -> None:
    name = put(world, kinds.STATEFUL_SET)
    kubectl(f"scale {name} --replicas=3")
    world.run(30)
    assert kubectl(f"get {name} --no-headers").split()[:2] == ["web", "3/3"]
    assert "partitioned roll out complete: 1 new pods" in _partitioned(world, kubectl, name)


def _partitioned(world: World, kubectl: Session, name: str) -> str:
    kubectl(f'patch {name} -p {{"spec":{{"updateStrategy":{{"rollingUpdate":{{"partition":2}}}}}}}}')
    kubectl(f"set image {name} main=nginx:2")
    world.run(60)
    return kubectl(f"rollout status {name} --timeout=5s")

"""Volumes are off a node before its machine ends."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from tests.karpy.controllers.node.leaving import GRACE, Leaving
from tests.karpy.controllers.stage import Json, pool
from tests.karpy.sim.manifests import template, workload

DISKS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "disks"},
    "provisioner": "disk.csi.karpy.dev",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def stateful(name: str = "db", **spec: Any) -> Json:
    """A StatefulSet of one pod with a volume."""
    pod = template(name, "1", **spec)
    wish = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disks",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return workload(
        kinds.STATEFUL_SET, name, {}, replicas=1, serviceName=name, template=pod, volumeClaimTemplates=[wish]
    )


def ended_at(stage: Leaving) -> list[float]:
    """When the cloud is asked to end a machine, from now on."""
    calls: list[float] = []
    real = stage.cloud.delete

    def delete(provider_id: str) -> None:
        calls.append(stage.clock.now())
        real(provider_id)

    stage.cloud.delete = delete  # type: ignore[method-assign]
    return calls


def attachment(name: str, node: str, **source: Any) -> Json:
    """One that its driver does not let go."""
    return {
        "apiVersion": kinds.VOLUME_ATTACHMENT.api_version,
        "kind": kinds.VOLUME_ATTACHMENT.kind,
        "metadata": {"name": name, "finalizers": ["external-attacher/disk-csi-karpy-dev"]},
        "spec": {"attacher": "disk.csi.karpy.dev", "nodeName": node, "source": source},
    }


@pytest.mark.core("CORE-699")
def test_the_machine_ends_when_the_volume_is_off() -> None:
    stage = Leaving()
    name = stage.grown(DISKS, stateful())
    assert len(stage.all(kinds.VOLUME_ATTACHMENT)) == 1
    ended = ended_at(stage)
    stage.take(name)
    awaiting = "AwaitingVolumeDetachment"
    stage.until(lambda: stage.condition(name, "VolumesDetached") == ("Unknown", awaiting, awaiting))
    assert stage.condition(name, "Drained") == ("True", "Drained", "")
    assert not ended
    took = stage.until(lambda: name not in [each["spec"]["nodeName"] for each in stage.all(kinds.VOLUME_ATTACHMENT)])
    assert took > 2
    stage.run(0.1)
    assert ended[0] >= stage.clock.now() - 0.2, "it is heard of when the volume is off, not found some time later"
    assert stage.condition(name, "VolumesDetached") == ("True", "VolumesDetached", "")
    (text,) = stage.told(awaiting, kinds.NODE)
    assert text.startswith("Awaiting deletion of bound volumeattachments (csi-")
    stage.until(lambda: stage.running("db") == 1)


@pytest.mark.core("CORE-699")
def test_with_a_deadline_a_volume_that_stays_is_given_up() -> None:
    stage = Leaving(pool(terminationGracePeriod="5m"))
    name = stage.grown()
    stage.api.create(kinds.VOLUME_ATTACHMENT, attachment("stays", name, persistentVolumeName="pv"))
    ended, start = ended_at(stage), stage.take(name)
    stage.until(lambda: bool(ended))
    assert ended == [start + 300]
    elapsed = "TerminationGracePeriodElapsed"
    assert stage.condition(name, "VolumesDetached") == ("False", elapsed, elapsed)
    assert stage.condition(name, "Drained") == ("True", "Drained", "")
    stage.until_gone(name)


@pytest.mark.core("CORE-699")
def test_without_a_deadline_it_is_waited_for() -> None:
    stage = Leaving()
    name = stage.grown()
    for number in range(7):
        stage.api.create(kinds.VOLUME_ATTACHMENT, attachment(f"va-{number}", name, persistentVolumeName=f"pv-{number}"))
    stage.take(name)
    stage.run(3600)
    assert name in stage.names(kinds.NODE)
    text = "Awaiting deletion of bound volumeattachments (va-0, va-1, va-2, va-3, va-4 and 2 other(s))"
    assert set(stage.told("AwaitingVolumeDetachment", kinds.NODE)) == {text}
    for number in range(7):
        stage.api.patch(kinds.VOLUME_ATTACHMENT, f"va-{number}", {"metadata": {"finalizers": []}})
    assert stage.until_gone(name) < 30


@pytest.mark.core("CORE-699")
def test_what_belongs_to_other_nodes_or_no_volume_is_not_waited_for() -> None:
    stage = Leaving()
    name = stage.grown()
    stage.api.create(kinds.VOLUME_ATTACHMENT, attachment("elsewhere", "other", persistentVolumeName="pv"))
    stage.api.create(
        kinds.VOLUME_ATTACHMENT, attachment("inline", name, inlineVolumeSpec={"capacity": {"storage": "1Gi"}})
    )
    stage.take(name)
    assert stage.until_gone(name) < 60


@pytest.mark.core("CORE-699")
def test_a_pod_that_stays_to_the_end_keeps_its_volume() -> None:
    stage = Leaving()
    name = stage.grown(DISKS, stateful(tolerations=[{"operator": "Exists"}], **{GRACE: 0}))
    assert len(stage.all(kinds.VOLUME_ATTACHMENT)) == 1
    stage.take(name)
    assert stage.until_gone(name) < 60

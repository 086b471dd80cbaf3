"""Which volumes a node waits for."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import format_time
from karpy.lifecycle.detaching import awaited_attachments
from karpy.objects.pod import Pod
from karpy.objects.volumes import PersistentVolumeClaim, VolumeAttachment
from karpy.testing import START, make_pod

CLAIMS = {
    f"default/{name}": PersistentVolumeClaim.from_dict(
        {"metadata": {"name": name}, "spec": {"volumeName": f"pv-{name}"}}
    )
    for name in ("data", "p-scratch")
}


def attachment(volume: str) -> VolumeAttachment:
    source = {"persistentVolumeName": volume} if volume else {"inlineVolumeSpec": {}}
    return VolumeAttachment.from_dict(
        {"metadata": {"name": f"va-{volume}"}, "spec": {"nodeName": "n", "source": source}}
    )


def user_of(claim: str, *, deleted_s_ago: float | None = None, **arguments: Any) -> Pod:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    raw = make_pod("p", node="n", **arguments)
    raw["spec"]["volumes"] = volumes
    if deleted_s_ago is not None:
        raw["metadata"]["deletionTimestamp"] = format_time(START - deleted_s_ago)
    return Pod.from_dict(raw)


def awaited(*pods: Pod, volumes: tuple[str, ...] = ("pv-data",)) -> list[str]:
    found = awaited_attachments(map(attachment, volumes), pods, CLAIMS, now=START)
    return [each.spec.source.persistent_volume_name for each in found]


@pytest.mark.core("CORE-699")
def test_volumes_are_waited_for_until_they_are_off_the_node() -> None:
    assert awaited() == ["pv-data"]
    assert awaited(user_of("data")) == ["pv-data"]


@pytest.mark.core("CORE-699")
@pytest.mark.parametrize(
    "pod",
    [
        user_of("data", spec={"tolerations": [{"operator": "Exists"}]}),
        user_of("data", owner="Node"),
        user_of("data", deleted_s_ago=90),
    ],
    ids=["tolerates", "static", "stuck"],
)
def test_pods_that_stay_to_the_end_keep_theirs(pod: Pod) -> None:
    assert awaited(pod) == []
    assert awaited(pod, volumes=("pv-data", "pv-other")) == ["pv-other"]


@pytest.mark.core("CORE-699")
def test_the_volume_of_a_finished_pod_is_waited_for() -> None:
    assert awaited(user_of("data", owner="Node", status={"phase": "Succeeded"})) == ["pv-data"]


@pytest.mark.core("CORE-699")
def test_what_belongs_to_no_volume_is_not_waited_for() -> None:
    assert awaited(volumes=("",)) == []


def test_volumes_that_were_made_with_a_pod_are_its_own() -> None:
    raw = make_pod("p", node="n", owner="Node")
    raw["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    assert awaited(Pod.from_dict(raw), volumes=("pv-p-scratch",)) == []

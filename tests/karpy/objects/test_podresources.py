from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.meta import decode
from karpy.objects.pod import Pod
from karpy.objects.podresources import pod_requests, with_default_requests
from karpy.objects.podspec import PodSpec
from karpy.resources import Resources
from karpy.testing import make_pod
from tests.vectors import read

LIMITED = {"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}


def requests_of(**spec: Any) -> Resources:
    return Pod.from_dict(make_pod(spec=spec)).requests


def container(cpu: str, name: str = "c", **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def test_containers_add_up_and_the_pod_counts_as_one() -> None:
    assert requests_of(containers=[container("1"), container("500m")]) == Resources({"cpu": 1500, "pods": 1})


@pytest.mark.core("CORE-346")
def test_a_pod_that_asks_for_nothing_still_takes_a_place() -> None:
    assert requests_of() == Resources({"pods": 1})


@pytest.mark.core("CORE-075", "CORE-343")
def test_the_greatest_init_container_counts_when_it_needs_more_than_the_rest() -> None:
    inits = [container("3"), container("2")]
    assert requests_of(containers=[container("1")], initContainers=inits)["cpu"] == 3000


@pytest.mark.core("CORE-326", "CORE-327", "CORE-328")
@pytest.mark.parametrize(
    ("inits", "cpu"),
    [
        ([container("2", restartPolicy="Always"), container("4")], 6000),  # the init runs beside the sidecar before it
        ([container("4"), container("2", restartPolicy="Always")], 4000),  # and alone when it comes first
        ([container("2", restartPolicy="Always"), container("1")], 3000),  # else sidecar and containers run together
    ],
)
def test_sidecars_run_beside_what_starts_after_them(inits: list[dict[str, Any]], cpu: int) -> None:
    assert requests_of(containers=[container("1")], initContainers=inits)["cpu"] == cpu


@pytest.mark.core("CORE-067")
def test_the_overhead_of_the_runtime_comes_on_top() -> None:
    assert requests_of(containers=[container("1")], overhead={"cpu": "250m"})["cpu"] == 1250


def test_limits_are_no_requests_until_the_api_server_has_made_them_so() -> None:
    assert requests_of(containers=[LIMITED], resources={"limits": {"cpu": "8"}}) == Resources({"cpu": 1000, "pods": 1})


@pytest.mark.core("CORE-342")
def test_a_limit_stands_in_for_a_missing_request_in_what_is_stored() -> None:
    stored = with_default_requests(decode({"containers": [LIMITED], "initContainers": [LIMITED]}, PodSpec))
    assert pod_requests(stored) == Resources({"cpu": 1000, "memory": 2**30, "pods": 1})
    assert with_default_requests(stored) == stored


@pytest.mark.core("CORE-329")
def test_requests_of_the_whole_pod_replace_the_sum() -> None:
    assert requests_of(containers=[container("1")], resources={"requests": {"cpu": "3"}})["cpu"] == 3000


def test_a_limit_of_the_whole_pod_stands_in_only_where_no_container_asks() -> None:
    whole = {"limits": {"cpu": "8", "memory": "8Gi"}}
    stored = with_default_requests(decode({"containers": [container("1")], "resources": whole}, PodSpec))
    assert pod_requests(stored) == Resources({"cpu": 1000, "memory": 8 * 2**30, "pods": 1})


def test_limits_add_up_as_requests_do_and_overhead_comes_on_top_of_what_is_limited() -> None:
    init = {"name": "i", "resources": {"limits": {"cpu": "3"}}}
    pod = Pod.from_dict(
        make_pod(
            spec={
                "containers": [LIMITED, container("1")],
                "initContainers": [init],
                "overhead": {"cpu": "1", "ephemeral-storage": "1Gi"},
            }
        )
    )
    assert pod.limits == Resources({"cpu": 4000, "memory": 2**30, "pods": 1})


def test_a_container_that_is_being_resized_counts_with_the_most_that_it_holds_or_asks() -> None:
    grown = {"name": "main", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
    pod = Pod.from_dict(
        make_pod(requests={"cpu": "1", "memory": "1Gi"}, node="n", status={"containerStatuses": [grown]})
    )
    assert pod.requests == Resources({"cpu": 3000, "memory": 2**30, "pods": 1})


def test_a_bad_quantity_is_named_by_pod_and_path() -> None:
    with pytest.raises(
        InvalidObject, match=r"Pod/default/pod: spec\.containers\[0\]\.resources\.requests\.cpu: 'one' is not"
    ):
        requests_of(containers=[container("one")])


def test_requests_and_limits_agree_with_kubernetes(shared: Path) -> None:
    for line in read(shared, "algebra/pod_requests.jsonl"):
        pod = Pod.from_dict(line["pod"])
        name = line["pod"]["metadata"]["name"]
        assert pod.requests == Resources.parse(line["expect"]["requests"]), name
        assert pod.limits == Resources.parse(line["expect"]["limits"]), name

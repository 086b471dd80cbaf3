"""LimitRanges: defaults for containers that say nothing, and bounds for pods, containers and claims."""

from __future__ import annotations

from typing import Any

import pytest

from tests.karpy.sim.api.conftest import Client

RANGES = "/api/v1/namespaces/default/limitranges"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def limited(rest: Client, **limit: Any) -> dict:
    body = {"metadata": {"name": limit["type"].lower()}, "spec": {"limits": [limit]}}
    code, answer = rest("POST", RANGES, body)
    assert code == 201, answer
    found: dict = answer["spec"]["limits"][0]
    return found


def pod(*containers: dict, **spec: Any) -> dict:
    named = [{"name": f"c{i}", "image": "i", "resources": each} for i, each in enumerate(containers)]
    return {"metadata": {"name": "p"}, "spec": {"containers": named, **spec}}


def test_a_limit_range_is_completed_from_its_own_bounds(rest: Client) -> None:
    found = limited(rest, type="Container", max={"cpu": "2000m"}, min={"memory": "1Gi"})
    assert found == {
        "type": "Container",
        "max": {"cpu": "2"},
        "min": {"memory": "1Gi"},
        "default": {"cpu": "2"},
        "defaultRequest": {"cpu": "2", "memory": "1Gi"},
    }


def test_containers_get_the_defaults_they_lack_and_an_annotation_tells(rest: Client) -> None:
    limited(rest, type="Container", default={"cpu": "1"}, defaultRequest={"cpu": "500m", "memory": "1Gi"})
    init = {"name": "i", "image": "i"}
    created = rest("POST", PODS, pod({}, {"requests": {"cpu": "200m"}}, initContainers=[init]))[1]
    assert [each["resources"] for each in created["spec"]["containers"]] == [
        {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}},
        {"requests": {"cpu": "200m", "memory": "1Gi"}, "limits": {"cpu": "1"}},
    ]
    assert created["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c0; "
        "cpu limit for container c0; memory request for container c1; cpu limit for container c1; "
        "cpu, memory request for init container i; cpu limit for init container i"
    }


def test_the_quality_of_service_counts_the_defaults(rest: Client) -> None:
    limited(rest, type="Container", default={"cpu": "1", "memory": "1Gi"})
    assert rest("POST", PODS, pod({}))[1]["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize(
    ("limit", "resources", "problem"),
    [
        ({"min": {"cpu": "100m"}}, {"requests": {"cpu": "50m"}},
         "minimum cpu usage per Container is 100m, but request is 50m"),
        ({"max": {"cpu": "1"}}, {"requests": {"cpu": "50m"}, "limits": {"cpu": "2"}},
         "maximum cpu usage per Container is 1, but limit is 2"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
         "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, {"requests": {"cpu": "1"}},
         "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"),
        ({"min": {"cpu": "1"}, "max": {"memory": "1Gi"}}, {"requests": {"cpu": "5m"}, "limits": {"memory": "2Gi"}},
         ("[minimum cpu usage per Container is 1, but request is 5m, "
          "maximum memory usage per Container is 1Gi, but limit is 2Gi]")),
    ],
)  # fmt: skip
def test_containers_out_of_bounds_are_refused(rest: Client, limit: dict, resources: dict, problem: str) -> None:
    limited(rest, type="Container", **limit)
    code, answer = rest("POST", PODS, pod(resources))
    assert (code, answer["reason"]) == (403, "Forbidden")
    assert answer["message"] == f'pods "p" is forbidden: {problem}'


def test_a_pod_is_measured_as_a_whole(rest: Client) -> None:
    limited(rest, type="Pod", max={"cpu": "2"})
    one = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    assert rest("POST", PODS, pod(one, one), dryRun="All")[0] == 201
    answer = rest("POST", PODS, pod(one, one, one))[1]
    assert answer["message"] == 'pods "p" is forbidden: maximum cpu usage per Pod is 2, but limit is 3'
    answer = rest("POST", PODS, pod({}))[1]
    assert answer["message"] == 'pods "p" is forbidden: maximum cpu usage per Pod is 2.  No limit is specified'


def test_claims_are_bounded(rest: Client) -> None:
    limited(rest, type="PersistentVolumeClaim", max={"storage": "5Gi"}, min={"storage": "1Gi"})

    def claim(storage: str) -> dict:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
        return {"metadata": {"name": "c"}, "spec": spec}

    assert rest("POST", CLAIMS, claim("10Gi"))[1]["message"] == (
        'persistentvolumeclaims "c" is forbidden: '
        "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi"
    )
    assert rest("POST", CLAIMS, claim("2Gi"))[0] == 201


def test_other_namespaces_are_not_limited(rest: Client) -> None:
    limited(rest, type="Container", max={"cpu": "1"})
    rest("POST", "/api/v1/namespaces", {"metadata": {"name": "t"}})
    assert rest("POST", "/api/v1/namespaces/t/pods", pod({"requests": {"cpu": "2"}}))[0] == 201


class TestDefaultTolerations:
    def created(self, rest: Client, *tolerations: dict) -> list[tuple[str, int | None]]:
        rest.server.writes.admission.default_tolerations = True
        made = rest("POST", PODS, pod({}, tolerations=list(tolerations)))[1]
        return [(each.get("key", ""), each.get("tolerationSeconds")) for each in made["spec"]["tolerations"]]

    def test_pods_bear_nodes_that_are_not_ready_for_five_minutes(self, rest: Client) -> None:
        assert self.created(rest) == [
            ("node.kubernetes.io/not-ready", 300),
            ("node.kubernetes.io/unreachable", 300),
        ]

    def test_what_a_pod_says_itself_stands(self, rest: Client) -> None:
        own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
        assert self.created(rest, own) == [(own["key"], None), ("node.kubernetes.io/unreachable", 300)]

    def test_who_tolerates_everything_needs_no_more(self, rest: Client) -> None:
        assert self.created(rest, {"operator": "Exists"}) == [("", None)]

from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.kube.client import PatchType
from karpy.sim.api.wire.requests import Accept, Request, Target, parse_accept, parse_target


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/nodes", Target("", "v1", "nodes")),
        ("/api/v1/nodes/n/status", Target("", "v1", "nodes", "", "n", "status")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/t", Target("", "v1", "namespaces", "", "t")),
        ("/api/v1/namespaces/t/finalize", Target("", "v1", "namespaces", "", "t", "finalize")),
        ("/api/v1/namespaces/t/pods", Target("", "v1", "pods", "t")),
        ("/apis/apps/v1/namespaces/t/deployments/d/scale", Target("apps", "v1", "deployments", "t", "d", "scale")),
        ("/apis/apps/v1", Target("apps", "v1")),
        ("/apis/apps", None),
        ("/version", None),
        ("/api/v1/nodes/n/proxy/deeper", None),
    ],
)
def test_paths_lead_to_targets(path: str, target: Target | None) -> None:
    assert parse_target(path) == target


@pytest.mark.parametrize(
    ("header", "accept"),
    [
        ("", Accept()),
        ("application/json", Accept()),
        ("application/vnd.kubernetes.protobuf,application/json", Accept()),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Accept("Table", "v1")),
    ],
)
def test_the_first_representation_that_can_be_made_is_taken(header: str, accept: Accept) -> None:
    assert parse_accept(header) == accept


def test_the_content_type_says_how_a_patch_is_meant() -> None:
    request = Request("PATCH", "/", {}, content_type="application/merge-patch+json; charset=utf-8")
    assert request.patch_type is PatchType.MERGE
    with pytest.raises(KubeError) as refused:
        _ = Request("PATCH", "/", {}, content_type="application/json").patch_type
    assert refused.value.code == 415


def test_applied_configurations_may_be_yaml() -> None:
    assert Request("PATCH", "/", {}, b"a: [1, 2]", "application/apply-patch+yaml").decoded() == {"a": [1, 2]}


def test_the_writer_is_the_named_manager_or_the_program() -> None:
    assert Request("POST", "/", {"fieldManager": "me"}, user_agent="kubectl/v1").manager == "me"
    assert Request("POST", "/", {}, user_agent="kubectl/v1 (linux)").manager == "kubectl"


def test_delete_options_come_from_the_body_or_the_query() -> None:
    body = b'{"gracePeriodSeconds": 5, "preconditions": {"uid": "u"}, "propagationPolicy": "Orphan"}'
    options = Request("DELETE", "/", {}, body, "application/json").delete_options()
    assert (options.grace_period_s, options.uid, options.propagation) == (5, "u", "Orphan")
    assert Request("DELETE", "/", {"gracePeriodSeconds": "0"}).delete_options().grace_period_s == 0

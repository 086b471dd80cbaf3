"""What the server says of itself: health, version, paths, metrics and the documents that describe its API."""

from __future__ import annotations

import json

import pytest

from karpy.objects import kinds
from tests.karpy.sim.api.conftest import Client


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/etcd"])
def test_health_is_a_word(rest: Client, path: str) -> None:
    assert rest("GET", path) == (200, "ok")


def test_health_is_told_check_by_check(rest: Client) -> None:
    code, text = rest("GET", "/readyz", verbose="")
    assert code == 200
    assert text.splitlines() == ["[+]ping ok", "[+]log ok", "[+]etcd ok", "readyz check passed"]


def test_the_root_names_the_paths(rest: Client) -> None:
    paths = rest("GET", "/")[1]["paths"]
    assert {"/api", "/api/v1", "/apis", "/apis/apps/v1", "/healthz", "/metrics", "/openapi/v3", "/version"} <= set(
        paths
    )
    for path in paths:
        assert rest("GET", path)[0] == 200, path


def test_metrics_count_requests_and_objects(rest: Client) -> None:
    rest.server.create(kinds.NODE, {"metadata": {"name": "n"}})
    rest("GET", "/api/v1/nodes")
    rest("GET", "/api/v1/nodes")
    rest("GET", "/api/v1/nodes/none")
    code, text = rest("GET", "/metrics")
    assert code == 200
    lines = text.splitlines()
    assert (
        'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="nodes",scope="cluster",'
        'subresource="",verb="LIST",version="v1"} 2'
    ) in lines
    assert any('code="404"' in line and 'verb="GET"' in line and line.endswith(" 1") for line in lines)
    assert 'apiserver_storage_objects{resource="nodes"} 1' in lines


def test_openapi_v2_defines_every_kind_and_refers_to_nothing_else(rest: Client) -> None:
    document = rest("GET", "/openapi/v2")[1]
    definitions = document["definitions"]
    kinds_defined = {
        (gvk["group"], gvk["kind"])
        for each in definitions.values()
        for gvk in each.get("x-kubernetes-group-version-kind", ())
    }
    assert {("", "Pod"), ("apps", "Deployment"), ("policy", "PodDisruptionBudget")} <= kinds_defined
    text = json.dumps(document)
    referred = {part.split('"')[0] for part in text.split('"#/definitions/')[1:]}
    assert referred <= definitions.keys()
    assert "#/components" not in text
    assert "components" not in document

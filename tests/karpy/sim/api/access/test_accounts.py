"""Service accounts of pods: which one, and the volume through which a pod gets its token."""

from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from tests.karpy.sim.api.conftest import Client

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod(**spec: Any) -> dict:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def test_every_container_gets_the_token_mounted(rest: Client) -> None:
    spec = rest("POST", PODS, pod(initContainers=[{"name": "i", "image": "i"}]))[1]["spec"]
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["volumeMounts"] == [{"name": volume["name"], "readOnly": True, "mountPath": PLACE}]


def test_a_container_that_mounts_something_there_keeps_it(rest: Client) -> None:
    mount = {"name": "own", "mountPath": PLACE}
    container = {"name": "c", "image": "i", "volumeMounts": [mount]}
    spec = rest("POST", PODS, pod(containers=[container], volumes=[{"name": "own", "emptyDir": {}}]))[1]["spec"]
    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert [each["name"] for each in spec["volumes"]] == ["own"]


def test_pod_and_account_can_do_without(rest: Client) -> None:
    assert "volumes" not in rest("POST", PODS, pod(automountServiceAccountToken=False), dryRun="All")[1]["spec"]
    rest("POST", ACCOUNTS, {"metadata": {"name": "bare"}, "automountServiceAccountToken": False})
    assert "volumes" not in rest("POST", PODS, pod(serviceAccountName="bare"), dryRun="All")[1]["spec"]
    both = pod(serviceAccountName="bare", automountServiceAccountToken=True)
    assert "volumes" in rest("POST", PODS, both)[1]["spec"]


def test_the_accounts_pull_secrets_are_the_pods(rest: Client) -> None:
    rest("POST", ACCOUNTS, {"metadata": {"name": "puller"}, "imagePullSecrets": [{"name": "s"}]})
    spec = rest("POST", PODS, pod(serviceAccountName="puller"))[1]["spec"]
    assert spec["imagePullSecrets"] == [{"name": "s"}]


def test_an_account_that_does_not_exist_is_refused(rest: Client) -> None:
    code, answer = rest("POST", PODS, pod(serviceAccountName="nobody"))
    assert code == 403
    assert answer["message"] == (
        'pods "p" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found'
    )


def test_pods_of_the_clusters_own_actors_carry_no_token(rest: Client) -> None:
    assert "volumes" not in rest.server.create(kinds.POD, pod())["spec"]

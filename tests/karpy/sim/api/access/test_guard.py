"""Who gets in: tokens, anonymous requests, impersonation, and the reviews that tell of it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from karpy.objects import kinds
from karpy.sim.api.wire.requests import Impersonated
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from tests.karpy.sim.api.conftest import Client

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authorization.k8s.io/v1"
ROBOT = "system:serviceaccount:default:robot"


@pytest.fixture
def guarded(clock: VirtualClock) -> Client:
    client = Client(ApiServer(clock, rbac=True), "secret")
    client("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    return client


def token(client: Client, **spec: Any) -> str:
    code, answer = client("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert code == 201, answer
    issued: str = answer["status"]["token"]
    return issued


def allow(client: Client, verbs: str, resources: str, group: str = "") -> None:
    rule = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    client("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    body = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]}
    assert client("POST", f"{RBAC}/clusterrolebindings", body)[0] == 201


def test_a_token_that_is_none_is_refused(guarded: Client) -> None:
    code, answer = guarded("GET", PODS, token="nonsense")
    assert (code, answer["reason"], answer["message"]) == (401, "Unauthorized", "Unauthorized")


def test_without_a_token_one_is_anonymous_and_sees_the_health_only(guarded: Client) -> None:
    code, answer = guarded("GET", PODS, token="")
    assert code == 403
    assert answer["message"] == (
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"'
    )
    assert guarded("GET", "/healthz", token="") == (200, "ok")
    code, answer = guarded("GET", "/metrics", token="")
    assert answer["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'


def test_without_rbac_there_are_no_anonymous_requests(clock: VirtualClock) -> None:
    client = Client(ApiServer(clock), "secret")
    assert client("GET", PODS, token="")[0] == 401
    assert client("GET", PODS)[0] == 200


def test_a_service_account_is_who_its_token_says(guarded: Client) -> None:
    code, answer = guarded("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=token(guarded))
    assert code == 201
    info = answer["status"]["userInfo"]
    assert info["username"] == ROBOT
    assert info["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]


def test_a_service_account_may_do_what_its_roles_allow(guarded: Client) -> None:
    own = token(guarded)
    assert guarded("GET", PODS, token=own)[0] == 403
    allow(guarded, "list", "pods")
    assert guarded("GET", PODS, token=own)[0] == 200
    assert guarded("DELETE", f"{PODS}/p", token=own)[0] == 403
    assert guarded("DELETE", PODS, token=own)[1]["message"].startswith(
        f'pods is forbidden: User "{ROBOT}" cannot deletecollection resource "pods"'
    )


def test_an_apply_that_creates_needs_the_right_to_create(guarded: Client) -> None:
    allow(guarded, "patch", "configmaps")
    path, body = "/api/v1/namespaces/default/configmaps/c", {"apiVersion": "v1", "kind": "ConfigMap"}
    apply = {"media": "application/apply-patch+yaml", "fieldManager": "m"}
    code, answer = guarded("PATCH", path, body, token=token(guarded), **apply)
    assert code == 403
    assert "cannot create resource" in answer["message"]
    assert guarded("PATCH", path, body, **apply)[0] == 201
    assert guarded("PATCH", path, body, token=token(guarded), **apply)[0] == 200


def test_tokens_end_with_their_time_their_account_and_what_they_are_bound_to(
    guarded: Client, clock: VirtualClock
) -> None:
    allow(guarded, "list", "pods")
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    guarded("POST", PODS, pod)
    short, long = token(guarded, expirationSeconds=600), token(guarded, expirationSeconds=7200)
    bound = token(guarded, expirationSeconds=7200, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    assert guarded("GET", PODS, token=bound)[0] == 200
    clock.advance(601)
    assert guarded("GET", PODS, token=short)[0] == 401
    assert guarded("GET", PODS, token=long)[0] == 200
    guarded.server.delete(kinds.POD, "p", "default")
    assert guarded("GET", PODS, token=bound)[0] == 401
    guarded("DELETE", f"{ACCOUNTS}/robot")
    guarded("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    assert guarded("GET", PODS, token=long)[0] == 401


def test_a_token_that_was_tampered_with_is_refused(guarded: Client) -> None:
    head, payload, signature = token(guarded).split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert claims["sub"] == ROBOT
    claims["exp"] += 10
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    assert guarded("GET", PODS, token=f"{head}.{forged}.{signature}")[0] == 401


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"expirationSeconds": 5}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 1 << 33}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"boundObjectRef": {"kind": "Pod", "name": "no"}}, 404, 'pods "no" not found'),
        ({"boundObjectRef": {"kind": "Service", "name": "no"}}, 400, "to object of type Service"),
    ],
)
def test_tokens_that_cannot_be_issued(guarded: Client, spec: dict, code: int, message: str) -> None:
    found, answer = guarded("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert found == code
    assert message in answer["message"]


def test_tokens_can_be_reviewed(guarded: Client) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    code, answer = guarded("POST", path, {"spec": {"token": token(guarded)}})
    assert code == 201
    assert answer["status"]["authenticated"] is True
    assert answer["status"]["user"]["username"] == ROBOT
    assert guarded("POST", path, {"spec": {"token": "x"}})[1]["status"] == {
        "user": {},
        "error": "invalid bearer token",
    }


def test_access_is_reviewed_for_oneself_and_for_others(guarded: Client) -> None:
    allow(guarded, "list", "pods")
    asked = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "t"}}}
    code, answer = guarded("POST", f"{REVIEWS}/selfsubjectaccessreviews", asked, token=token(guarded))
    assert code == 201
    assert answer["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "robot/default"',
    }
    other = {"spec": {**asked["spec"], "user": "jane"}}
    assert guarded("POST", f"{REVIEWS}/subjectaccessreviews", other)[1]["status"] == {"allowed": False}
    nobody = guarded("POST", f"{REVIEWS}/subjectaccessreviews", asked)
    assert nobody[0] == 422
    assert "at least one of user or group must be specified" in nobody[1]["message"]


def test_ones_own_rules_are_listed(guarded: Client) -> None:
    allow(guarded, "list", "pods")
    asked = {"spec": {"namespace": "default"}}
    answer = guarded("POST", f"{REVIEWS}/selfsubjectrulesreviews", asked, token=token(guarded))[1]
    assert {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]} in answer["status"]["resourceRules"]
    assert any("/api/*" in rule["nonResourceURLs"] for rule in answer["status"]["nonResourceRules"])


def test_administrators_may_speak_for_others_and_others_may_not(guarded: Client) -> None:
    allow(guarded, "list", "pods")
    robot = Impersonated(ROBOT)
    assert guarded("GET", PODS, impersonated=robot)[0] == 200
    assert guarded("GET", f"{PODS}/p", impersonated=robot)[0] == 403
    code, answer = guarded("GET", PODS, token=token(guarded), impersonated=Impersonated("jane"))
    assert code == 403
    assert answer["message"] == (
        f'users "jane" is forbidden: User "{ROBOT}" cannot impersonate resource "users" in API group "" at the cluster scope'
    )

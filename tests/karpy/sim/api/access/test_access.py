"""Roles: what they allow, how a refusal reads, and whether a manifest gives an identity all that it uses and no more."""

from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.api.access.access import Action, Uses, allows, missing, unused
from karpy.sim.api.access.identity import service_account
from karpy.sim.apiserver import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ApiServer
from karpy.sim.clock import VirtualClock

ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
ROBOT = service_account("t", "robot")
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def rule(verbs: str, resources: str, group: str = "", **more: object) -> dict:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


def role(kind: str, name: str, *rules: dict, **meta: object) -> dict:
    return {"kind": kind, "metadata": {"name": name, **meta}, "rules": list(rules)}


def binding(kind: str, role_kind: str, role_name: str, subject: dict, **meta: object) -> dict:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role_name}
    return {"kind": kind, "metadata": {"name": "b", **meta}, "roleRef": reference, "subjects": [subject]}


SUBJECT = {"kind": "ServiceAccount", "name": "robot", "namespace": "t"}


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(VirtualClock(), rbac=True)
    server.create(kinds.NAMESPACE, {"metadata": {"name": "t"}})
    return server


def refusal(server: ApiServer, call: str, *args: object, **more: object) -> str:
    with pytest.raises(KubeError) as refused:
        getattr(server.acting_as(ROBOT), call)(*args, **more)
    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    return refused.value.message


def test_nothing_is_allowed_that_no_role_allows(server: ApiServer) -> None:
    who = 'User "system:serviceaccount:t:robot"'
    assert refusal(server, "list", kinds.POD, "t") == (
        f'pods is forbidden: {who} cannot list resource "pods" in API group "" in the namespace "t"'
    )
    assert refusal(server, "get", kinds.NODE, "n") == (
        f'nodes "n" is forbidden: {who} cannot get resource "nodes" in API group "" at the cluster scope'
    )
    assert refusal(server, "evict", "p", "t") == (
        f'pods "p" is forbidden: {who} cannot create resource "pods/eviction" in API group "" in the namespace "t"'
    )
    assert refusal(server, "watch", kinds.NODE_POOL, "") == (
        f'nodepools.karpenter.sh is forbidden: {who} cannot watch resource "nodepools" in API group "karpenter.sh" '
        "at the cluster scope"
    )


def test_a_role_holds_in_its_namespace_only(server: ApiServer) -> None:
    server.create(ROLE, role("Role", "reader", rule("list", "pods")), "t")
    server.create(ROLE_BINDING, binding("RoleBinding", "Role", "reader", SUBJECT), "t")
    robot = server.acting_as(ROBOT)
    assert robot.list(kinds.POD, "t").items == ()
    refusal(server, "list", kinds.POD, "default")
    refusal(server, "list", kinds.POD)
    refusal(server, "create", kinds.POD, POD, "t")


def test_a_cluster_role_holds_as_widely_as_its_binding(server: ApiServer) -> None:
    server.create(CLUSTER_ROLE, role("ClusterRole", "reader", rule("list", "pods")))
    server.create(ROLE_BINDING, binding("RoleBinding", "ClusterRole", "reader", SUBJECT), "t")
    robot = server.acting_as(ROBOT)
    assert robot.list(kinds.POD, "t").items == ()
    refusal(server, "list", kinds.POD)
    server.create(CLUSTER_ROLE_BINDING, binding("ClusterRoleBinding", "ClusterRole", "reader", SUBJECT))
    assert robot.list(kinds.POD).items == ()
    server.delete(CLUSTER_ROLE_BINDING, "b")
    refusal(server, "list", kinds.POD)


def test_a_binding_to_a_role_that_is_not_there_is_named(server: ApiServer) -> None:
    server.create(ROLE_BINDING, binding("RoleBinding", "Role", "lost", SUBJECT), "t")
    assert refusal(server, "list", kinds.POD, "t").endswith(
        'in the namespace "t": RBAC: role.rbac.authorization.k8s.io "lost" not found'
    )


def test_groups_of_service_accounts_can_be_bound(server: ApiServer) -> None:
    group = {"kind": "Group", "name": "system:serviceaccounts:t"}
    server.create(CLUSTER_ROLE_BINDING, binding("ClusterRoleBinding", "ClusterRole", "cluster-admin", group))
    assert server.acting_as(ROBOT).create(kinds.POD, POD, "t")["metadata"]["name"] == "p"


def test_aggregated_roles_gather_the_rules_of_those_they_select(server: ApiServer) -> None:
    mark = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    pools = rule("get list watch", "nodepools", "karpenter.sh")
    server.create(CLUSTER_ROLE, role("ClusterRole", "karpenter-view", pools, labels=mark))
    for name in ("view", "edit", "admin"):
        assert pools in server.get(CLUSTER_ROLE, name)["rules"]
    server.delete(CLUSTER_ROLE, "karpenter-view")
    assert pools not in server.get(CLUSTER_ROLE, "view")["rules"]


@pytest.mark.parametrize(
    ("given", "action", "covered"),
    [
        (rule("get", "pods"), Action("get", "", "pods", "t", "p"), True),
        (rule("*", "*", "*"), Action("get", "apps", "deployments/scale", "t", "p"), True),
        (rule("get", "pods"), Action("get", "", "pods/log", "t", "p"), False),
        (rule("get", "pods/log"), Action("get", "", "pods/log", "t", "p"), True),
        (rule("update", "*/scale", "apps"), Action("update", "apps", "deployments/scale"), True),
        (rule("get", "pods", "apps"), Action("get", "", "pods"), False),
        (rule("get", "leases", resourceNames=["a"]), Action("get", "", "leases", "t", "a"), True),
        (rule("get", "leases", resourceNames=["a"]), Action("get", "", "leases", "t", "b"), False),
        (rule("list", "leases", resourceNames=["a"]), Action("list", "", "leases", "t"), False),
        ({"verbs": ["get"], "nonResourceURLs": ["/api/*"]}, Action("get", path="/api/v1"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/api"]}, Action("get", path="/api/v1"), False),
    ],
)
def test_a_rule_covers(given: dict, action: Action, *, covered: bool) -> None:
    assert allows(given, action) is covered


class TestWhatWasUsed:
    MANIFEST = (
        role("ClusterRole", "robot", rule("get list", "nodes"), rule("create", "pods/eviction")),
        binding("ClusterRoleBinding", "ClusterRole", "robot", SUBJECT),
        role("Role", "robot", rule("update", "leases", "coordination.k8s.io", resourceNames=["x"]), namespace="t"),
        binding("RoleBinding", "Role", "robot", SUBJECT, namespace="t"),
    )

    def uses(self) -> tuple[Action, ...]:
        server = ApiServer(VirtualClock())
        server.access.uses = Uses()
        robot = server.acting_as(ROBOT)
        robot.list(kinds.NODE)
        for _ in range(2):
            robot.create(kinds.NODE, {"metadata": {"name": f"n{_}"}})
        return server.access.uses.of(ROBOT.name)

    def test_each_thing_is_told_once_and_in_order(self) -> None:
        assert self.uses() == (Action("list", "", "nodes"), Action("create", "", "nodes"))

    def test_what_a_manifest_lacks_is_named(self) -> None:
        assert missing(self.MANIFEST, ROBOT, self.uses()) == [Action("create", "", "nodes")]

    def test_what_a_manifest_grants_in_vain_is_named(self) -> None:
        assert unused(self.MANIFEST, ROBOT, self.uses()) == [
            Action("get", "", "nodes"),
            Action("create", "", "pods/eviction"),
            Action("update", "coordination.k8s.io", "leases", "t", "x"),
        ]

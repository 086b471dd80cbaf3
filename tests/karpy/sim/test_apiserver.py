"""What clients of the embedded API server may rely on: metadata, conflicts, deletion, owners, subresources."""

from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.kube.client import PatchType
from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock

CONTAINER = {"name": "c", "image": "nginx:1"}


def _pod(name: str = "p", **spec: object) -> dict:
    return {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {"containers": [CONTAINER], **spec}}


def _deployment(name: str = "web") -> dict:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def _owner(obj: dict, kind: str, *, block: bool = True) -> dict:
    meta = obj["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**reference, "controller": True, "blockOwnerDeletion": block}


def _owned(name: str, owner: dict, kind: str) -> dict:
    pod = _pod(name)
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [_owner(owner, kind)]}}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def server(clock: VirtualClock) -> ApiServer:
    return ApiServer(clock)


def _names(server: ApiServer, kind: kinds.Kind) -> list[str]:
    return [item["metadata"]["name"] for item in server.list(kind).items]


class TestCreate:
    def test_the_server_sets_its_part_of_the_metadata(self, server: ApiServer) -> None:
        meta = server.create(kinds.POD, _pod())["metadata"]
        assert meta["namespace"] == "default"
        assert meta["creationTimestamp"] == "2026-01-05T09:00:00Z"
        assert len(meta["uid"]) == 36
        assert int(meta["resourceVersion"]) > 0

    def test_the_same_calls_with_the_same_seed_give_the_same_cluster(self, clock: VirtualClock) -> None:
        def build(seed: int) -> list:
            server = ApiServer(clock, seed)
            server.create(kinds.POD, {**_pod(), "metadata": {"generateName": "p-"}})
            return list(server.list(kinds.POD).items)

        assert build(1) == build(1)
        assert build(1) != build(2)

    def test_names_are_generated(self, server: ApiServer) -> None:
        meta = server.create(kinds.POD, {**_pod(), "metadata": {"generateName": "web-"}})["metadata"]
        assert meta["name"].startswith("web-")
        assert len(meta["name"]) == len("web-") + 5

    def test_a_name_can_be_taken_once(self, server: ApiServer) -> None:
        server.create(kinds.POD, _pod())
        with pytest.raises(KubeError, match='pods "p" already exists') as refused:
            server.create(kinds.POD, _pod())
        assert refused.value.already_exists
        assert not refused.value.conflict

    def test_pods_get_the_defaults_of_the_real_server(self, server: ApiServer) -> None:
        resources = {"limits": {"cpu": 1, "memory": "1024Mi"}}
        pod = server.create(kinds.POD, _pod(containers=[{**CONTAINER, "resources": resources}]))
        assert pod["spec"]["restartPolicy"] == "Always"
        assert pod["spec"]["terminationGracePeriodSeconds"] == 30
        container = pod["spec"]["containers"][0]
        assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
        assert container["imagePullPolicy"] == "IfNotPresent"
        assert pod["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}

    def test_a_priority_class_gives_its_value(self, server: ApiServer) -> None:
        pod = server.create(kinds.POD, _pod(priorityClassName="system-node-critical"))
        assert pod["spec"]["priority"] == 2_000_001_000
        with pytest.raises(KubeError, match="no PriorityClass with name none was found"):
            server.create(kinds.POD, _pod("q", priorityClassName="none"))

    def test_deployments_get_theirs(self, server: ApiServer) -> None:
        spec = server.create(kinds.DEPLOYMENT, _deployment())["spec"]
        assert spec["replicas"] == 1
        assert spec["strategy"] == {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        }
        assert spec["template"]["spec"]["schedulerName"] == "default-scheduler"

    @pytest.mark.parametrize(
        ("pod", "complaint"),
        [
            (_pod("Bad_Name"), "metadata.name: Invalid value"),
            (_pod(containers=[]), "spec.containers: Required value"),
            (_pod(containers=[{"name": "c"}]), r"spec.containers\[0\].image: Required value"),
            (_pod(containers=[CONTAINER, CONTAINER]), r"spec.containers\[1\].name: Duplicate value"),
            (
                _pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "-1"}}}]),
                "must be greater than or equal to 0",
            ),
            (_pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "lots"}}}]), "quantities must match"),
        ],
    )
    def test_what_breaks_a_rule_is_refused_with_the_real_text(
        self, server: ApiServer, pod: dict, complaint: str
    ) -> None:
        with pytest.raises(KubeError, match=complaint):
            server.create(kinds.POD, pod)

    def test_labels_are_text(self, server: ApiServer) -> None:
        with pytest.raises(KubeError, match=r"cannot unmarshal number into Go struct field ObjectMeta\.labels"):
            server.create(kinds.NODE, {"metadata": {"name": "n", "labels": {"a": 1}}})
        with pytest.raises(KubeError, match="a valid label must be an empty string or consist of"):
            server.create(kinds.NODE, {"metadata": {"name": "n", "labels": {"a": "b c"}}})

    def test_the_namespace_must_exist(self, server: ApiServer) -> None:
        with pytest.raises(KubeError, match='namespaces "none" not found'):
            server.create(kinds.POD, _pod(), "none")

    def test_a_kind_that_is_not_served_is_not_found(self, server: ApiServer) -> None:
        with pytest.raises(KubeError) as refused:
            server.list(kinds.NODE_POOL)
        assert refused.value.not_found


class TestUpdate:
    def test_a_stale_writer_gets_a_conflict(self, server: ApiServer) -> None:
        stale = server.create(kinds.NODE, {"metadata": {"name": "n"}})
        server.patch(kinds.NODE, "n", {"metadata": {"labels": {"a": "1"}}})
        with pytest.raises(KubeError, match="the object has been modified") as refused:
            server.replace(kinds.NODE, stale)
        assert refused.value.conflict
        with pytest.raises(KubeError) as patched:
            server.patch(kinds.NODE, "n", {"metadata": {"resourceVersion": stale["metadata"]["resourceVersion"]}})
        assert patched.value.conflict

    def test_without_a_version_the_write_is_unconditional(self, server: ApiServer) -> None:
        server.create(kinds.NODE, {"metadata": {"name": "n"}})
        assert server.replace(kinds.NODE, {"metadata": {"name": "n", "labels": {"b": "1"}}})["metadata"]["labels"] == {
            "b": "1"
        }

    def test_only_changes_of_the_spec_count_generations(self, server: ApiServer) -> None:
        server.create(kinds.DEPLOYMENT, _deployment())

        def generation(patch: dict, subresource: str = "") -> int:
            return server.patch(kinds.DEPLOYMENT, "web", patch, "default", subresource=subresource)["metadata"][
                "generation"
            ]

        assert generation({"metadata": {"labels": {"x": "y"}}}) == 1
        assert generation({"status": {"replicas": 3}}, "status") == 1
        assert generation({"spec": {"replicas": 1}}) == 1
        assert generation({"spec": {"replicas": 2}}) == 2

    def test_a_write_that_changes_nothing_makes_no_new_version(self, server: ApiServer) -> None:
        before = server.create(kinds.DEPLOYMENT, _deployment())
        watch = server.watch(kinds.DEPLOYMENT, "")
        assert server.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": 1}}, "default") is before
        assert watch.poll() == []

    def test_the_object_and_its_status_are_written_apart(self, server: ApiServer) -> None:
        server.create(kinds.DEPLOYMENT, _deployment())
        both = {"spec": {"replicas": 5}, "status": {"readyReplicas": 2}}
        changed = server.patch(kinds.DEPLOYMENT, "web", both, "default")
        assert (changed["spec"]["replicas"], changed["status"]) == (5, {})
        both = {"spec": {"replicas": 9}, "status": {"readyReplicas": 2}}
        changed = server.patch(kinds.DEPLOYMENT, "web", both, "default", subresource="status")
        assert (changed["spec"]["replicas"], changed["status"]) == (5, {"readyReplicas": 2})

    def test_a_removed_field_gets_its_default_back(self, server: ApiServer) -> None:
        server.create(kinds.DEPLOYMENT, {**_deployment(), "spec": {**_deployment()["spec"], "replicas": 7}})
        assert server.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": None}}, "default")["spec"]["replicas"] == 1

    def test_what_is_immutable_stays(self, server: ApiServer) -> None:
        server.create(kinds.DEPLOYMENT, _deployment())
        server.create(kinds.POD, _pod())
        server.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {"providerID": "a"}})
        with pytest.raises(KubeError, match="field is immutable"):
            server.patch(kinds.DEPLOYMENT, "web", {"spec": {"selector": {"matchLabels": {"app": "other"}}}}, "default")
        with pytest.raises(KubeError, match="pod updates may not change fields other than"):
            server.patch(kinds.POD, "p", {"spec": {"nodeName": "n"}}, "default")
        with pytest.raises(KubeError, match="may not change providerID"):
            server.patch(kinds.NODE, "n", {"spec": {"providerID": "b"}})
        uid = server.patch(kinds.NODE, "n", {"metadata": {"creationTimestamp": None}})["metadata"]["uid"]
        assert uid == server.get(kinds.NODE, "n")["metadata"]["uid"]


class TestDelete:
    def test_a_bound_pod_waits_for_its_kubelet(self, server: ApiServer) -> None:
        server.create(kinds.POD, _pod(nodeName="n"))
        server.delete(kinds.POD, "p", "default")
        meta = server.get(kinds.POD, "p", "default")["metadata"]
        assert meta["deletionTimestamp"] == "2026-01-05T09:00:30Z"
        assert meta["deletionGracePeriodSeconds"] == 30
        server.delete(kinds.POD, "p", "default", grace_period_s=0)
        assert _names(server, kinds.POD) == []

    def test_a_second_delete_can_shorten_the_grace_but_not_lengthen_it(self, server: ApiServer) -> None:
        server.create(kinds.POD, _pod(nodeName="n"))
        for asked, left in ((20, 20), (5, 5), (60, 5)):
            server.delete(kinds.POD, "p", "default", grace_period_s=asked)
            assert server.get(kinds.POD, "p", "default")["metadata"]["deletionGracePeriodSeconds"] == left

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_pods_that_are_done_or_unbound_go_at_once(self, server: ApiServer, phase: str) -> None:
        server.create(kinds.POD, _pod("done", nodeName="n"))
        server.patch(kinds.POD, "done", {"status": {"phase": phase}}, "default", subresource="status")
        server.create(kinds.POD, _pod("unbound"))
        for name in ("done", "unbound"):
            server.delete(kinds.POD, name, "default")
        assert _names(server, kinds.POD) == []

    def test_finalizers_hold_an_object_and_no_new_ones_may_come(self, server: ApiServer) -> None:
        server.create(kinds.NODE, {"metadata": {"name": "n", "finalizers": ["a.b/c"]}})
        server.delete(kinds.NODE, "n")
        assert "deletionTimestamp" in server.get(kinds.NODE, "n")["metadata"]
        with pytest.raises(KubeError, match="no new finalizers can be added"):
            server.patch(kinds.NODE, "n", {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}})
        server.patch(kinds.NODE, "n", {"metadata": {"finalizers": None}})
        assert _names(server, kinds.NODE) == []

    def test_a_uid_is_a_precondition(self, server: ApiServer) -> None:
        server.create(kinds.POD, _pod())
        with pytest.raises(KubeError) as refused:
            server.delete(kinds.POD, "p", "default", uid="another")
        assert refused.value.conflict

    def test_what_is_not_there_cannot_be_deleted(self, server: ApiServer) -> None:
        with pytest.raises(KubeError, match='nodes "n" not found') as refused:
            server.delete(kinds.NODE, "n")
        assert refused.value.not_found

    def test_a_namespace_takes_its_content_along(self, server: ApiServer) -> None:
        server.create(kinds.NAMESPACE, {"metadata": {"name": "t"}})
        server.create(kinds.CONFIG_MAP, {"metadata": {"name": "c"}}, "t")
        server.create(kinds.POD, _pod(nodeName="n"), "t")
        server.delete(kinds.NAMESPACE, "t")
        assert server.get(kinds.NAMESPACE, "t")["status"]["phase"] == "Terminating"
        with pytest.raises(KubeError, match="because it is being terminated"):
            server.create(kinds.CONFIG_MAP, {"metadata": {"name": "d"}}, "t")
        server.delete(kinds.POD, "p", "t", grace_period_s=0)
        assert "t" not in _names(server, kinds.NAMESPACE)


class TestOwners:
    def test_dependents_follow_their_owner_down_the_chain(self, server: ApiServer) -> None:
        deployment = server.create(kinds.DEPLOYMENT, _deployment())
        owned = {**_deployment("rs"), "metadata": {"name": "rs", "ownerReferences": [_owner(deployment, "Deployment")]}}
        replica_set = server.create(kinds.REPLICA_SET, owned)
        for i in range(3):
            server.create(kinds.POD, _owned(f"p{i}", replica_set, "ReplicaSet"))
        server.delete(kinds.DEPLOYMENT, "web", "default")
        assert _names(server, kinds.REPLICA_SET) == _names(server, kinds.POD) == []

    def test_a_second_owner_keeps_the_dependent(self, server: ApiServer) -> None:
        one = server.create(kinds.REPLICA_SET, _deployment("one"))
        two = server.create(kinds.REPLICA_SET, _deployment("two"))
        pod = _pod()
        references = [_owner(one, "ReplicaSet"), {**_owner(two, "ReplicaSet"), "controller": False}]
        server.create(kinds.POD, {**pod, "metadata": {**pod["metadata"], "ownerReferences": references}})
        server.delete(kinds.REPLICA_SET, "one", "default")
        assert [each["name"] for each in server.get(kinds.POD, "p", "default")["metadata"]["ownerReferences"]] == [
            "two"
        ]

    def test_orphaned_dependents_lose_the_reference_and_stay(self, server: ApiServer) -> None:
        owner = server.create(kinds.REPLICA_SET, _deployment())
        server.create(kinds.POD, _owned("p", owner, "ReplicaSet"))
        server.delete(kinds.REPLICA_SET, "web", "default", propagation="Orphan")
        assert _names(server, kinds.REPLICA_SET) == []
        assert "ownerReferences" not in server.get(kinds.POD, "p", "default")["metadata"]

    def test_in_the_foreground_the_owner_goes_last(self, server: ApiServer) -> None:
        owner = server.create(kinds.REPLICA_SET, _deployment())
        bound = _owned("p", owner, "ReplicaSet")
        server.create(kinds.POD, {**bound, "spec": {**bound["spec"], "nodeName": "n"}})
        server.delete(kinds.REPLICA_SET, "web", "default", propagation="Foreground")
        assert server.get(kinds.REPLICA_SET, "web", "default")["metadata"]["finalizers"] == ["foregroundDeletion"]
        server.delete(kinds.POD, "p", "default", grace_period_s=0)
        assert _names(server, kinds.REPLICA_SET) == []


class TestSubresources:
    def test_binding_assigns_a_pod_once(self, server: ApiServer) -> None:
        server.create(kinds.POD, _pod())
        server.bind("p", "default", "n")
        pod = server.get(kinds.POD, "p", "default")
        assert pod["spec"]["nodeName"] == "n"
        assert [(each["type"], each["status"]) for each in pod["status"]["conditions"]] == [("PodScheduled", "True")]
        with pytest.raises(KubeError, match='pod p is already assigned to node "n"') as refused:
            server.bind("p", "default", "m")
        assert refused.value.conflict

    def test_scale_reads_and_writes_the_replicas(self, server: ApiServer) -> None:
        server.create(kinds.DEPLOYMENT, _deployment())
        scale = server.patch(kinds.DEPLOYMENT, "web", {"spec": {"replicas": 4}}, "default", subresource="scale")
        assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 4}, "app=web")
        assert server.get(kinds.DEPLOYMENT, "web", "default")["spec"]["replicas"] == 4

    def _running(self, server: ApiServer, name: str = "p") -> None:
        server.create(kinds.POD, _pod(name, nodeName="n"))
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        server.patch(kinds.POD, name, {"status": status}, "default", subresource="status")

    def _budget(self, server: ApiServer, allowed: int) -> None:
        budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
        server.create(kinds.POD_DISRUPTION_BUDGET, budget)
        status = {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "currentHealthy": allowed + 1,
            "desiredHealthy": 1,
        }
        server.patch(kinds.POD_DISRUPTION_BUDGET, "b", {"status": status}, "default", subresource="status")

    def test_eviction_without_a_budget_is_a_delete_that_says_why(self, server: ApiServer) -> None:
        self._running(server)
        server.evict("p", "default")
        pod = server.get(kinds.POD, "p", "default")
        assert "deletionTimestamp" in pod["metadata"]
        assert pod["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"

    def test_a_spent_budget_refuses_with_the_real_text(self, server: ApiServer) -> None:
        self._running(server)
        self._budget(server, allowed=0)
        with pytest.raises(
            KubeError, match="Cannot evict pod as it would violate the pod's disruption budget"
        ) as refused:
            server.evict("p", "default")
        assert refused.value.code == 429
        assert (
            refused.value.details["causes"][0]["message"]
            == "The disruption budget b needs 1 healthy pods and has 1 currently"
        )

    def test_each_eviction_spends_the_budget(self, server: ApiServer) -> None:
        for name in ("p", "q"):
            self._running(server, name)
        self._budget(server, allowed=1)
        server.evict("p", "default")
        with pytest.raises(KubeError):
            server.evict("q", "default")

    def test_a_budget_that_nobody_has_counted_for_is_counted_by_the_server(self, server: ApiServer) -> None:
        for name in ("p", "q"):
            self._running(server, name)
        budget = {
            "metadata": {"name": "b"},
            "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "a"}}},
        }
        server.create(kinds.POD_DISRUPTION_BUDGET, budget)
        server.evict("p", "default")
        found = server.get(kinds.POD_DISRUPTION_BUDGET, "b", "default")["status"]
        assert (found["disruptionsAllowed"], found["desiredHealthy"]) == (0, 1)
        with pytest.raises(KubeError, match="Cannot evict pod"):
            server.evict("q", "default")

    def test_pods_that_do_not_run_are_evicted_whatever_the_budget(self, server: ApiServer) -> None:
        server.create(kinds.POD, _pod())
        self._budget(server, allowed=0)
        server.evict("p", "default")
        assert _names(server, kinds.POD) == []


class TestPatchTypes:
    def test_all_four_kinds_of_patch(self, server: ApiServer) -> None:
        server.create(kinds.DEPLOYMENT, _deployment())

        def patch(body: object, kind: PatchType) -> dict:
            return server.patch(kinds.DEPLOYMENT, "web", body, "default", patch_type=kind)["spec"]

        assert patch({"spec": {"replicas": 2}}, PatchType.MERGE)["replicas"] == 2
        assert patch([{"op": "replace", "path": "/spec/replicas", "value": 3}], PatchType.JSON)["replicas"] == 3
        containers = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}}
        assert (
            patch(containers, PatchType.STRATEGIC)["template"]["spec"]["containers"][0]["terminationMessagePolicy"]
            == "File"
        )

    def test_strategic_merge_is_for_built_in_kinds(self, server: ApiServer) -> None:
        from karpy.kube.crds import node_pool_crd

        server.install_crd(node_pool_crd())
        spec = {"template": {"spec": {"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}, "requirements": []}}}
        server.create(kinds.NODE_POOL, {"metadata": {"name": "d"}, "spec": spec})
        with pytest.raises(KubeError) as refused:
            server.patch(kinds.NODE_POOL, "d", {"spec": {"weight": 1}}, patch_type=PatchType.STRATEGIC)
        assert refused.value.code == 415

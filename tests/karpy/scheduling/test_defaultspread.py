from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from karpy import labels
from karpy.labels import CORE_LABELS
from karpy.objects.pod import Pod
from karpy.objects.podspec import TopologySpreadConstraint
from karpy.objects.selectors import LabelSelector, SelectorRequirement
from karpy.scheduling.classes import classify, read_pods
from karpy.scheduling.defaultspread import DefaultSpread, deduced_selector
from karpy.scheduling.plan import Plan
from karpy.scheduling.selectors import pod_selector
from karpy.state.snapshot import Snapshot
from karpy.testing import make_node, make_nodepool, make_pod
from tests.judge import plan_of

Json = dict[str, Any]
WEB, DB = {"app": "web"}, {"app": "db"}
ZONAL = TopologySpreadConstraint(1, labels.ZONE, "DoNotSchedule")
BY_HOST = TopologySpreadConstraint(1, labels.HOSTNAME, "DoNotSchedule")
BY_RACK = TopologySpreadConstraint(1, "rack", "DoNotSchedule")  # no machine has such a label
API_VERSIONS = {"ReplicationController": "v1", "Service": "v1", "Job": "batch/v1", "CronTab": "acme.com/v1"}


def selecting(kind: str, name: str, selector: Json | None, namespace: str = "default") -> Json:
    """A service or workload; ``selector`` is the whole of its ``spec.selector``."""
    head = {"apiVersion": API_VERSIONS.get(kind, "apps/v1"), "kind": kind}
    return {**head, "metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


def replica_set(name: str = "web", match: Json | None = None, **more: Any) -> Json:
    return selecting("ReplicaSet", name, {"matchLabels": WEB if match is None else match}, **more)


def service(name: str = "web", selector: Json | None = WEB, **more: Any) -> Json:
    return selecting("Service", name, selector, **more)


def owned(name: str, kind: str = "ReplicaSet", by: str = "web", *, controls: bool = True, **pod: Any) -> Json:
    """A pod of that workload, with the label that web pods have unless it is told others."""
    made = make_pod(name, **{"labels": WEB, "requests": {"cpu": "100m"}, **pod})
    reference = {"apiVersion": API_VERSIONS.get(kind, "apps/v1"), "kind": kind, "name": by, "uid": f"{kind}-{by}"}
    made["metadata"]["ownerReferences"] = [{**reference, "controller": controls}]
    return made


def web(count: int, **pod: Any) -> list[Json]:
    return [owned(f"web-{number}", **pod) for number in range(count)]


def alone(name: str, **pod: Any) -> Json:
    return make_pod(name, owner="", **{"labels": WEB, "requests": {"cpu": "100m"}, **pod})


def planned(*objects: Json, by: TopologySpreadConstraint = ZONAL) -> Plan:
    return plan_of(make_nodepool(), *objects, default_spread=(by,))


def zones(plan: Plan) -> Counter[str | None]:
    """How many pods come to new machines, by zone."""
    found: Counter[str | None] = Counter()
    for launch in plan.launches:
        found[launch.requirements.labels().get(labels.ZONE)] += len(launch.pods)
    return found


def selector(pod: Json, *objects: Json) -> LabelSelector | None:
    return deduced_selector(Pod.from_dict(pod), Snapshot.from_objects(objects).workloads)


def is_in(*pairs: tuple[str, str]) -> tuple[SelectorRequirement, ...]:
    return tuple(SelectorRequirement(key, "In", (value,)) for key, value in pairs)


# What the constraints do


@pytest.mark.core("CORE-241")
def test_pods_that_say_nothing_are_spread_over_zones() -> None:
    assert zones(planned(replica_set(), *web(6))) == {"zone-a": 2, "zone-b": 2, "zone-c": 2}


@pytest.mark.core("CORE-242")
def test_pods_that_say_nothing_are_spread_over_hosts() -> None:
    assert [len(launch.pods) for launch in planned(replica_set(), *web(4), by=BY_HOST).launches] == [1, 1, 1, 1]


@pytest.mark.core("CORE-243")
def test_pods_that_name_constraints_of_their_own_are_left_alone() -> None:
    own = {"maxSkew": 9, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    pods = web(4, spec={"topologySpreadConstraints": [{**own, "labelSelector": {"matchLabels": WEB}}]})
    assert len(planned(replica_set(), *pods).launches) == 1
    assert len(planned(replica_set(), *pods, by=BY_RACK).launches) == 1


@pytest.mark.core("CORE-244")
def test_the_least_number_of_domains_counts() -> None:
    four = msgspec.structs.replace(ZONAL, min_domains=4)  # of which there are three, so no zone may hold two
    assert planned(replica_set(), *web(5), by=four).placed == 3


@pytest.mark.core("CORE-245")
def test_a_constraint_that_cannot_hold_keeps_pods_waiting() -> None:
    plan = planned(replica_set(), *web(2), by=BY_RACK)
    assert plan.placed == 0
    assert "rack" in plan.unschedulable[0].reason


@pytest.mark.core("CORE-246")
def test_a_wish_that_cannot_be_met_is_given_up() -> None:
    wish = msgspec.structs.replace(BY_RACK, when_unsatisfiable="ScheduleAnyway")
    assert planned(replica_set(), *web(2), by=wish).placed == 2


@pytest.mark.core("CORE-247")
def test_without_constraints_nothing_is_spread() -> None:
    assert len(plan_of(make_nodepool(), replica_set(), *web(4)).launches) == 1


@pytest.mark.core("CORE-248")
def test_pods_that_belong_to_nothing_are_not_spread() -> None:
    assert len(planned(*(alone(f"p{n}") for n in range(4)), by=BY_HOST).launches) == 1


@pytest.mark.core("CORE-249")
def test_pods_that_run_already_count() -> None:
    there = [make_node(f"n-{z}", labels={labels.ZONE: f"zone-{z}"}, room={"cpu": "0", "pods": "9"}) for z in "ab"]
    running = [owned(f"r-{z}", node=f"n-{z}") for z in "ab"]
    assert zones(planned(replica_set(), *there, *running, *web(1))) == {"zone-c": 1}


@pytest.mark.core("CORE-250")
def test_workloads_are_spread_each_for_itself() -> None:
    both = [*web(2), *(owned(f"db-{n}", by="db", labels=DB) for n in range(2))]
    plan = planned(replica_set(), replica_set("db", DB), *both, by=BY_HOST)
    assert [sorted(key[8:-2] for key in launch.pods) for launch in plan.launches] == [["db", "web"]] * 2


@pytest.mark.core("CORE-251")
def test_revisions_of_a_deployment_are_spread_each_for_itself() -> None:
    revisions = [{**WEB, "pod-template-hash": text} for text in "ab"]
    sets = [replica_set(f"web-{r['pod-template-hash']}", r) for r in revisions]
    pods = [owned(f"p{n}", by=f"web-{r['pod-template-hash']}", labels=r) for n, r in enumerate(revisions)]
    assert len(planned(*sets, *pods, by=BY_HOST).launches) == 1


@pytest.mark.core("CORE-253")
def test_what_the_replica_set_selects_counts_and_not_what_labels_a_pod_has() -> None:
    pods = [owned(f"p{n}", labels={**WEB, "shard": str(n)}) for n in range(3)]
    assert len(planned(replica_set(), *pods, by=BY_HOST).launches) == 3


@pytest.mark.core("CORE-254")
def test_labels_that_differ_within_a_stateful_set_do_not_matter() -> None:
    name = "statefulset.kubernetes.io/pod-name"
    pods = [owned(f"db-{n}", "StatefulSet", "db", labels={**DB, name: f"db-{n}"}) for n in range(3)]
    sets = selecting("StatefulSet", "db", {"matchLabels": DB})
    assert len(planned(sets, *pods, by=BY_HOST).launches) == 3


@pytest.mark.core("CORE-264")
def test_what_is_in_another_namespace_does_not_count() -> None:
    elsewhere = [replica_set(namespace="other"), service(namespace="other")]
    assert len(planned(*elsewhere, *web(3), by=BY_HOST).launches) == 1
    pods = [*web(1), owned("other", namespace="other")]
    assert len(planned(*elsewhere, replica_set(), *pods, by=BY_HOST).launches) == 1


@pytest.mark.core("CORE-269")
def test_what_one_pod_gives_up_its_siblings_keep() -> None:
    wish = msgspec.structs.replace(ZONAL, when_unsatisfiable="ScheduleAnyway")
    full = make_node("n", labels={labels.ZONE: "zone-a"}, room={"cpu": "0", "pods": "9"})
    pinned = owned("pinned", requests={"cpu": "2"}, spec={"nodeSelector": {labels.ZONE: "zone-a"}})
    plan = planned(replica_set(), full, owned("r", node="n"), pinned, *web(2), by=wish)
    assert zones(plan) == {"zone-a": 1, "zone-b": 1, "zone-c": 1}


# Whose pods belong together


@pytest.mark.core("CORE-252", "CORE-257")
@pytest.mark.parametrize("kind", ["Job", "CronTab"])
def test_owners_of_other_kinds_say_nothing_and_services_do(kind: str) -> None:
    owner = selecting(kind, "web", {"matchLabels": DB})
    assert selector(owned("p", kind), owner, replica_set()) is None
    assert selector(owned("p", kind), owner, replica_set(), service()) == LabelSelector(WEB)
    assert len(planned(owner, service(), *web(3, kind=kind), by=BY_HOST).launches) == 3


def test_a_replica_set_of_another_group_is_none() -> None:
    pod = owned("p")
    pod["metadata"]["ownerReferences"][0]["apiVersion"] = "acme.com/v1"
    assert selector(pod, replica_set()) is None


@pytest.mark.core("CORE-255")
def test_expressions_of_a_replica_set_are_kept() -> None:
    tier = {"key": "tier", "operator": "NotIn", "values": ["test", "dev"]}
    found = selector(owned("p"), selecting("ReplicaSet", "web", {"matchLabels": WEB, "matchExpressions": [tier]}))
    assert found == LabelSelector(None, (*is_in(("app", "web")), SelectorRequirement("tier", "NotIn", ("test", "dev"))))


@pytest.mark.core("CORE-256")
def test_a_replication_controller_selects_by_labels() -> None:
    controller = selecting("ReplicationController", "web", WEB)
    assert selector(owned("p", "ReplicationController"), controller) == LabelSelector(WEB)
    assert len(planned(controller, *web(3, kind="ReplicationController"), by=BY_HOST).launches) == 3


@pytest.mark.core("CORE-258")
def test_an_owner_that_does_not_control_the_pod_says_nothing() -> None:
    assert selector(owned("p", controls=False), replica_set()) is None


@pytest.mark.core("CORE-259")
def test_an_owner_that_is_gone_says_nothing() -> None:
    assert selector(owned("p")) is None
    assert selector(owned("p"), service()) == LabelSelector(WEB)
    assert planned(*web(2)).placed == 2


@pytest.mark.core("CORE-260", "CORE-261")
def test_all_services_that_select_the_pod_count_and_no_others() -> None:
    pod = alone("p", labels={**WEB, "tier": "front"})
    services = [service("a"), service("b", {"tier": "front"}), service("c", {**WEB, "tier": "back"}), service("d", DB)]
    assert selector(pod, *services) == LabelSelector({**WEB, "tier": "front"})
    assert selector(pod, services[3]) is None


@pytest.mark.core("CORE-262", "CORE-263")
def test_services_without_a_selector_say_nothing() -> None:
    assert selector(alone("p"), service("none", None), service("empty", {})) is None
    assert selector(alone("p"), service("none", None), service("empty", {}), service()) == LabelSelector(WEB)


def test_a_workload_without_a_selector_says_nothing() -> None:
    assert selector(owned("p"), selecting("ReplicaSet", "web", None)) is None
    assert selector(owned("p"), selecting("ReplicaSet", "web", {})) is None
    assert selector(owned("p", "ReplicationController"), selecting("ReplicationController", "web", {})) is None


@pytest.mark.core("CORE-265")
def test_services_and_the_owner_count_together() -> None:
    own = {**WEB, "pod-template-hash": "a"}
    found = selector(owned("p", labels=own), replica_set(match=own), service())
    assert found == LabelSelector(WEB, is_in(("app", "web"), ("pod-template-hash", "a")))


@pytest.mark.core("CORE-266")
def test_a_replication_controller_has_the_last_word_on_a_label() -> None:
    controller = selecting("ReplicationController", "web", {"app": "new", "x": "y"})
    found = selector(owned("p", "ReplicationController"), controller, service())
    assert found == LabelSelector({"app": "new", "x": "y"})


@pytest.mark.core("CORE-267")
def test_a_replica_set_that_contradicts_a_service_selects_nothing() -> None:
    objects = [replica_set(match={"app": "new"}), service()]
    found = pod_selector(selector(owned("p"), *objects), ["default"], {})
    assert not found.selects("default", WEB)
    assert not found.selects("default", {"app": "new"})
    assert len(planned(*objects, *web(3), by=BY_HOST).launches) == 1  # where nobody counts, nobody is in the way


# Pods that are alike


def spread_of(*objects: Json, by: TopologySpreadConstraint = ZONAL) -> DefaultSpread:
    return DefaultSpread((by,), Snapshot.from_objects(objects).workloads)


@pytest.mark.core("CORE-268")
def test_pods_of_one_owner_with_other_labels_or_elsewhere_are_told_apart() -> None:
    given = spread_of(replica_set(), service("front", {"tier": "front"}), replica_set(match=DB, namespace="other"))
    pods = [
        owned("plain"),
        owned("front", labels={**WEB, "tier": "front"}),
        owned("other", namespace="other"),
        owned("alike"),
    ]
    plain, front, other, alike = (given(Pod.from_dict(pod)) for pod in pods)
    assert plain is alike
    assert plain[0].label_selector == LabelSelector(None, is_in(("app", "web")))
    assert front[0].label_selector == LabelSelector({"tier": "front"}, is_in(("app", "web")))
    assert other[0].label_selector == LabelSelector(None, is_in(("app", "db")))


@pytest.mark.core("CORE-270")
def test_all_that_is_configured_holds_for_each_pod() -> None:
    full = TopologySpreadConstraint(
        2, labels.ZONE, "DoNotSchedule", min_domains=3, node_affinity_policy="Ignore", node_taints_policy="Honor"
    )
    (made,) = spread_of(replica_set(), by=full)(Pod.from_dict(owned("p")))
    assert made.label_selector is not None
    assert msgspec.structs.replace(made, label_selector=None) == full


def test_pods_of_one_workload_are_one_class() -> None:
    snapshot = Snapshot.from_objects([replica_set(), replica_set("db", DB), *web(3), owned("db", by="db", labels=DB)])
    given = DefaultSpread((ZONAL,), snapshot.workloads)
    readable, _ = read_pods(snapshot.pending, CORE_LABELS, {}, snapshot.storage, default_spread=given)
    found = classify(readable, lambda _: ())
    assert sorted(len(each.pods) for each in found) == [1, 3]

"""What the API server lets into pools and claims, by karpy's schemas alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.kube.crds import core_crds
from karpy.labels import ALIASES, CORE_LABELS
from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.testing import selector

Json = dict[str, Any]

pytest.importorskip("cel")  # the embedded API server checks rules with it, and none without

CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


@pytest.fixture(scope="module")
def server() -> ApiServer:
    server = ApiServer(VirtualClock())
    for crd in core_crds():
        server.install_crd(crd)
    return server


def pool_of(template: Json | None = None, labels: Json | None = None, **spec: Any) -> Json:
    """``template`` goes into ``spec.template.spec``, the rest into ``spec``."""
    node = {"nodeClassRef": CLASS, "requirements": [], **(template or {})}
    metadata = {"metadata": {"labels": labels}} if labels else {}
    return {"metadata": {"generateName": "p-"}, "spec": {"template": {"spec": node, **metadata}, **spec}}


def claim_of(**spec: Any) -> Json:
    return {"metadata": {"generateName": "c-"}, "spec": {"nodeClassRef": CLASS, "requirements": [], **spec}}


def is_let_in(write: Callable[[], object]) -> bool:
    try:
        write()
    except KubeError as error:
        if error.code != 422:
            raise
        return False
    return True


def is_accepted(server: ApiServer, pool: Json) -> bool:
    return is_let_in(lambda: server.create(kinds.NODE_POOL, pool))


def is_claim_accepted(server: ApiServer, claim: Json) -> bool:
    return is_let_in(lambda: server.create(kinds.NODE_CLAIM, claim))


def table(accepted: list[Any], refused: list[Any]) -> list[tuple[Any, bool]]:
    return [(each, True) for each in accepted] + [(each, False) for each in refused]


DURATIONS = table(["30s", "1h30m", "720h", "Never"], ["-1s", "1d", "10", "1hNever", "Never1h", "soon", ""])


@pytest.mark.core("CORE-720", "CORE-721")
@pytest.mark.parametrize(("text", "accepted"), DURATIONS)
@pytest.mark.parametrize("policy", ["WhenEmpty", "WhenEmptyOrUnderutilized"])
def test_durations_of_a_pool(server: ApiServer, policy: str, text: str, accepted: bool) -> None:
    disruption = {"consolidationPolicy": policy, "consolidateAfter": text}
    assert is_accepted(server, pool_of(disruption=disruption)) is accepted
    assert is_accepted(server, pool_of({"expireAfter": text})) is accepted
    assert is_claim_accepted(server, claim_of(expireAfter=text)) is accepted


@pytest.mark.core("CORE-721")
def test_what_a_pool_leaves_out_of_its_disruption_is_filled_in(server: ApiServer) -> None:
    filled = {
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "10%"}],
    }
    assert server.create(kinds.NODE_POOL, pool_of())["spec"]["disruption"] == filled
    given = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"}
    assert server.create(kinds.NODE_POOL, pool_of(disruption=given))["spec"]["disruption"] == {**filled, **given}
    only_budgets = {"consolidateAfter": "5m", "budgets": [{"nodes": "1"}]}
    assert server.create(kinds.NODE_POOL, pool_of(disruption=only_budgets))["spec"]["disruption"] == {
        **filled,
        **only_budgets,
    }


@pytest.mark.core("CORE-722")
@pytest.mark.parametrize(
    ("policy", "accepted"),
    table(["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"], ["WhenUnderutilized", "Never", ""]),
)
def test_consolidation_policies(server: ApiServer, policy: str, accepted: bool) -> None:
    disruption = {"consolidateAfter": "0s", "consolidationPolicy": policy}
    assert is_accepted(server, pool_of(disruption=disruption)) is accepted


BUDGETS = table(
    [
        {"nodes": "10"},
        {"nodes": "100%"},
        {"nodes": "0"},
        {"nodes": "1", "schedule": "0 9 * * 1-5", "duration": "8h"},
        {"nodes": "1", "schedule": "* * * * *", "duration": "20m"},
        {"nodes": "1", "schedule": "* * * * *", "duration": "20h30m"},
        *(
            {"nodes": "1", "schedule": f"@{often}", "duration": "1h"}
            for often in ("annually", "yearly", "monthly", "weekly", "daily", "midnight", "hourly")
        ),
    ],
    [
        {"nodes": "1", "schedule": "*", "duration": "1h"},
        {"nodes": "1", "schedule": "* * * *", "duration": "1h"},
        {"nodes": "1", "schedule": "@sometimes", "duration": "1h"},
        {"nodes": "1", "schedule": "* * * * *", "duration": "-20m"},
        {"nodes": "1", "schedule": "* * * * *", "duration": "30s"},
        {"nodes": "-1"},
        {"nodes": "-1%"},
        {"nodes": "1000%"},
        {"nodes": "1", "schedule": "* * * * *"},
        {"nodes": "1", "duration": "1h"},
    ],
)


@pytest.mark.core("CORE-723", "CORE-724")
@pytest.mark.parametrize(("budget", "accepted"), BUDGETS)
def test_budgets(server: ApiServer, budget: Json, accepted: bool) -> None:
    several = [{"nodes": "10%"}, budget, {"nodes": "5"}]
    assert is_accepted(server, pool_of(disruption={"consolidateAfter": "0s", "budgets": several})) is accepted


@pytest.mark.core("CORE-725")
@pytest.mark.parametrize(
    ("reasons", "accepted"),
    table([["Drifted"], ["Underutilized", "Empty", "Drifted"]], [["CloudProvider"], ["Drifted", "drifted"]]),
)
def test_reasons_of_budgets(server: ApiServer, reasons: list[str], accepted: bool) -> None:
    budgets = [{"nodes": "1", "reasons": reasons}]
    assert is_accepted(server, pool_of(disruption={"consolidateAfter": "0s", "budgets": budgets})) is accepted


TAINTS = table(
    [
        [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "a/b", "effect": "NoExecute"}],
        [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "PreferNoSchedule"}],
    ],
    [
        [{"key": "???", "effect": "NoSchedule"}],
        [{"effect": "NoSchedule"}],
        [{"key": "", "effect": "NoSchedule"}],
        [{"key": "a", "value": "???", "effect": "NoSchedule"}],
        [{"key": "a", "effect": "???"}],
        [{"key": "a"}],
    ],
)


@pytest.mark.core("CORE-728", "CORE-734")
@pytest.mark.parametrize(("taints", "accepted"), TAINTS)
@pytest.mark.parametrize("field", ["taints", "startupTaints"])
def test_taints(server: ApiServer, field: str, taints: list[Json], accepted: bool) -> None:
    assert is_accepted(server, pool_of({field: taints})) is accepted
    assert is_claim_accepted(server, claim_of(**{field: taints})) is accepted


REQUIREMENTS = table(
    [
        *(selector("team", operator, "a") for operator in ("In", "NotIn")),
        *(selector("team", operator) for operator in ("Exists", "DoesNotExist")),
        *(selector("level", operator, "1") for operator in ("Gt", "Lt", "Gte", "Lte")),
        selector("level", "Gt", "0"),
        selector("kubernetes.io/custom", "In", "a"),
        selector("node.kubernetes.io/custom", "Exists"),
        selector("kops.k8s.io/instancegroup", "In", "a"),
        *(selector(key, "Exists") for key in sorted(CORE_LABELS.well_known - {"karpenter.sh/nodepool"})),
        *(selector(key, "Exists") for key in ALIASES),
        selector("team", "In", "a", "b", min_values=2),
        selector("team", "Exists", min_values=50),
    ],
    [
        selector("???", "Exists"),
        selector("a/b/c", "Exists"),
        selector("team", "Unknown", "a"),
        selector("team", "In", "???"),
        selector("team", "In"),
        selector("team", "In", "a" * 64),
        *(selector("level", operator) for operator in ("Gt", "Lt", "Gte", "Lte")),
        *(selector("level", operator, "-1") for operator in ("Gt", "Lt", "Gte", "Lte")),
        *(selector("level", operator, "1", "2") for operator in ("Gt", "Lt", "Gte", "Lte")),
        *(selector("level", operator, "a") for operator in ("Gt", "Lt", "Gte", "Lte")),
        selector("karpenter.sh/custom", "Exists"),
        selector("sub.karpenter.sh/custom", "Exists"),
        selector("kubernetes.io/hostname", "In", "a"),
        selector("team", "In", "a", min_values=2),
        selector("team", "Exists", min_values=0),
        selector("team", "Exists", min_values=51),
    ],
)


@pytest.mark.core("CORE-729", "CORE-734")
@pytest.mark.parametrize(("entry", "accepted"), REQUIREMENTS)
def test_requirements(server: ApiServer, entry: Json, accepted: bool) -> None:
    assert is_accepted(server, pool_of({"requirements": [entry]})) is accepted
    assert is_claim_accepted(server, claim_of(requirements=[entry])) is accepted


@pytest.mark.core("CORE-729", "CORE-734")
def test_a_claim_may_say_which_pool_it_is_of_and_a_pool_may_not(server: ApiServer) -> None:
    for label in ("karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "karpenter.sh/provisioner"):
        named = [selector(label, "In", "p")]
        assert not is_accepted(server, pool_of({"requirements": named}))
        assert is_claim_accepted(server, claim_of(requirements=named))


@pytest.mark.core("CORE-734")
def test_a_hundred_requirements_are_enough(server: ApiServer) -> None:
    many = [selector(f"team-{n}", "Exists") for n in range(101)]
    assert is_claim_accepted(server, claim_of(requirements=many[:100]))
    assert not is_claim_accepted(server, claim_of(requirements=many))


@pytest.mark.core("CORE-730")
@pytest.mark.parametrize(
    ("label", "accepted"),
    table(
        [
            ("unknown", "a"),
            ("unknown", ""),
            ("kubernetes.io/custom", "a"),
            ("node.kubernetes.io/custom", "a"),
            ("kops.k8s.io/instancegroup", "a"),
            ("topology.kubernetes.io/zone", "a"),
            ("karpenter.sh/capacity-type", "spot"),
        ],
        [
            ("karpenter.sh/nodepool", "a"),
            ("karpenter.sh/custom", "a"),
            ("sub.karpenter.sh/custom", "a"),
            ("kubernetes.io/hostname", "a"),
            ("team", "/ is not allowed"),
            ("team", "a" * 64),
        ],
    ),
)
def test_labels(server: ApiServer, label: tuple[str, str], accepted: bool) -> None:
    assert is_accepted(server, pool_of(labels=dict([label]))) is accepted


@pytest.mark.core("CORE-731", "CORE-734")
@pytest.mark.parametrize(("text", "accepted"), table(["30s", "1h30m"], ["-1s", "1d", "Never", "10", ""]))
def test_grace_periods(server: ApiServer, text: str, accepted: bool) -> None:
    assert is_accepted(server, pool_of({"terminationGracePeriod": text})) is accepted
    assert is_claim_accepted(server, claim_of(terminationGracePeriod=text)) is accepted


@pytest.mark.core("CORE-732", "CORE-734")
@pytest.mark.parametrize("field", ["group", "kind", "name"])
def test_node_classes_are_named_in_full(server: ApiServer, field: str) -> None:
    without = {key: value for key, value in CLASS.items() if key != field}
    for ref in (without, {**CLASS, field: ""}):
        assert not is_accepted(server, pool_of({"nodeClassRef": ref}))
        assert not is_claim_accepted(server, claim_of(nodeClassRef=ref))


@pytest.mark.core("CORE-734")
def test_the_group_of_a_node_class_has_no_version(server: ApiServer) -> None:
    assert not is_claim_accepted(server, claim_of(nodeClassRef={**CLASS, "group": "karpenter.k8s.aws/v1"}))


def change(server: ApiServer, pool: Json, spec: Json) -> bool:
    """Whether a stored pool may be changed so."""
    name = server.create(kinds.NODE_POOL, copy.deepcopy(pool))["metadata"]["name"]
    return is_let_in(lambda: server.patch(kinds.NODE_POOL, name, {"spec": spec}))


@pytest.mark.core("CORE-732")
@pytest.mark.parametrize(("field", "mutable"), [("group", False), ("kind", False), ("name", True)])
def test_a_pool_stays_with_its_kind_of_node_class(server: ApiServer, field: str, mutable: bool) -> None:
    assert change(server, pool_of(), {"template": {"spec": {"nodeClassRef": {field: "other"}}}}) is mutable


@pytest.mark.core("CORE-733")
@pytest.mark.parametrize(
    ("spec", "accepted"),
    table(
        [
            {"replicas": 5},
            {"replicas": 0},
            {"replicas": 100_000},
            {"replicas": 1, "limits": {"nodes": "5"}},
        ],
        [
            {"replicas": -1},
            {"replicas": 1, "weight": 5},
            {"replicas": 1, "limits": {"cpu": "5"}},
            {"replicas": 1, "limits": {"nodes": "5", "cpu": "5"}},
        ],
    ),
)
def test_pools_of_a_fixed_size(server: ApiServer, spec: Json, accepted: bool) -> None:
    assert is_accepted(server, pool_of(**spec)) is accepted


@pytest.mark.core("CORE-733")
def test_a_fixed_size_may_change_but_not_come_or_go(server: ApiServer) -> None:
    fixed = pool_of(replicas=1, limits={"nodes": "5"})
    assert change(server, fixed, {"replicas": 3})
    assert change(server, fixed, {"limits": {"nodes": "7"}})
    assert not change(server, fixed, {"replicas": None})
    assert not change(server, pool_of(), {"replicas": 1})


def test_the_spec_of_a_claim_never_changes(server: ApiServer) -> None:
    stored = server.create(kinds.NODE_CLAIM, claim_of())
    name = stored["metadata"]["name"]
    with pytest.raises(KubeError, match="spec cannot be changed"):
        server.patch(kinds.NODE_CLAIM, name, {"spec": {"expireAfter": "1h"}})
    server.patch(kinds.NODE_CLAIM, name, {"metadata": {"labels": {"a": "b"}}})

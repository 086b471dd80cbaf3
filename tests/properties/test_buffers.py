"""Whatever somebody writes into a CapacityBuffer or what it refers to, the cluster can be looked at and planned for."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karpy.scheduling.scheduler import solve
from karpy.state.buffers import MOST_REPLICAS, Resolved, Unresolved
from karpy.state.snapshot import Snapshot
from karpy.testing import make_buffer, make_catalog, make_nodepool, make_pod, make_pod_template, make_workload

Json = dict[str, Any]

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 40),
        st.floats(allow_nan=False),
        st.sampled_from(("", "x", "1", "-2", "1Gi")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(("name", "cpu", "key", "a")), inner, max_size=3)
    ),
    max_leaves=5,
)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        "provisioningStrategy": JSON,
        "podTemplateRef": st.one_of(JSON, st.just({"name": "template"})),
        "scalableRef": st.one_of(JSON, st.just({"kind": "Deployment", "name": "web"})),
        "replicas": st.one_of(st.integers(-1, 30), JSON),
        "percentage": st.one_of(st.integers(-1, 300), JSON),
        "limits": st.one_of(st.just({"cpu": "7"}), JSON),
    },
)
POD_SPEC = st.dictionaries(
    st.sampled_from(
        ("containers", "initContainers", "affinity", "tolerations", "volumes", "nodeSelector", "priority", "overhead")
    ),
    JSON,
    max_size=3,
)


@given(SPEC, POD_SPEC, st.booleans())
def test_a_buffer_is_resolved_or_says_why_not_and_nobody_suffers(spec: Json, pod: Json, is_workload: bool) -> None:
    target = make_workload(replicas=10, spec=pod) if is_workload else make_pod_template(spec=pod)
    waiting = make_pod("p", requests={"cpu": "1"})
    snapshot = Snapshot.from_objects([make_nodepool(), waiting, target, make_buffer("b", **spec)])
    for view in snapshot.buffers:
        outcome = view.outcome
        if isinstance(outcome, Unresolved):
            assert outcome.message
            assert view.pods == ()
        else:
            assert isinstance(outcome, Resolved)
            assert 0 <= outcome.replicas == len(view.pods) <= MOST_REPLICAS
    plan = solve(snapshot, make_catalog(snapshot))
    assert plan.outcome("default/p") is not None
    assert sum(buffer.wanted for buffer in plan.buffers) == len(snapshot.headroom)

"""What is counted about a crowd is what one would find by going through it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karpy.sim.crowds import Crowd, Groups
from karpy.sim.podfacts import is_active, is_ready

changes = st.lists(
    st.tuples(
        st.sampled_from("abc"),  # the pod
        st.sampled_from(["", "one", "two"]),  # its owner; none: it is gone
        st.sampled_from(["Pending", "Running", "Failed"]),
        st.booleans(),  # ready
        st.booleans(),  # being deleted
        st.sampled_from(["web", "db"]),
        st.sampled_from(["", "n1", "n2"]),  # its node
    ),
    max_size=30,
)


@given(changes)
def test_counts_follow_every_change(drawn: list[tuple[str, str, str, bool, bool, str, str]]) -> None:
    crowds, pods = Groups(Crowd), {}
    for name, owner, phase, ready, deleting, app, node in drawn:
        key = ("default", name)
        if not owner:
            crowds.remove(key)
            pods.pop(key, None)
            continue
        pod: dict[str, Any] = {
            "metadata": {"name": name, "labels": {"app": app}, **({"deletionTimestamp": "x"} if deleting else {})},
            "spec": {"nodeName": node} if node else {},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]},
        }
        crowds.put(key, owner, pod)
        pods[key] = (owner, pod)
        for word in ("one", "two"):
            crowd = crowds.of(word)
            members = [each for whose, each in pods.values() if whose == word]
            active = [each for each in members if is_active(each)]
            assert sorted(crowd.members) == sorted(k for k, (whose, _) in pods.items() if whose == word)
            assert (crowd.active, crowd.ready) == (len(active), sum(map(is_ready, active)))
            assert crowd.by_node == Counter(each["spec"].get("nodeName", "") for each in active)
            for wanted in ("web", "db"):
                found = crowd.any_labels(lambda labels, wanted=wanted: labels["app"] == wanted)  # type: ignore[misc]
                assert found == any(each["metadata"]["labels"]["app"] == wanted for each in members)

"""Lists of the pods of a node are the same with the index as by going through all pods."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karpy.objects.kinds import NAMESPACE, POD
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.testing.builders import make_pod

steps = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["default", "other"]), st.sampled_from(["", "n1", "n2"])),
    max_size=20,
)


@given(steps)
def test_it_follows_every_write(drawn: list[tuple[str, str, str]]) -> None:
    api = ApiServer(VirtualClock())
    api.create(NAMESPACE, {"metadata": {"name": "other"}})
    for name, namespace, node in drawn:
        if api.exists(POD, name, namespace):
            api.delete(POD, name, namespace, grace_period_s=0)
            continue
        obj = make_pod(name, node=node, namespace=namespace, owner="")
        obj["metadata"] = {"name": name, "namespace": namespace}
        api.create(POD, obj)
        if not node:
            api.bind(name, namespace, "n3")
    everything = api.list(POD).items
    for space in ("", "default", "other"):
        for node in ("n1", "n2", "n3"):
            found = api.list(POD, space, field_selector=f"spec.nodeName={node}").items
            again = api.list(POD, space, field_selector=f"spec.nodeName={node},metadata.name!=none").items
            expected = [
                each
                for each in everything
                if each["spec"]["nodeName"] == node and space in ("", each["metadata"]["namespace"])
            ]
            assert list(found) == list(again) == expected

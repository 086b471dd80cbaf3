"""Whatever happens to a store, a watch tells it completely: replayed events give what a list gives."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.watchevent import EventType
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock

NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(st.just("create"), NAMES, st.booleans()),
    st.tuples(st.just("label"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("cordon"), NAMES, st.booleans()),
    st.tuples(st.just("release"), NAMES, st.none()),
    st.tuples(st.just("delete"), NAMES, st.none()),
)


def _apply(server: ApiServer, step: str, name: str, value: object) -> None:
    match step:
        case "create":
            server.create(kinds.NODE, {"metadata": {"name": name, "finalizers": ["a.b/c"] if value else []}})
        case "label":
            server.patch(kinds.NODE, name, {"metadata": {"labels": {"n": str(value)}}})
        case "cordon":
            server.patch(kinds.NODE, name, {"spec": {"unschedulable": value}})
        case "release":
            server.patch(kinds.NODE, name, {"metadata": {"finalizers": None}})
        case "delete":
            server.delete(kinds.NODE, name)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_replayed_events_give_what_a_list_gives(steps: list[tuple[str, str, object]]) -> None:
    server = ApiServer(VirtualClock())
    watch = server.watch(kinds.NODE, "")
    replica: dict[str, object] = {}
    last = 0
    for step in steps:
        # a name that is taken, or that is not there
        with contextlib.suppress(KubeError):
            _apply(server, *step)
        for event in watch.poll():
            meta = event.object["metadata"]
            assert int(meta["resourceVersion"]) > last
            last = int(meta["resourceVersion"])
            assert (meta["name"] in replica) is (event.type is not EventType.ADDED)
            if event.type is EventType.DELETED:
                assert not meta.get("finalizers")
                del replica[meta["name"]]
            else:
                replica[meta["name"]] = event.object
        listed = {item["metadata"]["name"]: item for item in server.list(kinds.NODE).items}
        assert listed == replica

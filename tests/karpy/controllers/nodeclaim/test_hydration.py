"""Claims and nodes from before say of which node class they are."""

from __future__ import annotations

import pytest

from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps

LABEL = "sim.karpy.dev/simnodeclass"


def unlabel(stage: Stage, kind: kinds.Kind, name: str) -> None:
    stage.api.patch(kind, name, {"metadata": {"labels": {LABEL: None}}})


@pytest.mark.core("CORE-686")
def test_a_claim_and_its_node_without_the_label_get_it() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (node,) = stage.names(kinds.NODE)
    for kind, each in ((kinds.NODE_CLAIM, name), (kinds.NODE, node)):
        unlabel(stage, kind, each)
    stage.run(1)
    for kind, each in ((kinds.NODE_CLAIM, name), (kinds.NODE, node)):
        assert stage.api.get(kind, each)["metadata"]["labels"][LABEL] == "default"


@pytest.mark.core("CORE-686")
def test_what_was_there_before_karpy_started_gets_it_too() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (node,) = stage.names(kinds.NODE)
    stage.kube.through("patch", lambda real, *rest, **more: None)  # whoever runs now writes nothing any more
    unlabel(stage, kinds.NODE_CLAIM, name)
    unlabel(stage, kinds.NODE, node)
    stage.run(1)
    assert LABEL not in stage.api.get(kinds.NODE, node)["metadata"]["labels"]
    del stage.kube.patch
    stage.start()
    stage.run(1)
    assert stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["labels"][LABEL] == "default"
    assert stage.api.get(kinds.NODE, node)["metadata"]["labels"][LABEL] == "default"


@pytest.mark.core("CORE-686")
def test_what_others_manage_stays_as_it_is() -> None:
    stage = Stage()
    bare = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "bare", "labels": {"karpenter.sh/registered": "true"}},
    }
    stage.world.apply([bare])
    before = stage.api.get(kinds.NODE, "bare")
    stage.run(10)
    assert stage.api.get(kinds.NODE, "bare")["metadata"]["labels"] == before["metadata"]["labels"]

"""Claims that karpy creates are counted and logged, whatever they are for."""

from __future__ import annotations

from karpy.metrics import NODECLAIMS_CREATED
from tests.karpy.controllers.stage import Stage, apps


def test_a_claim_for_pods_is_counted_as_provisioned() -> None:
    stage = Stage()
    stage.grown(apps("a", 1))
    labels = {"reason": "provisioned", "nodepool": "default", "min_values_relaxed": "false"}
    assert stage.metrics.told(NODECLAIMS_CREATED) == [(1.0, labels)]


def test_a_replacement_is_counted_by_the_reason_of_what_it_replaces() -> None:
    stage = Stage()
    stage.grown(apps("a", 1), apps("b", 1, "6"))
    stage.scale("b", 0)
    stage.run(300)
    reasons = [labels["reason"] for _, labels in stage.metrics.told(NODECLAIMS_CREATED)]
    assert reasons == ["provisioned", "underutilized"]


def test_a_line_in_the_log_names_pool_and_claim_and_what_it_may_become() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (line,) = stage.log.said("created nodeclaim")
    assert (line["NodePool"], line["NodeClaim"]) == ("default", name)
    assert line["requests"]["cpu"] == "1"
    assert "other(s)" in line["instance_types"]

from __future__ import annotations

import json
import math

from karpy.report.outlook import priced
from karpy.report.plan_json import outlook_json, to_line
from karpy.testing.builders import make_nodepool
from tests.karpy.report.outlooks import busy, idle, outlook


def test_the_plan_stands_at_the_top_and_the_disruption_below() -> None:
    found = outlook_json(outlook(*busy(), name="monday", notes=("assumed",)))
    assert found["name"] == "monday"
    assert [claim["pods"] for claim in found["newNodeClaims"]] == [
        ["default/large-1"],
        ["default/large-2"],
        ["other/small"],
    ]
    assert found["existingNodes"] == {"old": ["default/fits"]}
    assert list(found["errors"]) == ["default/huge-1", "default/huge-2"]
    assert found["notes"] == ["assumed"]
    assert found["disruption"]["action"] == ""


def test_a_claim_says_what_is_bought_and_why() -> None:
    claim = outlook_json(outlook(*busy()))["newNodeClaims"][0]
    assert claim["instanceTypes"][0] == "a16"
    assert claim["requests"] == {"cpu": "9", "memory": "20Gi", "pods": "1"}
    assert claim["cheapestPrice"] == 0.256
    assert (claim["zone"], claim["capacityType"]) == ("zone-a", "spot")
    assert "fit 2 of 10 instance types" in claim["explanation"]


def test_disruption_alone_stands_at_the_top() -> None:
    found = outlook_json(outlook(*idle(), provisioning=False))
    assert found["action"] == "emptiness"
    assert found["command"]["candidates"] == ["free"]
    assert found["command"]["savings"] == 0.2
    assert found["nodes"]["free"]["verdict"]["kind"] == "Chosen"
    assert found["nodes"]["held"]["gracefulError"].startswith("Pod has ")


def test_a_line_is_json_whatever_is_in_it() -> None:
    line = to_line(outlook_json(outlook(make_nodepool(), name='"quoted"\nÜ')))
    assert "\n" not in line
    assert json.loads(line)["name"] == '"quoted"\nÜ'


def test_a_price_that_is_none_is_null() -> None:
    assert priced(math.inf) is None
    assert priced(math.nan) is None
    assert priced(0.5) == 0.5

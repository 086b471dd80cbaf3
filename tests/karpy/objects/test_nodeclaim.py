from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.objects.meta import Condition, set_condition
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodeClassRef
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.taints import Taint
from karpy.testing import START, make_claim


def test_a_claim_reads_what_it_writes() -> None:
    claim = NodeClaim(
        name="c",
        metadata=NodeClaim.from_dict(make_claim("c")).metadata,
        node_class=NodeClassRef("g", "K", "n"),
        taints=(Taint("a", "b", "NoSchedule"),),
        startup_taints=(Taint("boot", effect="NoExecute"),),
        requirements=Requirements([Requirement.in_("zone", "a", "b", min_values=2), Requirement.at_least("cpu", 4)]),
        requests=Resources({"cpu": 1500, "memory": 2**30}),
        expire_after_s=None,
        termination_grace_period_s=90.0,
    )
    assert NodeClaim.from_dict(claim.to_dict()) == claim


def test_status_says_what_the_cloud_gave() -> None:
    claim = NodeClaim.from_dict(make_claim("c", room={"cpu": "4", "pods": "10"}))
    assert claim.provider_id == "test:///c"
    assert claim.capacity == claim.allocatable == Resources({"cpu": 4000, "pods": 10})
    assert claim.pool == "default"


def test_how_far_it_is_stands_in_its_conditions() -> None:
    claim = NodeClaim.from_dict(make_claim(reached=("Launched", "Registered")))
    assert (claim.is_launched, claim.is_registered, claim.is_initialized) == (True, True, False)


def test_a_claim_made_by_hand_has_no_pool() -> None:
    raw = make_claim()
    del raw["metadata"]["labels"]
    assert NodeClaim.from_dict(raw).pool == ""


@pytest.mark.parametrize(
    ("path", "spec"),
    [
        ("spec.requirements[0].values", {"requirements": [{"key": "cpu", "operator": "Gt", "values": ["many"]}]}),
        ("spec.resources.requests.cpu", {"resources": {"requests": {"cpu": "x"}}}),
        ("spec.expireAfter", {"expireAfter": "x"}),
        ("spec.terminationGracePeriod", {"terminationGracePeriod": "Never"}),
    ],
)
def test_a_refusal_names_object_and_field(path: str, spec: dict[str, object]) -> None:
    with pytest.raises(InvalidObject) as caught:
        NodeClaim.from_dict(make_claim("c", spec=spec))
    assert (caught.value.object_name, caught.value.path) == ("NodeClaim/c", path)


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = set_condition((), Condition("Ready", "False", "Starting"), now=START)
    second = set_condition(first, Condition("Ready", "False", "StillStarting"), now=START + 60)
    third = set_condition(second, Condition("Ready", "True"), now=START + 120)
    assert [(found[0].since, found[0].reason) for found in (first, second, third)] == [
        (START, "Starting"),
        (START, "StillStarting"),
        (START + 120, None),
    ]

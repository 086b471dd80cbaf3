from __future__ import annotations

import json
from typing import Any

import pytest

from karpy import labels
from karpy.errors import InvalidObject
from karpy.objects.podspec import TopologySpreadConstraint
from karpy.objects.schedulerconfig import read_scheduler_config

Json = dict[str, Any]
ZONAL = {"maxSkew": 1, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
SYSTEM = (
    TopologySpreadConstraint(3, labels.HOSTNAME, "ScheduleAnyway"),
    TopologySpreadConstraint(5, labels.ZONE, "ScheduleAnyway"),
)


def config(*constraints: Any) -> str:
    return json.dumps({"podTopologySpread": {"defaultConstraints": constraints}})


def kube_scheduler(*args: Json | None) -> str:
    """A configuration with one profile for each of these arguments; None for one that says nothing of the plug-in."""
    profiles = [
        {
            "schedulerName": f"s{number}",
            "pluginConfig": [{"name": "NodeResourcesFit"}, *([] if each is None else [{"name": PLUGIN, "args": each}])],
        }
        for number, each in enumerate(args)
    ]
    return json.dumps({"kind": "KubeSchedulerConfiguration", "leaderElection": {}, "profiles": profiles})


PLUGIN = "PodTopologySpread"


def problems(text: str) -> list[str]:
    """The complaints about a configuration that cannot be used."""
    with pytest.raises(InvalidObject) as caught:
        read_scheduler_config(text, "file.yaml")
    head, _, rest = str(caught.value).partition(": ")
    assert head == "file.yaml"
    return rest.split("; ")


# What can be said


def test_constraints_are_read_with_all_their_fields() -> None:
    text = """
    podTopologySpread:
      defaultConstraints:
      - maxSkew: 2
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        minDomains: 3
        nodeAffinityPolicy: Ignore
        nodeTaintsPolicy: Honor
        matchLabelKeys: null
        labelSelector: null
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
    """
    assert read_scheduler_config(text) == (
        TopologySpreadConstraint(
            2, labels.ZONE, "DoNotSchedule", min_domains=3, node_affinity_policy="Ignore", node_taints_policy="Honor"
        ),
        TopologySpreadConstraint(1, labels.HOSTNAME, "ScheduleAnyway"),
    )


@pytest.mark.parametrize("text", ["", "# nothing", "{}", "podTopologySpread:", config()])
def test_a_configuration_may_say_nothing(text: str) -> None:
    assert read_scheduler_config(text) == ()


def test_one_key_may_have_a_constraint_of_each_kind() -> None:
    assert (
        len(read_scheduler_config(config(ZONAL, {**ZONAL, "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"}))) == 2
    )


# What cannot


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"maxSkew": 0}, "maxSkew: found 0 (accepted: a whole number above 0)"),
        ({"maxSkew": True}, "maxSkew: found True (accepted: a whole number above 0)"),
        ({"maxSkew": 2**31}, "maxSkew: found 2147483648 (accepted: a whole number above 0)"),
        ({"maxSkew": None}, "maxSkew: found nothing (accepted: a whole number above 0)"),
        ({"topologyKey": ""}, "topologyKey: found '' (accepted: a label key)"),
        ({"topologyKey": "a b"}, "topologyKey: found 'a b' (accepted: a label key)"),
        ({"topologyKey": "Acme.com/zone"}, "topologyKey: found 'Acme.com/zone' (accepted: a label key)"),
        ({"topologyKey": "a/b/c"}, "topologyKey: found 'a/b/c' (accepted: a label key)"),
        ({"topologyKey": 7}, "topologyKey: found 7 (accepted: a label key)"),
        (
            {"whenUnsatisfiable": "Never"},
            "whenUnsatisfiable: found 'Never' (accepted: DoNotSchedule or ScheduleAnyway)",
        ),
        ({"whenUnsatisfiable": []}, "whenUnsatisfiable: found a list (accepted: DoNotSchedule or ScheduleAnyway)"),
        ({"minDomains": 0}, "minDomains: found 0 (accepted: a whole number above 0)"),
        (
            {"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"},
            "minDomains: found 2 (accepted: nothing with ScheduleAnyway)",
        ),
        ({"nodeTaintsPolicy": "Maybe"}, "nodeTaintsPolicy: found 'Maybe' (accepted: Honor or Ignore)"),
        (
            {"labelSelector": {}},
            (
                "labelSelector: found an object "
                "(accepted: nothing: each pod's selector is deduced from its services and its controller)"
            ),
        ),
        (
            {"matchLabelKeys": ["x"]},
            "matchLabelKeys: found a list (accepted: nothing: a default constraint has no selector to add to)",
        ),
    ],
)
def test_a_field_with_a_wrong_value_is_told_with_what_is_accepted(fields: Json, problem: str) -> None:
    assert problems(config({**ZONAL, **fields})) == [f"podTopologySpread.defaultConstraints[0].{problem}"]


def test_every_problem_is_told() -> None:
    found = problems(config({**ZONAL, "maxSkew": -1, "topologyKey": "/"}, 3, {}, {**ZONAL, "skew": 1}))
    assert [text.partition(": ")[0].removeprefix("podTopologySpread.defaultConstraints") for text in found] == [
        *("[0].maxSkew", "[0].topologyKey", "[1]", "[2].maxSkew", "[2].topologyKey", "[2].whenUnsatisfiable"),
        "[3].skew",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topologySpread: {}", "topologySpread: is not a known field (accepted: podTopologySpread)"),
        ("podTopologySpread: {constraints: []}", "podTopologySpread.constraints: is not a known field"),
        ("[]", "found a list (accepted: an object)"),
        ("podTopologySpread: 3", "podTopologySpread: found 3 (accepted: an object)"),
        ("podTopologySpread: {defaultConstraints: {}}", "defaultConstraints: found an object (accepted: a list)"),
        ("{{", "cannot be parsed"),
        ("a: 1\n---\nb: 1", "found 2 documents (accepted: one YAML or JSON document)"),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, problem: str) -> None:
    (found,) = problems(text)
    assert problem in found


def test_a_key_may_be_spread_by_once() -> None:
    assert problems(config(ZONAL, {**ZONAL, "maxSkew": 2})) == [
        (
            "podTopologySpread.defaultConstraints[1]: the same topologyKey and whenUnsatisfiable as "
            "podTopologySpread.defaultConstraints[0] (accepted: each pair once)"
        )
    ]


# The configuration of kube-scheduler itself


def test_the_file_of_kube_scheduler_can_be_read_as_it_is() -> None:
    args = {"kind": "PodTopologySpreadArgs", "defaultConstraints": [ZONAL], "defaultingType": "List"}
    expected = (TopologySpreadConstraint(1, labels.ZONE, "DoNotSchedule"),)
    assert read_scheduler_config(kube_scheduler(args)) == expected
    assert read_scheduler_config(kube_scheduler(args, args)) == expected


@pytest.mark.parametrize("args", [[], [None], [{}], [{"defaultingType": "System"}]])
def test_where_it_does_not_list_constraints_kube_schedulers_own_hold(args: list[Json | None]) -> None:
    assert read_scheduler_config(kube_scheduler(*args)) == SYSTEM


def test_a_list_may_be_empty() -> None:
    assert read_scheduler_config(kube_scheduler({"defaultingType": "List"})) == ()


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ([{"defaultConstraints": [ZONAL]}], "defaultingType: found 'System' (accepted: List where there are"),
        ([{"defaultingType": "Both"}], "defaultingType: found 'Both' (accepted: List or System)"),
        ([{"defaultingType": "List", "skew": 1}], "args.skew: is not a known field"),
        ([{"defaultingType": "List"}, None], "profiles: profiles differ in their default constraints"),
        ([{"defaultingType": "List", "defaultConstraints": [3]}], "args.defaultConstraints[0]: found 3"),
    ],
)
def test_arguments_of_the_plugin_are_checked(args: list[Json | None], problem: str) -> None:
    (found,) = problems(kube_scheduler(*args))
    assert problem in found

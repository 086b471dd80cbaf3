"""Whatever a configuration says, it is read or refused by name."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy.objects.schedulerconfig import read_scheduler_config

WORDS = (
    "zone",
    "kubernetes.io/hostname",
    "DoNotSchedule",
    "ScheduleAnyway",
    "Honor",
    "List",
    "System",
    "PodTopologySpread",
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(WORDS)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


def having(*fields: str) -> st.SearchStrategy[Any]:
    """An object with any of these fields, each with any value; or no object at all."""
    return st.one_of(JSON, st.fixed_dictionaries({}, optional=dict.fromkeys(fields, JSON)))


CONSTRAINTS = st.lists(
    having(
        *("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"),
        *("labelSelector", "matchLabelKeys"),
    ),
    max_size=3,
)
OWN = st.fixed_dictionaries({"podTopologySpread": st.fixed_dictionaries({"defaultConstraints": CONSTRAINTS})})
ARGS = st.fixed_dictionaries({"defaultConstraints": CONSTRAINTS}, optional={"defaultingType": JSON})
PLUGINS = st.lists(st.one_of(JSON, st.fixed_dictionaries({"name": st.sampled_from(WORDS), "args": ARGS})), max_size=2)
PROFILES = st.lists(st.one_of(JSON, st.fixed_dictionaries({"pluginConfig": PLUGINS})), max_size=2)
FILE = st.fixed_dictionaries({"kind": st.just("KubeSchedulerConfiguration"), "profiles": PROFILES})


@given(st.one_of(JSON, OWN, FILE, having("podTopologySpread", "profiles", "kind")))
def test_json_is_read_or_refused(document: Any) -> None:
    is_read(json.dumps(document))


@given(st.text(alphabet="{}[]:,-# \n'\"ab0*&!|>%", max_size=30))
def test_text_is_read_or_refused(text: str) -> None:
    is_read(text)


def is_read(text: str) -> None:
    try:
        found = read_scheduler_config(text, "file")
    except InvalidObject as error:
        assert str(error).startswith("file")  # noqa: PT017  (what it says is all that is asked)
    else:
        assert all(each.max_skew > 0 and each.label_selector is None for each in found)

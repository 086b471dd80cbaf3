from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.sim.api.selectors import field_selector, label_selector, matches_label_selector, selector_text

LABELS = [{"n": str(i % 3), **({"odd": "y"} if i % 2 else {})} for i in range(7)]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("n=1", [1, 4]),
        ("n==1", [1, 4]),
        ("n!=1", [0, 2, 3, 5, 6]),
        ("n in (0,2)", [0, 2, 3, 5, 6]),
        ("n notin (0)", [1, 2, 4, 5]),
        ("odd", [1, 3, 5]),
        ("!odd", [0, 2, 4, 6]),
        ("n=1,odd", [1]),
        ("n>0", [1, 2, 4, 5]),
        ("n<1", [0, 3, 6]),
        ("odd=", []),
    ],
)
def test_label_selectors(text: str, chosen: list[int]) -> None:
    test = label_selector(text)
    assert test is not None
    assert [i for i, labels in enumerate(LABELS) if test(labels)] == chosen


def test_an_empty_selector_selects_everything() -> None:
    assert label_selector("") is None
    assert field_selector("", ("", "pods")) is None


@pytest.mark.parametrize("text", ["n in (", "n>x", "n=1,", "=1", "n foo (1)", "!"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(KubeError) as refused:
        label_selector(text)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("spec.nodeName=n1", True),
        ("spec.nodeName!=n1", False),
        ("status.phase=Pending,metadata.name=p", True),
        ("metadata.name=q", False),
        ("status.podIP=", True),
    ],
)
def test_field_selectors(text: str, holds: bool) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Pending"}}
    test = field_selector(text, ("", "pods"))
    assert test is not None
    assert test(pod) is holds


def test_unsupported_fields_are_named() -> None:
    with pytest.raises(KubeError, match=r"field label not supported: spec\.bogus"):
        field_selector("spec.bogus=1", ("", "pods"))


def test_selector_objects() -> None:
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "t", "operator": "In", "values": ["y", "x"]}]}
    assert matches_label_selector(selector, {"a": "b", "t": "x"})
    assert not matches_label_selector(selector, {"a": "b"})
    assert matches_label_selector({}, {})
    assert not matches_label_selector(None, {})
    assert selector_text(selector) == "a=b,t in (x,y)"

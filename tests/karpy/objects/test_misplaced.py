from __future__ import annotations

from karpy.kube.crds import provisioner_crd
from karpy.objects.misplaced import misplaced

SCHEMA = provisioner_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def _told(obj: dict) -> list[tuple[str, str, str]]:
    return [(each.path, each.problem, each.belongs) for each in misplaced(obj, SCHEMA)]


def test_a_correct_object_has_nothing_misplaced() -> None:
    obj = {
        "apiVersion": "v",
        "kind": "Provisioner",
        "metadata": {"name": "d"},
        "spec": {"limits": {"resources": {"cpu": 1}}},
    }
    assert _told(obj) == []


def test_the_manifest_that_a_guide_printed_is_understood() -> None:
    obj = {
        "spec": {"requirements": []},
        "limits": {"resoutces": {"cpu": 1000}},
        "provider": {"instanceProfile": "x"},
        "ttlSecondsAfterEmpty": 30,
    }
    assert _told(obj) == [
        ("limits", "is misplaced", "spec.limits"),
        ("limits.resoutces", "is misspelt", "spec.limits.resources"),
        ("provider", "is misplaced", "spec.provider"),
        ("ttlSecondsAfterEmpty", "is misplaced", "spec.ttlSecondsAfterEmpty"),
    ]


def test_slips_of_the_pen_and_of_case() -> None:
    assert _told({"spec": {"wieght": 1, "startuptaints": [], "labelz": {}}}) == [
        ("spec.wieght", "is misspelt", "spec.weight"),
        ("spec.startuptaints", "is misspelt", "spec.startupTaints"),
        ("spec.labelz", "is misspelt", "spec.labels"),
    ]


def test_fields_inside_lists_are_named_by_their_index() -> None:
    assert _told({"spec": {"requirements": [{"key": "a", "operator": "In"}, {"kye": "b"}]}}) == [
        ("spec.requirements[1].kye", "is misspelt", "spec.requirements[1].key")
    ]


def test_what_resembles_nothing_is_only_unknown() -> None:
    assert _told({"spec": {"zzz": 1}}) == [("spec.zzz", "is not a known field", "")]


def test_free_objects_hold_anything() -> None:
    assert _told({"spec": {"provider": {"limits": {"x": 1}}}}) == []

from __future__ import annotations

import pytest

from karpy.errors import InvalidObject, KarpyError, KubeError, ProviderError, Throttled


def test_a_complaint_gathers_its_path_from_the_inside_out() -> None:
    inner = InvalidObject("unknown operator", path="operator", accepted="In, NotIn")
    outer = inner.at(path="[2]").at(path="spec.requirements").at(object_name="NodePool/default")
    assert str(outer) == ("NodePool/default: spec.requirements[2].operator: unknown operator (accepted: In, NotIn)")


def test_bad_input_is_a_value_error_too() -> None:
    assert issubclass(InvalidObject, ValueError)
    assert issubclass(InvalidObject, KarpyError)


@pytest.mark.parametrize(
    ("code", "reason", "true"),
    [
        (404, "NotFound", {"not_found"}),
        (409, "Conflict", {"conflict", "retryable"}),
        (409, "AlreadyExists", {"already_exists"}),
        (410, "Expired", {"gone"}),
        (429, "TooManyRequests", {"retryable"}),
        (500, "InternalError", {"retryable"}),
        (422, "Invalid", set()),
    ],
)
def test_an_answer_of_the_api_server_says_what_can_be_done(code: int, reason: str, true: set[str]) -> None:
    error = KubeError("no", code=code, reason=reason)
    questions = ("not_found", "conflict", "already_exists", "gone", "retryable")
    assert {question for question in questions if getattr(error, question)} == true


def test_a_cloud_that_throttles_may_be_asked_again() -> None:
    error = Throttled("slow down", 2.5)
    assert isinstance(error, ProviderError)
    assert (error.retryable, error.retry_after_s) == (True, 2.5)

"""Whatever a user writes into ``userData``: it is taken whole, or refused by its field."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy_aws.bootstrap import NodeBootstrap, user_data
from karpy_aws.bootstrap.mime import is_archive, read_parts
from karpy_aws.clusterfacts import ClusterFacts

NODE = NodeBootstrap(
    cluster=ClusterFacts(name="shop", endpoint="https://shop.example.com", service_cidr="10.100.0.0/16")
)
SNIPPETS = (
    "--//",
    "--//--",
    "\n",
    "\r\n",
    ": ",
    "MIME-Version: 1.0\n",
    'Content-Type: multipart/mixed; boundary="B"\n',
    "--B",
)
TEXTS = st.lists(
    st.one_of(st.sampled_from(SNIPPETS), st.text(st.characters(codec="utf-8"), max_size=6)), max_size=8
).map("".join)


@given(TEXTS)
@pytest.mark.parametrize("family", ["AL2", "AL2023"])
def test_what_is_no_archive_becomes_the_first_part_of_one(family: str, text: str) -> None:
    if text and not is_archive(text):
        first, _ = read_parts(user_data(family, attrs.evolve(NODE, user_data=text)))
        assert first.body == text.replace("\r", "")


def refusal(family: str, text: str) -> InvalidObject | None:
    try:
        user_data(family, attrs.evolve(NODE, user_data=text))
    except InvalidObject as error:
        return error
    return None


@given(TEXTS)
@pytest.mark.parametrize("family", ["AL2", "AL2023", "Bottlerocket"])
def test_what_cannot_be_read_is_refused_by_its_field(family: str, text: str) -> None:
    refused = refusal(family, text)
    assert refused is None or (refused.path == "spec.userData" and refused.accepted)

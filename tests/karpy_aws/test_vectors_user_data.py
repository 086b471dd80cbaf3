"""What machines are told at their first start, as Karpenter's own code writes it: scripts exactly, archives and TOML by meaning."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import InvalidObject, NodeClassNotReady
from karpy_aws.launchtemplates import LaunchTemplate, launch_templates
from tests.karpy_aws.launchworld import Launch, content, decoded, meaning
from tests.karpy_aws.vectorworld import lines

ERRORS = {"NodeClassNotReady": NodeClassNotReady, "CreateError": InvalidObject}
"""Karpenter finds at the launch that user data cannot be read; karpy says which field of the class it is."""


def template(launch: Launch) -> LaunchTemplate:
    (found,) = launch_templates(tuple(launch.types()), launch.settings("on-demand"), launch.kubelet_of)
    return found


@pytest.mark.aws(
    "AWS-163", "AWS-164", "AWS-165", "AWS-166", "AWS-167", "AWS-168", "AWS-169", "AWS-170", "AWS-171", "AWS-183"
)
def test_user_data_is_as_karpenter_writes_it(shared: Path) -> None:
    unlike: dict[str, Any] = {}
    for line in lines(shared, "user_data.jsonl"):
        launch, wanted = Launch.of(line, shared), line["expect"]
        if launch.tells_expressions:
            continue
        family = launch.node_class.ami_family
        if "error" in wanted:
            with pytest.raises(ERRORS[wanted["error"]["class"]]):
                template(launch)
            continue
        request = template(launch).request
        assert request is not None
        text = decoded(request)["LaunchTemplateData"]["UserData"]
        if meaning(family, text) != meaning(family, wanted["userData"]):
            unlike[line["name"]] = text
    assert not unlike


@pytest.mark.aws("AWS-156", "AWS-158", "AWS-159")
def test_templates_are_equal_where_karpenters_are(shared: Path) -> None:
    """The other way round Karpenter tells more apart than EC2 would: it names templates by what they are made from."""
    names: dict[str, set[str]] = defaultdict(set)
    contents: dict[str, list[Any]] = defaultdict(list)
    for line in lines(shared, "user_data.jsonl"):
        launch = Launch.of(line, shared)
        if "error" not in line["expect"] and not launch.tells_expressions:
            found = template(launch)
            assert found.request is not None
            names[line["expect"]["launchTemplateName"]].add(found.name)
            made = content(launch.node_class.ami_family, decoded(found.request))
            if made not in contents[found.name]:
                contents[found.name].append(made)
    assert {theirs: mine for theirs, mine in names.items() if len(mine) > 1} == {}
    assert {name: made for name, made in contents.items() if len(made) > 1} == {}

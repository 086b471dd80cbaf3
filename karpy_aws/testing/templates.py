"""Launch templates: made once, never changed, deleted by name or id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from karpy_aws.testing.describing import Answer, Handler, Request, described_template
from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.world import World, time_of

__all__ = ["HANDLERS", "template"]

_NAME: Final = re.compile(r"[a-zA-Z0-9().\-/_]{3,128}")


def _create(world: World, request: Request, now: float) -> Answer:
    name = request["LaunchTemplateName"]
    if not _NAME.fullmatch(name):
        raise Refused("InvalidLaunchTemplateName.MalformedException", f"Invalid launch template name: {name}")
    if name in world.launch_templates:
        raise Refused(
            "InvalidLaunchTemplateName.AlreadyExistsException", f"Launch template name already in use: {name}"
        )
    tags = [
        tag
        for specification in request.get("TagSpecifications") or ()
        if specification["ResourceType"] == "launch-template"
        for tag in specification["Tags"]
    ]
    record = {
        "LaunchTemplateName": name,
        "LaunchTemplateId": world.new_id("lt"),
        "CreateTime": time_of(now),
        "LaunchTemplateData": request["LaunchTemplateData"],
        "Tags": tags,
    }
    world.launch_templates[name] = record
    lag_s = world.lag_s if world.template_lag_s is None else world.template_lag_s
    world.found_at[record["LaunchTemplateId"]] = now + lag_s
    return {"LaunchTemplate": described_template(record)}


def _delete(world: World, request: Request, now: float) -> Answer:
    record = template(world, request, now)
    del world.launch_templates[record["LaunchTemplateName"]]
    return {"LaunchTemplate": described_template(record)}


def template(world: World, specification: Mapping[str, Any], now: float) -> Answer:
    """The template that a request names, by name or id."""
    name, id_ = specification.get("LaunchTemplateName"), specification.get("LaunchTemplateId")
    if bool(name) == bool(id_):
        raise Refused(
            "MissingParameter", "Either a launch template id or a launch template name must be given, not both"
        )
    for record in world.launch_templates.values():
        if name == record["LaunchTemplateName"] or id_ == record["LaunchTemplateId"]:
            if world.is_found(record["LaunchTemplateId"], now):
                return record
            break
    if name:
        raise Refused(
            "InvalidLaunchTemplateName.NotFoundException",
            "At least one of the launch templates specified in the request does not exist.",
        )
    raise Refused("InvalidLaunchTemplateId.NotFound", f"The launch template '{id_}' does not exist")


HANDLERS: Final[Mapping[str, Handler]] = {"CreateLaunchTemplate": _create, "DeleteLaunchTemplate": _delete}

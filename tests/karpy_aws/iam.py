"""Decides as IAM does whether policies allow what a fake was asked: with the resources and the tags of the very requests.

What a policy is asked about a call is what AWS's reference of actions says of it: each resource that the call touches must be
allowed by itself, with the tags that the request gives it and those that it bears.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from karpy_aws.iampolicy import Document
from karpy_aws.testing import ACCOUNT, FakeAWS, World

Tags = Mapping[str, str]
Request = Mapping[str, Any]


@attrs.frozen
class Question:
    """One resource of one call. ``facts`` are by the names of IAM's condition keys."""

    action: str
    resource: str
    facts: Mapping[str, str | list[str]] = attrs.field(factory=dict)


def allows(documents: Iterable[Document], question: Question) -> bool:
    """One statement must have action and resource, and all of its conditions must hold."""
    return any(
        question.action in statement["Action"]
        and any(fnmatch.fnmatchcase(question.resource, pattern) for pattern in statement["Resource"])
        and all(_holds(operator, wanted, question.facts) for operator, wanted in statement.get("Condition", {}).items())
        for document in documents
        for statement in document["Statement"]
    )


def _holds(operator: str, wanted: Mapping[str, Any], facts: Mapping[str, str | list[str]]) -> bool:
    def one(key: str, accepted: str | list[str]) -> bool:
        values = [accepted] if isinstance(accepted, str) else accepted
        if key not in facts:
            return operator.endswith("IfExists") or operator.startswith("ForAllValues")
        told = facts[key]
        found = told if isinstance(told, list) else [told]
        if "StringLike" in operator:
            return all(any(fnmatch.fnmatchcase(text, value) for value in values) for text in found)
        return all(text in values for text in found)

    return all(one(key, accepted) for key, accepted in wanted.items())


def facts(*, request: Tags | None = None, resource: Tags | None = None, **more: str) -> dict[str, str | list[str]]:
    """Condition keys: tags that the request gives, tags that the resource bears, and others (``RequestedRegion``)."""
    found: dict[str, str | list[str]] = {f"aws:{key}": value for key, value in more.items() if key != "CreateAction"}
    found |= {f"aws:ResourceTag/{key}": value for key, value in (resource or {}).items()}
    if request is not None:
        found |= {f"aws:RequestTag/{key}": value for key, value in request.items()} | {"aws:TagKeys": [*request]}
    return found | ({"ec2:CreateAction": more["CreateAction"]} if "CreateAction" in more else {})


def refused(questions: Iterable[Question], documents: Iterable[Document]) -> list[Question]:
    """What the policies would not let through, each once."""
    documents = tuple(documents)
    found: list[Question] = []
    for question in questions:
        if question not in found and not allows(documents, question):
            found.append(question)
    return found


class WatchedAWS(FakeAWS):
    """A fake that notes what IAM is asked about each call, by the tags that things bear at that moment."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.questions: list[Question] = []

    def call(self, service: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        ask = _CHANGES.get(operation)
        if ask is None:
            self.questions.append(_read(service, operation, request, self.world))
        else:
            self.questions += ask(request, self.world)
        return super().call(service, operation, request)


def ec2(kind: str, *, account: str = ACCOUNT) -> str:
    return f"arn:aws:ec2:us-west-2:{account}:{kind}/id"


def _read(service: str, operation: str, request: Request, world: World) -> Question:
    """Of a call that changes nothing, or nothing but a queue."""
    region = world.region
    arns = {
        "ssm": f"arn:aws:ssm:{region}::parameter{request.get('Name')}",
        "eks": f"arn:aws:eks:{region}:{ACCOUNT}:cluster/{request.get('name')}",
        "sqs": f"arn:aws:sqs:{region}:{ACCOUNT}:{request.get('QueueName') or str(request.get('QueueUrl')).split('/')[-1]}",
        "iam": _profile(request) if "InstanceProfileName" in request else "*",
    }
    shifted = {"arc-zonal-shift:ResourceIdentifier": str(request.get("resourceIdentifier"))}
    return Question(f"{service}:{operation}", arns.get(service, "*"), facts(RequestedRegion=region) | shifted)


def _create_launch_template(request: Request, world: World) -> Iterator[Question]:
    own = _tags_by_kind(request).get("launch-template", {})
    yield Question("ec2:CreateLaunchTemplate", ec2("launch-template"), facts(request=own))
    yield _tagged_at_birth("launch-template", own, "CreateLaunchTemplate")


def _delete_launch_template(request: Request, world: World) -> Iterator[Question]:
    yield Question(
        "ec2:DeleteLaunchTemplate",
        ec2("launch-template"),
        facts(resource=_template_tags(world, request["LaunchTemplateName"])),
    )


def _create_fleet(request: Request, world: World) -> Iterator[Question]:
    """A fleet needs itself, and RunInstances for the machines that it starts."""
    names = [each["LaunchTemplateSpecification"]["LaunchTemplateName"] for each in request["LaunchTemplateConfigs"]]
    spot = request["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == "spot"
    yield from _launch("CreateFleet", names, request, ["fleet"], world)
    yield from _launch("RunInstances", names, request, [*_PARTS, *(["spot-instances-request"] if spot else [])], world)


def _run_instances(request: Request, world: World) -> Iterator[Question]:
    yield from _launch("RunInstances", [request["LaunchTemplate"]["LaunchTemplateName"]], request, _PARTS, world)


_PARTS = ("instance", "volume", "network-interface")


def _launch(
    action: str, templates: Iterable[str], request: Request, kinds: Sequence[str], world: World
) -> Iterator[Question]:
    """Parts of a machine are tagged by the template and by the request; everything is launched with what lies around."""
    given = _tags_by_kind(request)
    for name in templates:
        yield Question(f"ec2:{action}", ec2("launch-template"), facts(resource=_template_tags(world, name)))
        of_template = _tags_by_kind(world.launch_templates.get(name, {}).get("LaunchTemplateData", {}))
        for kind in kinds:
            tags = {**of_template.get(kind, {}), **given.get(kind, {})}
            yield Question(f"ec2:{action}", ec2(kind), facts(request=tags))
            yield _tagged_at_birth(kind, tags, action)
    for used in ("image", "snapshot"):
        yield Question(f"ec2:{action}", ec2(used, account=""))
    for used in ("security-group", "subnet"):
        yield Question(f"ec2:{action}", ec2(used))


def _terminate_instances(request: Request, world: World) -> Iterator[Question]:
    for id_ in request["InstanceIds"]:
        tags = facts(resource=_tags(world.instances.get(id_, {})))
        yield Question("ec2:TerminateInstances", ec2("instance"), tags)


def _create_tags(request: Request, world: World) -> Iterator[Question]:
    for id_ in request["Resources"]:
        tags = facts(request=_tags(request), resource=_tags(world.instances.get(id_, {})))
        yield Question("ec2:CreateTags", ec2("instance"), tags)


def _create_profile(request: Request, world: World) -> Iterator[Question]:
    own = _tags(request)
    yield Question("iam:CreateInstanceProfile", _profile(request), facts(request=own))
    yield Question("iam:TagInstanceProfile", _profile(request), facts(request=own, resource=own))


def _add_role(request: Request, world: World) -> Iterator[Question]:
    yield from _change_profile("AddRoleToInstanceProfile")(request, world)
    role = f"arn:aws:iam::{ACCOUNT}:role/{request['RoleName']}"
    yield Question("iam:PassRole", role, {"iam:PassedToService": "ec2.amazonaws.com"})


def _change_profile(operation: str) -> Callable[[Request, World], Iterable[Question]]:
    def ask(request: Request, world: World) -> Iterator[Question]:
        own = _tags(world.profiles.get(request["InstanceProfileName"], {}))
        yield Question(f"iam:{operation}", _profile(request), facts(resource=own))

    return ask


_CHANGES: Mapping[str, Callable[[Request, World], Iterable[Question]]] = {
    "CreateLaunchTemplate": _create_launch_template,
    "DeleteLaunchTemplate": _delete_launch_template,
    "CreateFleet": _create_fleet,
    "RunInstances": _run_instances,
    "TerminateInstances": _terminate_instances,
    "CreateTags": _create_tags,
    "CreateInstanceProfile": _create_profile,
    "AddRoleToInstanceProfile": _add_role,
    **{name: _change_profile(name) for name in ("RemoveRoleFromInstanceProfile", "DeleteInstanceProfile")},
}


def _profile(request: Request) -> str:
    return f"arn:aws:iam::{ACCOUNT}:instance-profile/karpenter/{request['InstanceProfileName']}"


def _tagged_at_birth(kind: str, tags: Tags, action: str) -> Question:
    return Question("ec2:CreateTags", ec2(kind), facts(request=tags, CreateAction=action))


def _template_tags(world: World, name: str) -> Tags:
    return _tags(world.launch_templates.get(name, {}))


def _tags(record: Mapping[str, Any]) -> Tags:
    return {tag["Key"]: tag["Value"] for tag in record.get("Tags") or ()}


def _tags_by_kind(request: Request) -> dict[str, Tags]:
    return {each["ResourceType"]: _tags(each) for each in request.get("TagSpecifications") or ()}

"""Decides as IAM does whether policies allow what a fake was asked: with the resources and the tags of the very requests.

What a policy is asked about a call is what AWS's reference of actions says of it: each resource that the call touches must be
allowed by itself, with the tags that the request gives it and those that it bears.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from karpy_aws.iampolicy import Document
from karpy_aws.testing import ACCOUNT, Call, FakeAWS

Tags = Mapping[str, str]
SERVICE_ARNS = {"ec2": "arn:aws:ec2:us-west-2", "iam": "arn:aws:iam:"}


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


def refused(fake: FakeAWS, documents: Iterable[Document]) -> list[Question]:
    """What of all that the fake was asked the policies would not have let through."""
    documents, account = tuple(documents), _Account()
    questions = [question for call in fake.calls for question in account.questions(call, fake)]
    return [question for question in questions if not allows(documents, question)]


def ec2(kind: str, *, account: str = ACCOUNT) -> str:
    return f"arn:aws:ec2:us-west-2:{account}:{kind}/id"


class _Account:
    """What the calls up to one have made, as far as its tags matter."""

    def __init__(self) -> None:
        self.templates: dict[str, Tags] = {}
        self.parts: dict[str, dict[str, Tags]] = {}
        """By template, the tags that it gives to the parts of a machine."""
        self.profiles: dict[str, Tags] = {}

    def questions(self, call: Call, fake: FakeAWS) -> Iterator[Question]:
        ask = getattr(self, f"_{call.operation}", None)
        if ask is not None:
            yield from ask(call.request, fake)
        else:
            yield Question(call.name, *self._read(call, fake))

    def _read(self, call: Call, fake: FakeAWS) -> tuple[str, Mapping[str, str | list[str]]]:
        """The resource of a call that changes nothing, or that a queue's own name stands for."""
        region, asked = fake.world.region, call.request
        arns = {
            "ssm": f"arn:aws:ssm:{region}::parameter{asked.get('Name')}",
            "eks": f"arn:aws:eks:{region}:{ACCOUNT}:cluster/{asked.get('name')}",
            "sqs": f"arn:aws:sqs:{region}:{ACCOUNT}:{asked.get('QueueName') or str(asked.get('QueueUrl')).split('/')[-1]}",
            "iam": f"arn:aws:iam::{ACCOUNT}:instance-profile/{asked.get('InstanceProfileName', '')}",
        }
        shifted = {"arc-zonal-shift:ResourceIdentifier": str(asked.get("resourceIdentifier"))}
        return arns.get(call.service, "*"), facts(RequestedRegion=region) | shifted

    def _CreateLaunchTemplate(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        own = _tags_by_kind(request).get("launch-template", {})
        self.templates[request["LaunchTemplateName"]] = own
        self.parts[request["LaunchTemplateName"]] = _tags_by_kind(request["LaunchTemplateData"])
        yield Question("ec2:CreateLaunchTemplate", ec2("launch-template"), facts(request=own))
        yield _tagged_at_birth("launch-template", own, "CreateLaunchTemplate")

    def _DeleteLaunchTemplate(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        own = self.templates.get(request["LaunchTemplateName"], {})
        yield Question("ec2:DeleteLaunchTemplate", ec2("launch-template"), facts(resource=own))

    def _CreateFleet(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        """A fleet needs itself, and RunInstances for the machines that it starts."""
        names = [each["LaunchTemplateSpecification"]["LaunchTemplateName"] for each in request["LaunchTemplateConfigs"]]
        spot = request["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == "spot"
        yield from self._launch("CreateFleet", names, _tags_by_kind(request), ["fleet"])
        kinds = ["instance", "volume", "network-interface", *(["spot-instances-request"] if spot else [])]
        yield from self._launch("RunInstances", names, _tags_by_kind(request), kinds)

    def _RunInstances(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        names = [request["LaunchTemplate"]["LaunchTemplateName"]]
        yield from self._launch(
            "RunInstances", names, _tags_by_kind(request), ["instance", "volume", "network-interface"]
        )

    def _launch(
        self, action: str, templates: Iterable[str], given: Mapping[str, Tags], kinds: Iterable[str]
    ) -> Iterator[Question]:
        kinds = tuple(kinds)
        for name in templates:
            yield Question(f"ec2:{action}", ec2("launch-template"), facts(resource=self.templates.get(name, {})))
            for kind in kinds:
                tags = {**self.parts.get(name, {}).get(kind, {}), **given.get(kind, {})}
                yield Question(f"ec2:{action}", ec2(kind), facts(request=tags))
                yield _tagged_at_birth(kind, tags, action)
        for used in ("image", "snapshot"):
            yield Question(f"ec2:{action}", ec2(used, account=""))
        for used in ("security-group", "subnet"):
            yield Question(f"ec2:{action}", ec2(used))

    def _TerminateInstances(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        for id_ in request["InstanceIds"]:
            yield Question("ec2:TerminateInstances", ec2("instance"), facts(resource=_instance_tags(fake, id_)))

    def _CreateTags(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        for id_ in request["Resources"]:
            tags = facts(request=_tags(request), resource=_instance_tags(fake, id_))
            yield Question("ec2:CreateTags", ec2("instance"), tags)

    def _CreateInstanceProfile(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        own = _tags(request)
        self.profiles[request["InstanceProfileName"]] = own
        yield Question("iam:CreateInstanceProfile", _profile(request), facts(request=own))
        yield Question("iam:TagInstanceProfile", _profile(request), facts(request=own, resource=own))

    def _AddRoleToInstanceProfile(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        yield self._changed("iam:AddRoleToInstanceProfile", request)
        role = f"arn:aws:iam::{ACCOUNT}:role/{request['RoleName']}"
        yield Question("iam:PassRole", role, {"iam:PassedToService": "ec2.amazonaws.com"})

    def _RemoveRoleFromInstanceProfile(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        yield self._changed("iam:RemoveRoleFromInstanceProfile", request)

    def _DeleteInstanceProfile(self, request: Mapping[str, Any], fake: FakeAWS) -> Iterator[Question]:
        yield self._changed("iam:DeleteInstanceProfile", request)

    def _changed(self, action: str, request: Mapping[str, Any]) -> Question:
        return Question(action, _profile(request), facts(resource=self.profiles[request["InstanceProfileName"]]))


def _profile(request: Mapping[str, Any]) -> str:
    return f"arn:aws:iam::{ACCOUNT}:instance-profile/karpenter/{request['InstanceProfileName']}"


def _tagged_at_birth(kind: str, tags: Tags, action: str) -> Question:
    return Question("ec2:CreateTags", ec2(kind), facts(request=tags, CreateAction=action))


def _tags(request: Mapping[str, Any]) -> Tags:
    return {tag["Key"]: tag["Value"] for tag in request.get("Tags") or ()}


def _tags_by_kind(request: Mapping[str, Any]) -> dict[str, Tags]:
    return {each["ResourceType"]: _tags(each) for each in request.get("TagSpecifications") or ()}


def _instance_tags(fake: FakeAWS, id_: str) -> Tags:
    return _tags(fake.world.instances.get(id_, {}))

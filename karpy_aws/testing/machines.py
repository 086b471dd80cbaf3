"""Machines after their launch: what EC2 tells of them while they boot, run and end, and their tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karpy_aws.testing.describing import Answer, Handler, Request
from karpy_aws.testing.filters import Members, matching, tags_of
from karpy_aws.testing.launching import ENDED, Launch, request_refusal_of
from karpy_aws.testing.paging import page
from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.templates import template
from karpy_aws.testing.world import ACCOUNT, World

__all__ = ["HANDLERS"]

_SHOWN_AFTER_END_S: Final = 3_600.0
_CODES: Final = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
_GONE_WITH_THE_MACHINE: Final = ("SubnetId", "VpcId", "PrivateIpAddress", "IamInstanceProfile")
_FILTERS: Final[Members] = {
    "instance-id": "InstanceId",
    "instance-state-name": "State.Name",
    "instance-type": "InstanceType",
    "availability-zone": "Placement.AvailabilityZone",
    "subnet-id": "SubnetId",
    "vpc-id": "VpcId",
    "image-id": "ImageId",
    "instance-lifecycle": "InstanceLifecycle",
    "private-dns-name": "PrivateDnsName",
}
_STATUS_FILTERS: Final[Members] = {
    "instance-state-name": "InstanceState.Name",
    "instance-status.status": "InstanceStatus.Status",
    "system-status.status": "SystemStatus.Status",
    "event.code": "Events.Code",
    "availability-zone": "AvailabilityZone",
}
_TAG_LIMIT: Final = 50


def _pass_time(world: World, now: float) -> None:
    """Machines that were booting run, those that were ending are gone, and at last forgotten."""
    for id_, machine in list(world.instances.items()):
        state = machine["State"]["Name"]
        ended = machine.get("ended", now)
        if state == "pending" and machine["LaunchTime"].timestamp() + world.boot_s <= now:
            _set_state(machine, "running")
        elif state == "shutting-down" and ended + world.shutdown_s <= now:
            _set_state(machine, "terminated")
            machine.update(dict.fromkeys(_GONE_WITH_THE_MACHINE, None), SecurityGroups=[], PrivateDnsName="")
        elif state == "terminated" and ended + _SHOWN_AFTER_END_S <= now:
            del world.instances[id_]


def _set_state(machine: dict[str, Any], state: str) -> None:
    machine["State"] = {"Code": _CODES[state], "Name": state}


def _known(world: World, ids: object, now: float) -> list[dict[str, Any]]:
    """The machines with these ids, or all that are found yet; one that is not found fails the whole call."""
    assert isinstance(ids, list | tuple | None)
    missing = [id_ for id_ in ids or () if id_ not in world.instances or not world.is_found(id_, now)]
    if missing:
        named = f"ID '{missing[0]}' does" if len(missing) == 1 else f"IDs '{', '.join(missing)}' do"
        raise Refused("InvalidInstanceID.NotFound", f"The instance {named} not exist")
    return [world.instances[id_] for id_ in dict.fromkeys(ids or world.instances) if world.is_found(id_, now)]


def _shown(machine: Mapping[str, Any]) -> dict[str, Any]:
    return {member: value for member, value in machine.items() if member != "ended" and value is not None}


def _describe(world: World, request: Request, now: float) -> Answer:
    ids = request.get("InstanceIds")
    _not_both(request, ids)
    _pass_time(world, now)
    machines = [_shown(machine) for machine in _known(world, ids, now)]
    found = [
        {"ReservationId": f"r-{machine['InstanceId'][2:]}", "OwnerId": ACCOUNT, "Instances": [machine]}
        for machine in matching(machines, request, _FILTERS)
    ]
    return page(found, request, "Reservations", most=1_000, size=world.page_size)


def _not_both(request: Request, ids: object) -> None:
    if ids and "MaxResults" in request:
        raise Refused(
            "InvalidParameterCombination",
            "The parameter instancesSet cannot be used with the parameter maxResults",
        )


def _status(world: World, request: Request, now: float) -> Answer:
    ids = request.get("InstanceIds")
    _not_both(request, ids)
    _pass_time(world, now)
    records = [
        _status_of(world, machine)
        for machine in _known(world, ids, now)
        if request.get("IncludeAllInstances") or machine["State"]["Name"] == "running"
    ]
    found = matching(records, request, _STATUS_FILTERS)
    return page(found, request, "InstanceStatuses", most=1_000, size=world.page_size)


def _status_of(world: World, machine: Mapping[str, Any]) -> dict[str, Any]:
    well = {"Status": "ok", "Details": [{"Name": "reachability", "Status": "passed"}]}
    return {
        "InstanceId": machine["InstanceId"],
        "AvailabilityZone": machine["Placement"]["AvailabilityZone"],
        "InstanceState": machine["State"],
        "InstanceStatus": well,
        "SystemStatus": well,
        **world.statuses.get(machine["InstanceId"], {}),
    }


def _terminate(world: World, request: Request, now: float) -> Answer:
    _pass_time(world, now)
    changes = []
    for machine in _known(world, request["InstanceIds"], now):
        before = machine["State"]
        if before["Name"] not in ENDED:
            _set_state(machine, "shutting-down")
            machine["ended"] = now
            _give_back(world, machine)
        changes.append({"InstanceId": machine["InstanceId"], "PreviousState": before, "CurrentState": machine["State"]})
    return {"TerminatingInstances": changes}


def _give_back(world: World, machine: Mapping[str, Any]) -> None:
    capacity_type = machine.get("InstanceLifecycle", "on-demand")
    pool = (capacity_type, machine["InstanceType"], machine["Placement"]["AvailabilityZone"])
    reservation = machine.get("CapacityReservationId")
    if reservation in world.reservations:
        world.reservations[reservation]["AvailableInstanceCount"] += 1
    elif pool in world.stock:
        world.stock[pool] += 1
    if machine.get("SubnetId") in world.subnets:
        world.subnets[machine["SubnetId"]]["AvailableIpAddressCount"] += 1


def _run(world: World, request: Request, now: float) -> Answer:
    """A dry run, which looks at what the request and its template name; the fake launches by fleets only."""
    if not request.get("DryRun"):
        raise Refused("UnsupportedOperation", "Machines are launched by fleets here")
    named = request.get("LaunchTemplate")
    data = {**(template(world, named, now)["LaunchTemplateData"] if named else {}), **request}
    wanted = Launch(
        capacity_type="on-demand",
        instance_type=data.get("InstanceType", ""),
        zone="",
        subnet=data.get("SubnetId", ""),
        image=data.get("ImageId", ""),
        template_id="",
        fleet_id="",
        data=data,
        tags=(),
    )
    refused = request_refusal_of(world, wanted)
    raise refused or Refused("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


def _tag(world: World, request: Request, now: float) -> Answer:
    for machine in _known(world, request["Resources"], now):
        tags = tags_of(machine) | {tag["Key"]: tag.get("Value", "") for tag in request["Tags"]}
        if sum(not key.startswith("aws:") for key in tags) > _TAG_LIMIT:
            raise Refused(
                "TagLimitExceeded", f"The maximum number of Tags for a resource has been reached: {_TAG_LIMIT}"
            )
        machine["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return {}


HANDLERS: Final[Mapping[str, Handler]] = {
    "CreateTags": _tag,
    "DescribeInstanceStatus": _status,
    "DescribeInstances": _describe,
    "RunInstances": _run,
    "TerminateInstances": _terminate,
}

"""Where machines are put: the subnets and security groups that a node class selects, asked of EC2 and read from its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER
from karpy_aws.objects.nodeclass import NodeClass, SelectorTerm
from karpy_aws.objects.status import SecurityGroup, Subnet
from karpy_aws.tagfilters import tag_filters

__all__ = ["FoundSubnet", "group_requests", "read_groups", "read_subnets", "subnet_requests"]

_PAGE: Final = 500


@attrs.frozen(kw_only=True)
class FoundSubnet:
    """A subnet, and how many addresses EC2 says are free in it."""

    id: str
    zone: str
    zone_id: str = ""
    free_addresses: int = 0

    @property
    def as_status(self) -> Subnet:
        return Subnet(self.id, self.zone, self.zone_id)


def subnet_requests(node_class: NodeClass) -> tuple[dict[str, Any], ...]:
    """What DescribeSubnets is asked; the answers together hold the class's subnets.

    Raises:
        InvalidObject: a term that asks for nothing would select every subnet of the account.
    """
    return _requests(node_class.subnet_selector_terms, "spec.subnetSelectorTerms", id_filter="subnet-id")


def group_requests(node_class: NodeClass) -> tuple[dict[str, Any], ...]:
    """What DescribeSecurityGroups is asked; the answers together hold the class's groups.

    Raises:
        InvalidObject: a term that asks for nothing would select every group of the account.
    """
    path = "spec.securityGroupSelectorTerms"
    return _requests(node_class.security_group_selector_terms, path, id_filter="group-id", name_filter="group-name")


def _requests(
    terms: Sequence[SelectorTerm], path: str, *, id_filter: str, name_filter: str = ""
) -> tuple[dict[str, Any], ...]:
    """One for all terms that are an id and nothing else, one for each other. Filters, unlike ids, may find nothing."""
    ids = sorted({term.id for term in terms if term.id and not term.tags})
    asked = [_request([{"Name": id_filter, "Values": ids}])] if ids else []
    for index, term in enumerate(terms):
        if term.id and not term.tags:
            continue
        filters = tag_filters(term.tags or {})
        filters += [{"Name": id_filter, "Values": [term.id]}] if term.id else []
        filters += [{"Name": name_filter, "Values": [term.name]}] if name_filter and term.name else []
        if not filters:
            raise InvalidObject("asks for nothing, so it would select everything", path=f"{path}[{index}]")
        asked.append(_request(filters))
    return tuple(asked)


def _request(filters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"Filters": list(filters), "MaxResults": _PAGE}


def read_subnets(entries: Iterable[Mapping[str, Any]]) -> tuple[FoundSubnet, ...]:
    """The subnets of the answers, each once: the one with most free addresses first, of equals the first by id."""
    found = {
        entry["SubnetId"]: FoundSubnet(
            id=entry["SubnetId"],
            zone=entry["AvailabilityZone"],
            zone_id=entry.get("AvailabilityZoneId", ""),
            free_addresses=entry.get("AvailableIpAddressCount") or 0,
        )
        for entry in entries
    }
    return tuple(sorted(found.values(), key=lambda subnet: (-subnet.free_addresses, subnet.id)))


def read_groups(entries: Iterable[Mapping[str, Any]], node_class: NodeClass, cluster: str) -> tuple[SecurityGroup, ...]:
    """The groups of the answers, by id.

    Of those that bear the cluster's tag a Provisioner's machines get the first only, as in Karpenter 0.5: the controller of AWS's
    load balancers refuses machines with more than one.
    """
    by_id = {entry["GroupId"]: entry for entry in entries}
    listed = [by_id[id_] for id_ in sorted(by_id)]
    if node_class.origin == PROVISIONER:
        tag = f"kubernetes.io/cluster/{cluster}"
        tagged = [entry for entry in listed if any(each["Key"] == tag for each in entry.get("Tags") or ())]
        listed = [entry for entry in listed if entry not in tagged[1:]]
    return tuple(SecurityGroup(entry["GroupId"], entry.get("GroupName", "")) for entry in listed)

"""Every request for what EC2 sells is one that the SDK lets through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karpy_aws.descriptions import TYPES_REQUEST, ZONES_REQUEST
from karpy_aws.objects.nodeclass import CapacityReservationTerm, PlacementGroupSelector
from karpy_aws.placementgroups import placement_group_request
from karpy_aws.pricing import on_demand_requests, spot_request
from karpy_aws.reservations import reservation_request
from karpy_aws.zonalshift import managed_resource_request

TERM = CapacityReservationTerm(tags={"team": "a", "env": "*"}, owner_id="111122223333")


@pytest.mark.parametrize(
    ("service", "operation", "request_"),
    [
        ("ec2", "DescribeInstanceTypes", TYPES_REQUEST),
        ("ec2", "DescribeInstanceTypeOfferings", ZONES_REQUEST),
        ("ec2", "DescribeSpotPriceHistory", spot_request("2026-08-21T12:00:00Z")),
        ("ec2", "DescribeCapacityReservations", reservation_request(TERM)),
        ("ec2", "DescribeCapacityReservations", reservation_request(CapacityReservationTerm(id="cr-1"))),
        ("ec2", "DescribePlacementGroups", placement_group_request(PlacementGroupSelector(id="pg-1"))),
        ("ec2", "DescribePlacementGroups", placement_group_request(PlacementGroupSelector(name="g"))),
        *(("pricing", "GetProducts", request) for request in on_demand_requests("us-west-2")),
        ("arc-zonal-shift", "GetManagedResource", managed_resource_request("arn:aws:eks:us-west-2:1:cluster/a")),
    ],
)
def test_it_fits_the_model_of_the_service(service: str, operation: str, request_: Mapping[str, Any]) -> None:
    session = pytest.importorskip("botocore.session").get_session()
    validator = pytest.importorskip("botocore.validate").ParamValidator()
    shape = session.get_service_model(service).operation_model(operation).input_shape
    report = validator.validate(dict(request_), shape)
    assert not report.has_errors(), report.generate_report()

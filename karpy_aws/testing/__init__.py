"""The public test kit for EC2: a cloud in memory that stands in for AWS's own HTTP endpoints.

Needs botocore (``karpy[aws]``), whose models of AWS's calls every request is checked against.
"""

from __future__ import annotations

from karpy_aws.testing.buckets import EC2_LIMITS, Buckets, Limit
from karpy_aws.testing.cloud import Call, FakeAWS
from karpy_aws.testing.world import ACCOUNT, FleetScript, World

__all__ = ["ACCOUNT", "EC2_LIMITS", "Buckets", "Call", "FakeAWS", "FleetScript", "Limit", "World"]

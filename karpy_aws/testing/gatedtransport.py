"""AWS as a process of a simulated world sees it: each call crosses the process's gate, where it may meet a fault."""

from __future__ import annotations

import re
from typing import Final

import attrs

from karpy.errors import ProviderError, Throttled
from karpy.sim.processes.gate import Gate
from karpy_aws.api import Request, Response, Transport
from karpy_aws.errors import TIMED_OUT, AWSError, aws_error, resource_named_in
from karpy_aws.machines import NODE_CLAIM_TAG

__all__ = ["GatedTransport"]

_READS: Final = re.compile(r"Describe|Get|List|Receive")


def _about(request: Request) -> str:
    """The claim that a fleet is for, or what else a request names."""
    tags = (tag for each in request.get("TagSpecifications") or () for tag in each["Tags"])
    claim = next((tag["Value"] for tag in tags if tag["Key"] == NODE_CLAIM_TAG), "")
    return claim or resource_named_in(request)


@attrs.frozen
class GatedTransport:
    """``transport`` through ``gate``. A fault comes out as AWS's own errors, or as no answer."""

    transport: Transport
    gate: Gate

    def call(self, service: str, operation: str, request: Request) -> Response:
        name = f"{service}:{operation}"
        verb, about = ("get", name) if _READS.match(operation) else (operation, _about(request))
        try:
            return self.gate.call(lambda: self.transport.call(service, operation, request), verb, None, about)
        except AWSError:
            raise
        except Throttled as error:
            raise aws_error(name, "RequestLimitExceeded", str(error), status=503) from error
        except ProviderError as error:
            raise aws_error(name, TIMED_OUT, str(error)) from error

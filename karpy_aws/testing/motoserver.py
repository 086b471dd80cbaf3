"""moto's server in a thread of this process: AWS's HTTP endpoints, which the SDK reaches as it reaches AWS.

The only module that imports moto.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast
from urllib.request import urlopen

from karpy.errors import PluginError
from karpy_aws.api import Connection, RegionalTransport, boto_transport

__all__ = ["ACCOUNT", "add_images", "serving"]

ACCOUNT: Final = "123456789012"


@contextmanager
def serving(region: str) -> Iterator[RegionalTransport]:
    """An empty AWS on a port of its own for as long as the context lasts.

    Raises:
        PluginError: moto is not installed.
    """
    try:
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        needed = "AWS is stood in for by moto, which is not installed"
        raise PluginError(f"{needed} ({error}); run: pip install 'karpy[demo]'") from error
    told = logging.getLogger("werkzeug")
    level = told.level
    told.setLevel(logging.ERROR)  # otherwise it tells of every request
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        with urlopen(f"{url}/moto-api/reset", data=b""):  # noqa: S310  # its backends are this process's, and there for ever
            pass
        yield boto_transport(Connection(region=region, endpoint_urls={"": url}, key=("stand-in", "stand-in")))
    finally:
        server.stop()
        told.setLevel(level)


def add_images(region: str, images: Mapping[str, Mapping[str, Any]]) -> None:
    """Give an image to each parameter of Systems Manager. Over HTTP nobody may: both are AWS's own."""
    import datetime as dt

    from moto.ec2.models import ec2_backends
    from moto.ec2.models.amis import Ami
    from moto.ssm.models import Parameter, ssm_backends

    ec2, ssm = ec2_backends[ACCOUNT][region], ssm_backends[ACCOUNT][region]
    now = dt.datetime.now(dt.UTC)
    for path, image in images.items():
        id_ = image["ImageId"]
        ec2.amis[id_] = Ami(
            ec2,
            id_,
            name=image["Name"],
            owner_id=image["OwnerId"],
            owner_alias=image["ImageOwnerAlias"],
            public=True,
            virtualization_type="hvm",
            architecture=image["Architecture"],
            region_name=region,
        )
        ssm._parameters[path].append(  # noqa: SLF001  # its own way in refuses paths of AWS
            cast("Any", Parameter)(  # which is abstract only for CloudFormation
                account_id=ACCOUNT,
                name=path,
                value=id_,
                parameter_type="String",
                description=None,
                allowed_pattern=None,
                keyid=None,
                last_modified_date=now,
                version=1,
                data_type="text",
            )
        )

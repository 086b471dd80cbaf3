from __future__ import annotations

import pytest

from karpy.cloud.instancetype import InstanceTypes
from karpy_aws.model import AWSModel


@pytest.fixture(scope="session")
def model() -> AWSModel:
    return AWSModel()


@pytest.fixture(scope="session")
def types(model: AWSModel) -> InstanceTypes:
    return model.instance_types()

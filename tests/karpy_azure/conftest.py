from __future__ import annotations

import pytest

from karpy.cloud.instancetype import InstanceTypes
from karpy_azure.model import AzureModel


@pytest.fixture(scope="session")
def model() -> AzureModel:
    return AzureModel()


@pytest.fixture(scope="session")
def types(model: AzureModel) -> InstanceTypes:
    return model.instance_types()

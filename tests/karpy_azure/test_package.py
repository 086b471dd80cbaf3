from __future__ import annotations

import subprocess
import sys

import pytest

import karpy_azure
from karpy.cloud.provider import ProviderContext
from karpy.errors import PluginError


def test_importing_the_package_loads_neither_sdk_nor_catalog() -> None:
    script = (
        "import sys, karpy_azure; karpy_azure.cloud_model();"
        "loaded = {'azure', 'libcloud'} & set(sys.modules);"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_provider_says_that_it_cannot_launch_yet_and_what_can() -> None:
    with pytest.raises(PluginError, match=r"not in this version.*'sim'"):
        karpy_azure.create_provider(ProviderContext())


def test_each_call_gives_a_model_of_its_own() -> None:
    assert karpy_azure.cloud_model() is not karpy_azure.cloud_model()

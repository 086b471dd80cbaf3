from __future__ import annotations

import subprocess
import sys

import karpy_aws


def test_importing_the_package_loads_neither_sdk_nor_catalog() -> None:
    script = (
        "import sys, karpy_aws; karpy_aws.cloud_model();"
        "loaded = {'boto3', 'botocore', 'moto', 'libcloud'} & set(sys.modules);"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_each_call_gives_a_model_of_its_own() -> None:
    assert karpy_aws.cloud_model() is not karpy_aws.cloud_model()

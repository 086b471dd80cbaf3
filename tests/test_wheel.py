"""The wheel holds the three packages and what they need, and works on its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("karpy", "karpy_aws", "karpy_azure")
SHIPPED = (".py", ".xz", ".yaml", ".typed", ".md", ".json")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without the network."""
    out = tmp_path_factory.mktemp("dist")
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(out)!r}))"
    name = run(sys.executable, "-c", code, cwd=ROOT).split()[-1]
    return out / name


def run(*command: str | Path, **options: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contents(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_top_level_is_the_three_packages(wheel: Path) -> None:
    top = {name.partition("/")[0] for name in contents(wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == set(PACKAGES)
    assert len(top) == len(PACKAGES) + 1


def test_everything_that_belongs_to_a_package_is_shipped(wheel: Path) -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in sources if not name.endswith(SHIPPED)} == set()
    assert sources <= contents(wheel)


def test_types_data_and_scenarios_are_there(wheel: Path) -> None:
    names = contents(wheel)
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert {f"karpy/scenarios/{name}.yaml" for name in ("eks", "eks-v0.5.3", "aks", "aks-nap")} <= names
    assert any(name.startswith("karpy_aws/data/") for name in names)
    assert any(name.startswith("karpy_azure/data/") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of a clean venv with the wheel in it; the dependencies are of the versions that run this test."""
    venv = tmp_path_factory.mktemp("clean")
    pins = venv / "pins.txt"
    pins.write_text(
        "".join(sorted(f"{dist.name}=={dist.version}\n" for dist in distributions() if dist.name != "karpy"))
    )
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    interpreter = venv / "bin" / "python"
    uv = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if uv is None:
        run(sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "-c", pins, wheel)
    else:
        install(uv, "--python", interpreter, "-c", pins, wheel)
    return venv / "bin"


def install(uv: str, *arguments: str | Path) -> None:
    """From uv's cache, where `make test` left everything; from the index only when that is not enough."""
    command = (uv, "pip", "install", "--quiet", *arguments)
    if subprocess.run((*command, "--offline"), capture_output=True, check=False).returncode:
        run(*command)


def test_the_installed_wheel_runs(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "karpy", "version", cwd=tmp_path).startswith("karpy ")
    assert run(installed / "python", "-m", "karpy", "version", cwd=tmp_path).startswith("karpy ")


def test_the_installed_wheel_registers_its_providers(installed: Path, tmp_path: Path) -> None:
    listed = run(installed / "karpy", "providers", cwd=tmp_path)
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["aws", "azure", "sim"]

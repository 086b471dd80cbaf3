"""The fixtures as a stranger's tests find them: in a folder of their own, run by pytest."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLUGIN = "karpy.testing.plugin"


def run(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest over ``code``, with the plugin as an installed karpy has it."""
    (folder / "test_mine.py").write_text(code)
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", PLUGIN)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *options]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_entry_point_is_declared() -> None:
    assert f'karpy = "{PLUGIN}"' in (ROOT / "pyproject.toml").read_text().split("[project.entry-points.pytest11]")[1]


def test_a_cluster_keeps_objects_and_nobody_acts_on_them(tmp_path: Path) -> None:
    code = """
from karpy.objects.kinds import DEPLOYMENT, POD

def test_it(karpy_cluster):
    spec = {"containers": [{"name": "main", "image": "pause"}]}
    karpy_cluster.create(POD, {"metadata": {"name": "a"}, "spec": spec}, "default")
    assert [pod["metadata"]["name"] for pod in karpy_cluster.list(POD).items] == ["a"]
    assert not karpy_cluster.get(POD, "a", "default")["spec"].get("nodeName")

def test_another_begins_empty(karpy_cluster):
    assert karpy_cluster.list(POD).items == ()
"""
    done = run(tmp_path, code)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_world_is_made_as_its_markers_say(tmp_path: Path) -> None:
    code = """
import pytest

pytestmark = pytest.mark.karpy_world(seed=4, faults="lost@3")

def test_of_the_module(karpy_world):
    assert (karpy_world.seed, str(karpy_world.boundary.faults)) == (4, "lost@3 seed:0")

@pytest.mark.karpy_world(seed=5, weather="Weather(tries=3)")
def test_of_its_own(karpy_world):
    assert (karpy_world.seed, str(karpy_world.boundary.faults)) == (5, "lost@3 seed:0")
    assert karpy_world.cloud.weather.tries == 3
"""
    done = run(tmp_path, code, "--strict-markers")
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_what_does_not_hold_fails_the_test_in_the_end(tmp_path: Path) -> None:
    code = """
from karpy.controllers.base import Result
from karpy.objects.kinds import CONFIG_MAP

class Restless:
    name, sources = "restless", ()

    def __init__(self, surroundings):
        self.kube = surroundings.kube

    def reconcile(self, request):
        note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
        if not self.kube.list(CONFIG_MAP, "default").items:
            self.kube.create(CONFIG_MAP, note, "default")
        self.kube.patch(CONFIG_MAP, "note", {"data": {}}, "default")
        return Result(0.5)

def test_it(karpy_world):
    karpy_world.start(lambda surroundings: [Restless(surroundings)], "mine")
    karpy_world.run(120)
"""
    done = run(tmp_path, code)
    assert done.returncode == 1
    assert (
        "writes_are_bounded: configmaps/default/note was to be written 41 times within a minute by mine" in done.stdout
    )
    assert "mine patch configmaps/default/note → ok" in done.stdout


def test_unrelated_tests_load_nothing_of_karpy(tmp_path: Path) -> None:
    code = """
import sys

def test_it():
    assert {name for name in sys.modules if name.startswith("karpy")} <= {"karpy", "karpy.testing", "karpy.testing.plugin"}
    assert not {"msgspec", "attrs", "structlog", "kubernetes"} & set(sys.modules)
"""
    done = run(tmp_path, code)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_fixtures_say_what_they_are(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it(): assert True\n", "--fixtures")
    assert "karpy_cluster" in done.stdout
    assert "An API server in memory" in done.stdout
    assert "A cluster with scheduler, workload controllers, kubelets and a cloud" in done.stdout
    markers = run(tmp_path, "def test_it(): assert True\n", "--markers")
    assert "karpy_world(**options): how the fixture karpy_world makes its World" in markers.stdout


@pytest.mark.parametrize("text", ["Weather(", "3", "Weather(nothing=1)"])
def test_weather_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    code = f"""
import pytest

@pytest.mark.karpy_world(weather={text!r})
def test_it(karpy_world):
    pass
"""
    done = run(tmp_path, code)
    assert "accepted: text like 'Weather(lasts_s=240.0)'" in done.stdout


def test_what_a_marker_says_without_a_name_is_told(tmp_path: Path) -> None:
    told = """
import pytest

@pytest.mark.karpy_world(3)
def test_it(karpy_world):
    pass
"""
    done = run(tmp_path, told)
    assert done.returncode == 1
    assert "takes options by name, such as seed=1; found 3" in done.stdout


def test_the_tests_of_the_page_on_testing_pass(tmp_path: Path) -> None:
    page = (ROOT / "docs/testing.md").read_text()
    blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
    done = run(tmp_path, "\n".join(block for block in blocks if "class Owners" in block or "karpy_world" in block))
    assert "2 passed" in done.stdout, done.stdout + done.stderr

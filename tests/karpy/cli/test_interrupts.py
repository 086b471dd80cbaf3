"""Commands that run until they are told to stop leave nothing behind: no process, no port, no traceback."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

Process = subprocess.Popen[str]
PATIENCE_S = 30


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Process]]:
    """Processes that are killed if the test leaves them running."""
    processes: list[Process] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def start(started: list[Process], cwd: Path, *arguments: str) -> Process:
    process = subprocess.Popen(
        [sys.executable, "-m", "karpy", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    return process


def first_line(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: Process, number: signal.Signals) -> str:
    """Interrupt the process; what it wrote to stderr."""
    process.send_signal(number)
    _, error = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in error
    return error


def server_of(kubeconfig: str) -> str:
    config = yaml.safe_load(Path(kubeconfig).read_text())
    url: str = config["clusters"][0]["cluster"]["server"]
    return url


def is_open(url: str) -> bool:
    host, _, port = url.removeprefix("https://").partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cluster_serves_until_it_is_interrupted(
    started: list[Process], tmp_path: Path, number: signal.Signals
) -> None:
    cluster = start(started, tmp_path, "cluster", "--port", "0", "--kubeconfig", "kc")
    path = first_line(cluster)
    assert path == str(tmp_path / "kc")
    url = server_of(path)
    with pytest.raises(urllib.error.HTTPError, match="401"):  # it is up, and lets nobody in without the token
        urllib.request.urlopen(f"{url}/version", timeout=PATIENCE_S, context=ssl._create_unverified_context())
    end(cluster, number)
    assert cluster.returncode == 0
    assert not is_open(url)


def test_a_port_that_is_taken_is_refused(started: list[Process], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster = start(started, tmp_path, "cluster", "--port", str(port))
        _, error = cluster.communicate(timeout=PATIENCE_S)
    assert cluster.returncode == 2
    assert error == f"karpy: --port: {port} is in use\n"


def test_a_demonstration_can_be_interrupted(started: list[Process], tmp_path: Path) -> None:
    demo = start(started, tmp_path, "demo", "--speed", "20")
    assert "scale" in first_line(demo)
    end(demo, signal.SIGINT)
    assert demo.returncode == 130


def test_a_served_demonstration_goes_on_after_its_end(started: list[Process], tmp_path: Path) -> None:
    demo = start(started, tmp_path, "demo", "--speed", "max", "--serve")
    assert demo.stdout is not None
    assert any("Ctrl-C ends it" in line for line in demo.stdout)
    assert demo.stderr is not None
    path = demo.stderr.readline().split()[2]
    url = server_of(path)
    assert is_open(url)
    end(demo, signal.SIGINT)
    assert not is_open(url)
    assert not Path(path).exists()

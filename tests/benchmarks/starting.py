"""What it costs to begin: imports and the shortest command, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from measure import Measure, duration, seconds

_IMPORTS = ("karpy", "karpy.scheduling.scheduler", "karpy.operator")
_TIMED = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def measures() -> Iterator[Measure]:
    for name in _IMPORTS:
        yield duration(f"import {name}", lambda n=name: float(_output("-c", _TIMED.format(n))))
    yield duration("karpy version, as a process", lambda: seconds(lambda: _output("-m", "karpy", "version")))


def _output(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout

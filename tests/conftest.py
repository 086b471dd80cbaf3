from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data beside the checkout; a clone alone has none and passes without it."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the data in {SHARED}")
    return SHARED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many points the sweeps of `tests/scenarios/test_crash_safety.py` covered: each part of them noted its own."""
    covered: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for name, count in report.user_properties:
            covered[str(name)] += int(str(count))
    for name in sorted(covered):
        terminalreporter.write_line(f"{name}: {covered[name]} covered")

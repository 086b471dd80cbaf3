from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import karpy

PROMISED = {
    *("CloudProvider", "InstanceType", "KarpyError", "Node", "NodeClaim", "NodePool", "Offering", "Operator", "Plan"),
    *("Pod", "Requirement", "Requirements", "Resources", "Settings", "Snapshot"),
    *("available_providers", "load_provider", "solve"),
}

HEAVY = {
    *("aiohttp", "asyncio", "azure", "boto3", "http", "kubernetes", "msgspec", "numpy", "rich", "ssl", "structlog"),
    *("typer", "urllib3", "yaml"),
}


def names_for_type_checkers() -> set[str]:
    """What ``karpy/__init__.py`` imports where only type checkers look."""
    tree = ast.parse(Path(karpy.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_all_is_sorted_without_repeats() -> None:
    assert karpy.__all__ == sorted(set(karpy.__all__))


def test_the_promised_names_are_public() -> None:
    assert set(karpy.__all__) >= PROMISED


def test_type_checkers_see_the_names_that_exist_at_run_time() -> None:
    assert names_for_type_checkers() == set(karpy.__all__)


def test_every_public_name_can_be_had() -> None:
    assert all(getattr(karpy, name).__module__.startswith("karpy.") for name in karpy.__all__)


def test_every_error_is_a_karpy_error() -> None:
    errors = [getattr(karpy, name) for name in karpy.__all__ if isinstance(getattr(karpy, name), type)]
    assert all(issubclass(each, karpy.KarpyError) for each in errors if issubclass(each, BaseException))


def test_importing_karpy_loads_nothing_heavy() -> None:
    code = "import sys; before = set(sys.modules); import karpy; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "karpy" in loaded
    assert not {name.partition(".")[0] for name in loaded} & HEAVY

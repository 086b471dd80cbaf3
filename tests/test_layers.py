"""Who may import whom, and what the pure layers may not touch: the table is the architecture."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A room is a module or package right under karpy/, or a cloud package. Rooms of one layer do not know each other,
# except the foundations of layer 0.
LAYERS: dict[int, set[str]] = {
    0: {
        "clock",
        "errors",
        "gauges",
        "labels",
        "metrics",
        "quantity",
        "requirements",
        "resources",
        "settings",
        "taints",
    },
    1: {"objects"},
    2: {"cloud"},
    3: {"state"},
    4: {"scheduling"},
    5: {"disruption", "lifecycle"},
    6: {"kube", "karpy_aws", "karpy_azure"},
    7: {"controllers"},
    8: {"operator"},
    9: {"report", "sim"},
    10: {"scenarios", "testing", "karpy_aws.testing"},
    11: {"cli"},
    12: {"__main__"},
}
HIGHEST = {  # rooms that may see less than all that lies below them
    "kube": 1,
    "karpy_aws": 2,
    "karpy_azure": 2,
    "controllers": 6,
    "report": 5,
}
NEVER_IMPORTED = {"testing", "cli", "__main__", "karpy_aws.testing"}
CLOUDS = {"karpy_aws", "karpy_azure"}
KITS = {"karpy_aws.testing"}  # a cloud's test kit: it stands in for the cloud in a simulated world
PURE = range(6)

THIRD_PARTY: dict[str, set[str]] = {  # everything else is the standard library
    "aiohttp": {"karpy/sim/http"},
    "attrs": {"karpy", "karpy_aws", "karpy_azure"},
    "azure": {"karpy_azure/api"},
    "boto3": {"karpy_aws/api"},
    "botocore": {"karpy_aws/api", "karpy_aws/testing/models"},
    "moto": {"karpy_aws/testing/motoserver"},
    "cronsim": {"karpy/objects/schedule"},
    "cryptography": {"karpy/sim/tls"},
    "kubernetes": {"karpy/kube", "karpy/sim/api/schemas/builtin_schema"},
    "msgspec": {"karpy", "karpy_aws", "karpy_azure"},
    "prometheus_client": {"karpy/report/exposition"},
    "rich": {"karpy/report", "karpy/cli"},
    "structlog": {"karpy/kube", "karpy/controllers", "karpy/operator", "karpy/cli", "karpy_aws", "karpy_azure"},
    "tomlkit": {"karpy_aws/bootstrap/bottlerocket"},
    "typer": {"karpy/cli", "karpy_aws/cli"},
    "yaml": {
        *("karpy/objects/manifest", "karpy/sim/api", "karpy/sim/http", "karpy/report", "karpy/cli"),
        *("karpy_aws/bootstrap/al2023", "karpy_aws/testing/userdata"),
    },
}

EFFECTS = {  # modules that tell the time, roll dice, start threads, write logs or touch files and sockets
    *("asyncio", "concurrent", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "selectors"),
    *("shutil", "signal", "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
}
EFFECTFUL_CALLS = {"now", "utcnow", "today"}  # of datetime and date
ALLOWED_EFFECTS = {
    ("karpy/clock.py", "time"),  # the system's clock is defined there and handed in from above
    ("karpy/state/cluster.py", "threading"),  # the one lock around the one mutable type
}


def modules() -> list[Path]:
    return sorted(path for package in ("karpy", *sorted(CLOUDS)) for path in (ROOT / package).rglob("*.py"))


def room_of(name: str) -> str:
    """The room of a dotted name or of a path with dots for slashes; empty for ``karpy`` itself."""
    parts = name.split(".")
    if parts[0] in CLOUDS and ".".join(parts[:2]) in KITS:
        return ".".join(parts[:2])
    return parts[0] if parts[0] in CLOUDS else (parts[1] if len(parts) > 1 else "")


def layer_of(room: str) -> int:
    found = [layer for layer, rooms in LAYERS.items() if room in rooms]
    assert found, f"{room} has no layer: put it into the table of {Path(__file__).name}"
    return found[0]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a name comes from"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path: Path) -> Iterator[str]:
    yield from (name for name in imports(path) if name.partition(".")[0] in {"karpy", *CLOUDS})


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_go_down_only(path: Path) -> None:
    room = room_of(dotted(path))
    if not room:
        return  # karpy/__init__.py gathers the public names of all rooms
    layer = layer_of(room)
    for name in own_imports(path):
        other = room_of(name)
        if other == room:
            continue
        assert other, f"{dotted(path)} imports {name}: name the room, not the package"
        assert other not in NEVER_IMPORTED or layer > layer_of(other), f"{dotted(path)} imports {name}"
        is_own_kit = room in KITS and room.partition(".")[0] == other
        assert is_own_kit or not (room not in CLOUDS and other in CLOUDS), (
            f"{dotted(path)} imports {name}: clouds are plug-ins"
        )
        below = layer_of(other) < layer or layer == layer_of(other) == 0
        assert below, f"{dotted(path)} (layer {layer}) imports {name} (layer {layer_of(other)})"
        highest = HIGHEST.get(room, layer)
        assert layer_of(other) <= highest, f"{dotted(path)} may import layers 0 to {highest}, not {name}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_third_party_packages_stay_in_their_rooms(path: Path) -> None:
    where = path.relative_to(ROOT).with_suffix("").as_posix()
    for name in imports(path):
        top = name.partition(".")[0]
        if top in THIRD_PARTY:
            homes = THIRD_PARTY[top]
            assert any(where == home or where.startswith(f"{home}/") for home in homes), f"{where} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_pure_layers_have_no_effects(path: Path) -> None:
    room = room_of(dotted(path))
    if not room or layer_of(room) not in PURE:
        return
    where = path.relative_to(ROOT).as_posix()
    touched = {name.partition(".")[0] for name in imports(path) if not name.startswith("os.path")} & EFFECTS
    assert {(where, module) for module in touched} <= ALLOWED_EFFECTS
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input"}, f"{where}:{node.lineno} calls {node.func.id}()"
        if isinstance(node.func, ast.Attribute) and node.func.attr in EFFECTFUL_CALLS:
            owner = ast.unparse(node.func.value)
            assert not owner.endswith(("datetime", "date")), f"{where}:{node.lineno} asks {owner} for the time"


def test_every_room_of_the_table_that_exists_is_a_room() -> None:
    rooms = {room_of(dotted(path)) for path in modules()} - {""}
    assert rooms <= {room for rooms in LAYERS.values() for room in rooms}

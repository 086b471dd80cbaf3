"""Which Azure sizes the catalog lists, and what each has: cores, memory and GPUs by the rule of its series.

Apache Libcloud prices sizes under squeezed names (``standardd4sv3``) and knows neither cores nor memory of the newer ones. A
series below says how its names are formed and how much memory a core brings; odd sizes are listed one by one.
Series of version 5 came after Libcloud's price table; they take the price of their predecessor and say so (``priced_as``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Prices = Mapping[str, Mapping[str, float]]


class Size(NamedTuple):
    """One size: ``name`` without its tier, and ``priced_as``, the size that lends the price when it has none of its own."""

    name: str
    cores: int
    memory_gib: float
    gpus: int = 0
    priced_as: str = ""


TO_64 = (2, 4, 8, 16, 32, 48, 64)
TO_96 = (*TO_64, 96)
E_TO_64 = (2, 4, 8, 16, 20, 32, 48, 64)
E_TO_96 = (*E_TO_64, 96)

# pattern, cores, GiB per core, sizes whose memory departs from the rule
SERIES: tuple[tuple[str, tuple[int, ...], float, dict[int, float]], ...] = (
    ("D{}_v3", TO_64, 4, {}),
    ("D{}s_v3", TO_64, 4, {}),
    ("D{}_v4", TO_64, 4, {}),
    ("D{}s_v4", TO_64, 4, {}),
    ("D{}d_v4", TO_64, 4, {}),
    ("D{}ds_v4", TO_64, 4, {}),
    ("D{}a_v4", TO_96, 4, {}),
    ("D{}as_v4", TO_96, 4, {}),
    ("E{}_v3", E_TO_64, 8, {64: 432}),
    ("E{}s_v3", E_TO_64, 8, {64: 432}),
    ("E{}_v4", E_TO_64, 8, {64: 504}),
    ("E{}s_v4", E_TO_64, 8, {64: 504}),
    ("E{}d_v4", E_TO_64, 8, {64: 504}),
    ("E{}ds_v4", E_TO_64, 8, {64: 504}),
    ("E{}a_v4", E_TO_96, 8, {96: 672}),
    ("E{}as_v4", E_TO_96, 8, {96: 672}),
    ("F{}", (2, 4, 8, 16), 2, {}),
    ("F{}s", (2, 4, 8, 16), 2, {}),
    ("F{}s_v2", (2, 4, 8, 16, 32, 48, 64, 72), 2, {}),
    ("L{}s_v2", (8, 16, 32, 48, 64, 80), 8, {}),
    ("A{}_v2", (2, 4, 8), 2, {}),
    ("A{}m_v2", (2, 4, 8), 8, {}),
    ("B{}ms", (2, 4, 8, 12, 16, 20), 4, {}),
    ("B{}s", (2,), 2, {}),
)

# series without prices of their own -> the series that lends them; memory by the same rule
SUCCESSORS: tuple[tuple[str, str, tuple[int, ...], float, dict[int, float]], ...] = (
    ("D{}_v5", "D{}_v4", TO_64, 4, {}),
    ("D{}s_v5", "D{}s_v4", TO_64, 4, {}),
    ("D{}d_v5", "D{}d_v4", TO_64, 4, {}),
    ("D{}ds_v5", "D{}ds_v4", TO_64, 4, {}),
    ("D{}as_v5", "D{}as_v4", TO_96, 4, {}),
    ("E{}_v5", "E{}_v4", E_TO_64, 8, {}),
    ("E{}s_v5", "E{}s_v4", E_TO_64, 8, {}),
    ("E{}d_v5", "E{}d_v4", E_TO_64, 8, {}),
    ("E{}ds_v5", "E{}ds_v4", E_TO_64, 8, {}),
    ("E{}as_v5", "E{}as_v4", E_TO_96, 8, {96: 672}),
    ("L{}s_v3", "L{}s_v2", (8, 16, 32, 48, 64, 80), 8, {}),
)

# the second generation of D numbers its sizes instead of counting cores
D_V2 = {
    2: (2, 7),
    3: (4, 14),
    4: (8, 28),
    5: (16, 56),
    11: (2, 14),
    12: (4, 28),
    13: (8, 56),
    14: (16, 112),
    15: (20, 140),
}

SINGLE = (
    Size("NC6s_v3", 6, 112, 1),
    Size("NC12s_v3", 12, 224, 2),
    Size("NC24s_v3", 24, 448, 4),
    Size("NC24rs_v3", 24, 448, 4),
    Size("ND40rs_v2", 40, 672, 8),
    Size("NV12s_v3", 12, 112, 1),
    Size("NV24s_v3", 24, 224, 2),
    Size("NV48s_v3", 48, 448, 4),
    Size("M8ms", 8, 218.75),
    Size("M16ms", 16, 437.5),
    Size("M32ls", 32, 256),
    Size("M32ts", 32, 192),
    Size("M32ms", 32, 875),
    Size("M64ls", 64, 512),
    Size("M64s", 64, 1024),
    Size("M64ms", 64, 1792),
)


def describe_sizes(prices: Prices, region: str) -> list[dict[str, Any]]:
    """The priced sizes in the shape of the package's data file, sorted by name."""
    found = []
    for size in all_sizes():
        price = prices.get(_key("standard", size.priced_as or size.name), {}).get(region, 0.0)
        if price > 0:
            spot = _key("lowpriority", size.priced_as or size.name) in prices
            row = {"name": f"Standard_{size.name}", "price": price, "capabilities": capabilities(size, spot=spot)}
            if size.priced_as:
                row["priced_as"] = f"Standard_{size.priced_as}"
            found.append(row)
    return sorted(found, key=lambda row: row["name"])


def all_sizes() -> Iterator[Size]:
    for pattern, cores, ratio, odd in SERIES:
        yield from (Size(pattern.format(n), n, odd.get(n, n * ratio)) for n in cores)
    for pattern, predecessor, cores, ratio, odd in SUCCESSORS:
        yield from (Size(pattern.format(n), n, odd.get(n, n * ratio), priced_as=predecessor.format(n)) for n in cores)
    for number, (cores_of, memory) in D_V2.items():
        yield Size(f"D{number}_v2", cores_of, memory)
        yield Size(f"DS{number}_v2", cores_of, memory)
    yield from SINGLE


def capabilities(size: Size, *, spot: bool) -> dict[str, str]:
    """The capabilities that name and series tell, in Azure's words.

    Azure names premium storage by the letter s. Host encryption needs it or version 5; only the second generation of A lacks
    accelerated networking, and of B all below twelve cores.
    """
    letters = re.match(r"[A-Z]+[0-9]+([a-z]*)", size.name)
    premium = letters is not None and ("s" in letters[1] or size.name.startswith("DS"))
    newest = size.name.endswith("_v5")
    slow_network = size.name[0] == "A" or (size.name[0] == "B" and size.cores < 12)
    told = {
        "vCPUs": str(size.cores),
        "MemoryGB": f"{size.memory_gib:g}",
        "CpuArchitectureType": "x64",
        "PremiumIO": str(premium),
        "AcceleratedNetworkingEnabled": str(not slow_network),
        "EncryptionAtHostSupported": str(premium or newest),
        "HyperVGenerations": "V1,V2" if premium or newest else "V1",
        "LowPriorityCapable": str(spot),
    }
    return {**told, "GPUs": str(size.gpus)} if size.gpus else told


def _key(tier: str, size: str) -> str:
    """Libcloud's name of a size.

    >>> _key("standard", "D4s_v3")
    'standardd4sv3'
    """
    return tier + size.lower().replace("_", "")

"""The grammar of Azure's VM size names (Azure specification, section 2.4).

::

    Standard_ N  C   24  ads   _A100      _v4
    tier      │  │   │   │     │          └ version
              │  │   │   │     └ accelerator
              │  │   │   └ features: a AMD, d local disk, s premium storage, p ARM, …
              │  │   └ cores, then perhaps -n: cores that are left on
              │  └ subfamily, none to two letters
              └ family

Names tell series and version. Cores, memory and architecture are read from a size's capabilities, never from its name.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from karpy.errors import InvalidObject

__all__ = ["SkuName", "parse_size", "parse_sku_name"]

TIERS: Final = ("Standard", "Basic")

_SIZE: Final = re.compile(
    r"""
    (?P<family>[A-Z])
    (?P<subfamily>[A-Z]{0,2})
    (?P<cores>[0-9]+)
    (?:-(?P<constrained>[0-9]*))?
    (?P<features>[abcdeilmnoprstP]*|C+|NP)
    (?:_xl)?
    (?:_MI300X | _?(?P<accelerator>[A-Z]+[0-9]{3,}[A-Z]* | [A-Z]+[0-9]+))?
    (?P<child>_cc)?
    (?:(?<=[a-z])_[0-9]+)?                # memory or disk index, as in M96s_1_v3
    (?:_?(?P<version>v[1-9]))?
    (?P<promo>_Promo)?
    """,
    re.VERBOSE | re.ASCII,
)


@attrs.frozen(kw_only=True)
class SkuName:
    """A size name, taken apart. Parts that the name lacks are empty; ``constrained`` is None for "all cores are on".

    ``accelerator`` is empty for MI300X too: AKS labels it so.
    """

    name: str
    family: str
    subfamily: str = ""
    cores: int
    constrained: int | None = None
    features: str = ""
    accelerator: str = ""
    version: str = ""
    confidential_child: bool = False
    promo: bool = False

    @property
    def series(self) -> str:
        """Family, features and version without the number of cores.

        >>> parse_sku_name("Standard_NC24ads_A100_v4").series
        'NCads_v4'
        """
        stem = f"{self.family}{self.subfamily}{self.features}"
        return f"{stem}_{self.version}" if self.version else stem

    @property
    def version_label(self) -> str:
        """The version's number; the first version is not written in names.

        >>> parse_sku_name("Standard_F4s").version_label
        '1'
        """
        return self.version.removeprefix("v") or "1"

    @property
    def is_confidential(self) -> bool:
        return self.name.partition("_")[2].startswith(("DC", "EC"))


def parse_sku_name(name: str) -> SkuName:
    """Take a full size name apart.

    Raises:
        InvalidObject: no tier, or not in the grammar.
    """
    tier, _, size = name.partition("_")
    if tier not in TIERS:
        raise InvalidObject(f"VM size {name!r} has no tier", accepted=", ".join(f"{tier}_…" for tier in TIERS))
    return parse_size(size, name=name)


def parse_size(size: str, *, name: str = "") -> SkuName:
    """Take a size name without its tier apart; ``name`` is the full name, if it is known.

    >>> parse_size("E32-16s_v3").constrained
    16

    Raises:
        InvalidObject: not in the grammar.
    """
    found = _SIZE.fullmatch(size)
    if found is None:
        raise InvalidObject(f"VM size {size!r} cannot be parsed", accepted="a size such as D4s_v5 or NC24ads_A100_v4")
    return SkuName(
        name=name or f"Standard_{size}",
        family=found["family"],
        subfamily=found["subfamily"],
        cores=int(found["cores"]),
        constrained=int(found["constrained"]) if found["constrained"] else None,
        features=found["features"],
        accelerator=found["accelerator"] or "",
        version=found["version"] or "",
        confidential_child=found["child"] is not None,
        promo=found["promo"] is not None,
    )

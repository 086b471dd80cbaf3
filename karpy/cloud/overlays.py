"""What NodeOverlays make of the catalogs of pools, and which of them cannot hold beside another.

Source: core specification 1.5. Overlays go by weight, the heaviest first, then by name. Of several that set the same price or the
same resource of a type the heaviest counts; two of one weight conflict, and the later of them is rejected as a whole, for all
pools and types.

The offerings of a catalog are numbered, and what an overlay selects is a mask of them: conflicts and precedence are bit operations.
Nothing is changed in place: types that no overlay touches are shared with the cloud's catalog, and so is the catalog itself.
"""

from __future__ import annotations

import bisect
import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay, PriceChange
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources

__all__ = ["Evaluation", "OverlayVerdict", "Overlays", "Validity"]

_SHOWN = 3
"""So many of the things that two overlays both set are named."""


class Validity(enum.Enum):
    """What became of an overlay; the value is the reason of its condition."""

    VALID = "ValidationSucceeded"
    CONFLICT = "Conflict"
    UNREADABLE = "RuntimeValidation"


@attrs.frozen
class OverlayVerdict:
    """Whether an overlay counts, and if not, why. ``rival`` is the name of the overlay that it conflicts with."""

    validity: Validity
    message: str = ""
    rival: str = ""


@attrs.frozen
class Evaluation:
    """The catalogs by pool as the overlays make them, and a verdict for each overlay by its name."""

    types: Mapping[str, InstanceTypes]
    verdicts: Mapping[str, OverlayVerdict]


class Overlays:
    """Evaluates overlays, and remembers the last answers: what follows from the same catalog is the same object again."""

    def __init__(self) -> None:
        self._selected: dict[_Question, int] = {}
        self._made: dict[tuple[InstanceTypes, _Edits], InstanceTypes] = {}

    def evaluate(
        self,
        overlays: Iterable[NodeOverlay | InvalidOverlay],
        pools: Iterable[NodePool],
        types: Mapping[str, InstanceTypes],
    ) -> Evaluation:
        """What the overlays make of ``types``, the catalogs of ``pools`` by name. A pool without a catalog is left out."""
        verdicts: dict[str, OverlayVerdict] = {}
        readable = []
        for overlay in overlays:
            if isinstance(overlay, InvalidOverlay):
                verdicts[overlay.name] = OverlayVerdict(Validity.UNREADABLE, overlay.problem)
            else:
                readable.append(overlay)
        if not readable:
            return Evaluation(types, verdicts)
        ledgers = [_Ledger(pool, types[pool.name]) for pool in pools if pool.name in types]
        selected: dict[_Question, int] = {}
        for overlay in sorted(readable, key=lambda overlay: overlay.order):
            masks = [self._selection(overlay, ledger, selected) for ledger in ledgers]
            conflict = _first_conflict(overlay, ledgers, masks)
            verdicts[overlay.name] = conflict or OverlayVerdict(Validity.VALID)
            if conflict is None:
                for ledger, mask in zip(ledgers, masks, strict=True):
                    ledger.enter(overlay, mask)
        wanted = {ledger.pool.name: (ledger.types, ledger.edits()) for ledger in ledgers}
        made: dict[tuple[InstanceTypes, _Edits], InstanceTypes] = {}
        for key in wanted.values():
            if key not in made:
                made[key] = self._made[key] if key in self._made else _overlaid(*key)
        self._selected, self._made = selected, made
        return Evaluation({**types, **{name: made[key] for name, key in wanted.items()}}, verdicts)

    def _selection(self, overlay: NodeOverlay, ledger: _Ledger, answers: dict[_Question, int]) -> int:
        """The offerings that an overlay selects in a pool. Pools that do not differ in what it asks for share the answer."""
        asked = overlay.requirements
        known_of_pool = Requirements(found for key, found in ledger.labels.items() if key in asked)
        question = (ledger.types, known_of_pool, asked)
        if question not in answers:
            old = self._selected.get(question)
            answers[question] = ledger.numbered.selected_by(asked, known_of_pool) if old is None else old
        return answers[question]


_Question = tuple[InstanceTypes, Requirements, Requirements]
"""A catalog, what is known of a pool, and the requirements of an overlay."""


class _Numbered:
    """The offerings of a catalog, numbered in the order of its types."""

    def __init__(self, types: InstanceTypes) -> None:
        self.types = types
        self.first: list[int] = []
        total = 0
        for instance_type in types:
            self.first.append(total)
            total += len(instance_type.offerings)

    def selected_by(self, asked: Requirements, known_of_pool: Requirements) -> int:
        """The offerings that ``asked`` allows, of the types that are strictly compatible with it in such a pool."""
        mask = 0
        verdicts: dict[tuple[Requirement | None, ...], bool] = {}
        allowed: dict[Requirements, bool] = {}
        for first, instance_type in zip(self.first, self.types, strict=True):
            held = tuple(instance_type.requirements.get(key) for key in asked)
            if held not in verdicts:
                own = Requirements(requirement for requirement in held if requirement is not None)
                verdicts[held] = (own & known_of_pool).compatible(asked) is None
            if not verdicts[held]:
                continue
            for number, offering in enumerate(instance_type.offerings, first):
                fits = allowed.get(offering.requirements)
                if fits is None:
                    fits = allowed[offering.requirements] = offering.requirements.intersects(asked) is None
                if fits:
                    mask |= 1 << number
        return mask

    def of_type(self, index: int) -> int:
        """The offerings of one type."""
        return ((1 << len(self.types[index].offerings)) - 1) << self.first[index]

    def split(self, mask: int) -> Iterator[tuple[int, InstanceType, int]]:
        """The types that have an offering in ``mask``: their index, themselves, and which of their own offerings these are."""
        while mask:
            lowest = (mask & -mask).bit_length() - 1
            index = bisect.bisect_right(self.first, lowest) - 1
            part = mask & self.of_type(index)
            yield index, self.types[index], part >> self.first[index]
            mask ^= part

    def whole_types(self, mask: int) -> int:
        """All offerings of the types that have one in ``mask``: a machine has its capacity however it was bought."""
        return sum(self.of_type(index) for index, _type, _part in self.split(mask))


def _numbered(types: InstanceTypes) -> _Numbered:
    return types.derived(_Numbered)


@attrs.frozen
class _Edits:
    """What is to be changed in a catalog: masks of offerings, each with what becomes of their price; for each resource masks of
    offerings, each with the amount that their types have."""

    prices: tuple[tuple[int, PriceChange], ...] = ()
    amounts: tuple[tuple[str, int, int], ...] = ()


class _Ledger:
    """What the overlays accepted so far set in one pool.

    Overlays come by weight, so one conflicts only with those entered last, as long as these have its weight.
    """

    def __init__(self, pool: NodePool, types: InstanceTypes) -> None:
        self.pool = pool
        self.types = types
        self.numbered = _numbered(types)
        self.labels = Requirements.from_labels({**pool.labels, labels.NODEPOOL: pool.name})
        self._taken = _Taken()
        self._of_this_weight = _Taken()
        self._weight: int | None = None
        self._rivals: list[tuple[NodeOverlay, int]] = []
        self._prices: list[tuple[int, PriceChange]] = []
        self._amounts: list[tuple[str, int, int]] = []

    def rivals(self, overlay: NodeOverlay, mask: int) -> Sequence[tuple[NodeOverlay, int]]:
        """Overlays of the same weight, and the offerings that they select, when one of them sets what this one does."""
        taken = self._of_this_weight
        if overlay.weight != self._weight:
            return ()
        if overlay.price is not None and mask & taken.prices:
            return self._rivals
        whole = self.numbered.whole_types(mask) if overlay.capacity else 0
        return self._rivals if any(whole & taken.amounts.get(name, 0) for name in overlay.capacity) else ()

    def enter(self, overlay: NodeOverlay, mask: int) -> None:
        """Note what the overlay sets, where no heavier one did."""
        if overlay.weight != self._weight:
            self._weight, self._of_this_weight, self._rivals = overlay.weight, _Taken(), []
        self._rivals.append((overlay, mask))
        if overlay.price is not None:
            free = mask & ~self._taken.prices
            self._prices.extend([(free, overlay.price)] if free else ())
            self._taken.prices |= mask
            self._of_this_weight.prices |= mask
        whole = self.numbered.whole_types(mask) if overlay.capacity else 0
        for name, amount in sorted(overlay.capacity.items()):
            free = whole & ~self._taken.amounts.get(name, 0)
            self._amounts.extend([(name, amount, free)] if free else ())
            self._taken.add(name, whole)
            self._of_this_weight.add(name, whole)

    def edits(self) -> _Edits:
        return _Edits(tuple(self._prices), tuple(self._amounts))


class _Taken:
    """Offerings whose price is set, and for each resource those whose types have a set amount."""

    def __init__(self) -> None:
        self.prices = 0
        self.amounts: dict[str, int] = {}

    def add(self, name: str, whole: int) -> None:
        self.amounts[name] = self.amounts.get(name, 0) | whole


def _first_conflict(overlay: NodeOverlay, ledgers: Sequence[_Ledger], masks: Sequence[int]) -> OverlayVerdict | None:
    """With an accepted overlay of the same weight; None when there is none."""
    for ledger, mask in zip(ledgers, masks, strict=True):
        for rival, taken in ledger.rivals(overlay, mask):
            both = tuple(_both_set(overlay, rival, ledger.numbered, mask, taken))
            if both:
                return _conflict(overlay, rival, both, ledger.pool.name)
    return None


def _both_set(overlay: NodeOverlay, rival: NodeOverlay, numbered: _Numbered, mask: int, taken: int) -> Iterator[str]:
    """What both overlays set in a catalog, in words; that they set it to the same does not matter."""
    if overlay.price is not None and rival.price is not None:
        for _index, found, part in numbered.split(mask & taken):
            for number, offering in enumerate(found.offerings):
                if part >> number & 1:
                    yield f"the price of {found.name} ({offering.capacity_type}, {offering.zone})"
    names = sorted(overlay.capacity.keys() & rival.capacity.keys())
    if names:
        for _index, found, _part in numbered.split(numbered.whole_types(mask) & taken):
            yield from (f"{name} of {found.name}" for name in names)


def _conflict(overlay: NodeOverlay, rival: NodeOverlay, both: Sequence[str], pool: str) -> OverlayVerdict:
    rest = len(both) - _SHOWN
    shown = ", ".join(both[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
    weight = f"weight {overlay.weight}" if overlay.weight else "no weight"
    message = (
        f'conflict with another overlay: "{rival.name}", also of {weight}, sets {shown} (nodepool "{pool}") as well'
    )
    return OverlayVerdict(Validity.CONFLICT, message, rival.name)


def _overlaid(types: InstanceTypes, edits: _Edits) -> InstanceTypes:
    """The catalog after the edits; itself when nothing comes of them."""
    numbered = _numbered(types)
    changed = list(types)
    for mask, change in edits.prices:
        for index, _type, part in numbered.split(mask):
            changed[index] = _repriced(changed[index], part, change)
    amounts: dict[int, dict[str, int]] = {}
    for name, amount, mask in edits.amounts:
        for index, _type, _part in numbered.split(mask):
            amounts.setdefault(index, {})[name] = amount
    for index, added in amounts.items():
        capacity = Resources({**changed[index].capacity, **added})
        changed[index] = attrs.evolve(changed[index], capacity=capacity, capacity_overlaid=True)
    same = all(new is old for new, old in zip(changed, types, strict=True))
    return types if same else InstanceTypes(changed)


def _repriced(instance_type: InstanceType, part: int, change: PriceChange) -> InstanceType:
    offerings = tuple(
        _repriced_offering(offering, change) if part >> number & 1 else offering
        for number, offering in enumerate(instance_type.offerings)
    )
    same = all(new is old for new, old in zip(offerings, instance_type.offerings, strict=True))
    return instance_type if same else attrs.evolve(instance_type, offerings=offerings)


def _repriced_offering(offering: Offering, change: PriceChange) -> Offering:
    price = change.of(offering.price)
    return offering if price is None else attrs.evolve(offering, price=price, price_overlaid=True)

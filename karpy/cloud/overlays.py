"""What NodeOverlays make of the catalogs of pools, and which of them cannot hold beside another.

Source: core specification 1.5. Overlays go by weight, the heaviest first, then by name. Of several that set the same price or the
same resource of a type the heaviest counts; two of one weight conflict, and the later of them is rejected as a whole, for all
pools and types.

The offerings of a catalog are numbered, and what an overlay selects is a mask of them: conflicts and precedence are bit operations.
Nothing is changed in place: types that no overlay touches are shared with the cloud's catalog, and so is the catalog itself.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.numbered import Edits, NumberedOfferings, Selection, edited
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay, PriceChange
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements

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
        self._selected: dict[_Question, Selection] = {}
        self._made: dict[tuple[InstanceTypes, Edits], InstanceTypes] = {}

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
            self._selected, self._made = {}, {}
            return Evaluation(types, verdicts)
        ledgers = [_Ledger(pool, types[pool.name]) for pool in pools if pool.name in types]
        answers: dict[_Question, Selection] = {}
        for overlay in sorted(readable, key=lambda overlay: overlay.order):
            selected = [self._selection(overlay, ledger, answers) for ledger in ledgers]
            conflict = _first_conflict(overlay, ledgers, selected)
            verdicts[overlay.name] = conflict or OverlayVerdict(Validity.VALID)
            if conflict is None:
                for ledger, selection in zip(ledgers, selected, strict=True):
                    ledger.enter(overlay, selection)
        wanted = {ledger.pool.name: (ledger.types, ledger.edits()) for ledger in ledgers}
        made: dict[tuple[InstanceTypes, Edits], InstanceTypes] = {}
        for key in wanted.values():
            if key not in made:
                made[key] = self._made[key] if key in self._made else edited(*key)
        self._selected, self._made = answers, made
        return Evaluation({**types, **{name: made[key] for name, key in wanted.items()}}, verdicts)

    def _selection(self, overlay: NodeOverlay, ledger: _Ledger, answers: dict[_Question, Selection]) -> Selection:
        """What an overlay selects in a pool. Pools that do not differ in what it asks for share the answer."""
        asked = overlay.requirements
        known_of_pool = Requirements(found for key, found in ledger.labels.items() if key in asked)
        question = (ledger.types, known_of_pool, asked)
        if question not in answers:
            old = self._selected.get(question)
            answers[question] = ledger.numbered.select(asked, known_of_pool) if old is None else old
        return answers[question]


_Question = tuple[InstanceTypes, Requirements, Requirements]
"""A catalog, what is known of a pool, and the requirements of an overlay."""


class _Ledger:
    """What the overlays accepted so far set in one pool.

    Overlays come by weight, so one conflicts only with those entered last, as long as these have its weight.
    """

    def __init__(self, pool: NodePool, types: InstanceTypes) -> None:
        self.pool = pool
        self.types = types
        self.numbered = types.derived(NumberedOfferings)
        self.labels = Requirements.from_labels({**pool.labels, labels.NODEPOOL: pool.name})
        self._taken = _Taken()
        self._of_this_weight = _Taken()
        self._weight: int | None = None
        self._rivals: list[tuple[NodeOverlay, Selection]] = []
        self._prices: list[tuple[int, PriceChange]] = []
        self._amounts: list[tuple[str, int, int]] = []

    def rivals(self, overlay: NodeOverlay, selection: Selection) -> Sequence[tuple[NodeOverlay, Selection]]:
        """Overlays of the same weight, and what they select, when one of them sets what this one does."""
        taken = self._of_this_weight
        if overlay.weight != self._weight:
            return ()
        if overlay.price is not None and selection.mask & taken.prices:
            return self._rivals
        twice = any(selection.whole & taken.amounts.get(name, 0) for name in overlay.capacity)
        return self._rivals if twice else ()

    def enter(self, overlay: NodeOverlay, selection: Selection) -> None:
        """Note what the overlay sets, where no heavier one did."""
        if overlay.weight != self._weight:
            self._weight, self._of_this_weight, self._rivals = overlay.weight, _Taken(), []
        self._rivals.append((overlay, selection))
        if overlay.price is not None:
            free = selection.mask & ~self._taken.prices
            self._prices.extend([(free, overlay.price)] if free else ())
            self._taken.prices |= selection.mask
            self._of_this_weight.prices |= selection.mask
        for name, amount in sorted(overlay.capacity.items()):
            free = selection.whole & ~self._taken.amounts.get(name, 0)
            self._amounts.extend([(name, amount, free)] if free else ())
            self._taken.add(name, selection.whole)
            self._of_this_weight.add(name, selection.whole)

    def edits(self) -> Edits:
        return Edits(tuple(self._prices), tuple(self._amounts))


class _Taken:
    """Offerings whose price is set, and for each resource those whose types have a set amount."""

    def __init__(self) -> None:
        self.prices = 0
        self.amounts: dict[str, int] = {}

    def add(self, name: str, whole: int) -> None:
        self.amounts[name] = self.amounts.get(name, 0) | whole


def _first_conflict(
    overlay: NodeOverlay, ledgers: Sequence[_Ledger], selected: Sequence[Selection]
) -> OverlayVerdict | None:
    """With an accepted overlay of the same weight; None when there is none."""
    for ledger, selection in zip(ledgers, selected, strict=True):
        for rival, taken in ledger.rivals(overlay, selection):
            both = tuple(_both_set(overlay, selection, rival, taken, ledger.numbered))
            if both:
                return _conflict(overlay, rival, both, ledger.pool.name)
    return None


def _both_set(
    overlay: NodeOverlay, selection: Selection, rival: NodeOverlay, taken: Selection, numbered: NumberedOfferings
) -> Iterator[str]:
    """What both overlays set in a catalog, in words; that they set it to the same does not matter."""
    if overlay.price is not None and rival.price is not None:
        for _index, found, part in numbered.split(selection.mask & taken.mask):
            for number, offering in enumerate(found.offerings):
                if part >> number & 1:
                    yield f"the price of {found.name} ({offering.capacity_type}, {offering.zone})"
    names = sorted(overlay.capacity.keys() & rival.capacity.keys())
    if names:
        for _index, found, _part in numbered.split(selection.whole & taken.whole):
            yield from (f"{name} of {found.name}" for name in names)


def _conflict(overlay: NodeOverlay, rival: NodeOverlay, both: Sequence[str], pool: str) -> OverlayVerdict:
    rest = len(both) - _SHOWN
    shown = ", ".join(both[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
    weight = f"weight {overlay.weight}" if overlay.weight else "no weight"
    message = (
        f'conflict with another overlay: "{rival.name}", also of {weight}, sets {shown} (nodepool "{pool}") as well'
    )
    return OverlayVerdict(Validity.CONFLICT, message, rival.name)

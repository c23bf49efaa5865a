"""Gates: an index of subscriptions with areas, by their other conditions and the boxes of the areas.

Where many areas overlap, an event is matched against the gates first, and only the areas of the subscriptions found are
tested (`index.places.gated`). A gate is a subscription's program, relaxed. The box of an area replaces the condition on
the area, and TRUE replaces every other condition that is not known before places are. So an event that satisfies the
subscription satisfies its gate.

Cost: a second index of these subscriptions, built when the first event comes to a crowded place. A sample of events
shows whether it pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.forgetting import without_the_unused
from tocsin.columns.expressions.joining import subset
from tocsin.index.gates.programs import Uses, relaxed
from tocsin.index.once import Once
from tocsin.index.places import Gated, Indexed, Places
from tocsin.index.protocols import Matcher
from tocsin.index.registry import matcher_builder
from tocsin.model.readings import PART, PLACED, PLACED_OR_NOT

CROWDED: Final = 128
"""With more boxes around it, a place is crowded."""

_SAMPLED: Final = 32
"""The most events that show whether a gate pays."""

_WORTH: Final = 0.5
_FEWEST: Final = 16
"""A gate pays if it leaves at most half of the boxes around a place, and these are at least 16."""


class Gate:
    """The subscriptions of one source with conditions on the places of one attribute. Threads may share it.

    Without `expressions`, which are read on first use, all conditions are looked for by place.
    """

    def __init__(
        self, attribute: str, attributes: Sequence[str], expressions: Callable[[], CompiledExpressions] | None = None
    ) -> None:
        self._attribute, self._attributes = attribute, attributes
        self._expressions = expressions
        self._parted: Once[_Parted] = Once()
        self._seen: tuple[Sequence[str], NDArray[np.int64]] | None = None
        self._events = self._boxes = self._pairs = 0  # what samples have shown
        self._base: _Base | None = None

    @cached_property
    def names(self) -> list[str]:
        """(N,) the names of its conditions."""
        begins = tuple(self._attribute + PART + kind + PART for kind in (PLACED, PLACED_OR_NOT))
        return [name for name in self._attributes if name.startswith(begins)]

    @cached_property
    def is_possible(self) -> bool:
        """Whether it has conditions on the places, and others."""
        if self._expressions is None or not self.names:
            return False
        return len(self._attributes) - len(self.names) - (self._attribute in self._attributes) > 0

    def base(self, gates: Sequence[Gate], asked: Sequence[str], stop: int) -> _Base:
        """The gates of some segments, of which it is the first; kept once samples have shown which of them pay."""
        kept = self._base
        if kept is None or kept.asked is not asked or kept.gates != gates:
            is_known = all(one.is_known or not one.is_possible for one in gates)
            kept = _base_of(gates, asked, stop)
            self._base = kept if is_known else None
        return kept

    @property
    def grows(self) -> bool:
        """Whether it is of recent subscriptions, which have no gates yet."""
        return self._expressions is None

    def numbers(self, asked: Sequence[str]) -> NDArray[np.int64]:
        """(N,) the numbers of its conditions among those asked for. Cost: linear in the latter, once."""
        seen = self._seen
        if seen is None or seen[0] is not asked:
            number_of = {name: number for number, name in enumerate(asked)}
            seen = self._seen = asked, np.array([number_of[name] for name in self.names], np.int64)
        return seen[1]

    def parted(self, bounds: Callable[[], NDArray[np.float64]]) -> _Parted:
        """Its conditions that are gated, and their gates; `bounds` gives the (N, 4) boxes of all its conditions."""
        assert self._expressions is not None
        read = self._expressions
        return self._parted.get(lambda: _parted(read(), self._attribute, self.names, bounds()))

    @property
    def made(self) -> _Parted | None:
        """As `parted`, if it was made already."""
        return self._parted.made

    def note(self, events: int, boxes: int, pairs: int) -> None:
        """Count the boxes around a sample of crowded places, and those of them that the gates leave."""
        self._events, self._boxes, self._pairs = self._events + events, self._boxes + boxes, self._pairs + pairs

    @property
    def is_known(self) -> bool:
        """Whether samples have shown whether it pays."""
        return self._events >= _SAMPLED

    @property
    def pays(self) -> bool:
        """Whether the gates leave few of many boxes."""
        return self.is_known and self._pairs <= _WORTH * self._boxes and self._boxes >= _FEWEST * self._events


class _Parted(NamedTuple):
    """The conditions of a source. N conditions, G gates, E conditions in gates."""

    number_of: dict[str, int]
    is_gated: NDArray[np.bool_]  # (N,)
    bounds: NDArray[np.float64]  # (N, 4)
    matcher: Matcher  # of the gates
    starts: NDArray[np.int64]  # (G + 1,) the gated conditions of each gate
    conditions: NDArray[np.int64]  # (E,)

    def pairs(self, batch: EventBatch, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The events and gated conditions whose gate and box lead to them; some may occur twice.

        `points` are the places of the events.
        """
        found = self.matcher.match(batch)
        members, of_gates = gathered(self.starts, found.subscriptions)
        owners, conditions = found.events[of_gates], self.conditions[members]
        own, box = points[owners], self.bounds[conditions]
        inside = ((own >= box[:, :2]) & (own <= box[:, 2:])).all(axis=1)
        return owners[inside], conditions[inside]


def _parted(
    compiled: CompiledExpressions, attribute: str, names: Sequence[str], bounds: NDArray[np.float64]
) -> _Parted:
    number_of = {name: number for number, name in enumerate(names)}
    conditions = np.array([number_of.get(name, -1) for name in compiled.attributes], np.int64)
    uses = Uses.of(compiled, conditions)
    never_false = np.array([name.startswith(attribute + PART + PLACED + PART) for name in names], bool)
    is_gated = uses.may_be_gated(never_false & np.isfinite(bounds).all(axis=1))
    owners, own = uses.of_gated(is_gated)
    chosen, which = np.unique(owners, return_inverse=True)
    gates = relaxed(subset(compiled, chosen.astype(np.int32)), attribute, conditions, is_gated, bounds)
    matcher = matcher_builder("access", {}).build(without_the_unused(gates))
    starts = starts_of(np.bincount(which, minlength=len(chosen)), len(chosen))
    return _Parted(number_of, is_gated, bounds, matcher, starts, own)


_Used: TypeAlias = "tuple[_Parted, NDArray[np.int64]]"
"""Gates in use, with the numbers of their conditions among those asked for."""


class _Base(NamedTuple):
    """The gates of segments in use. C conditions asked for."""

    gates: Sequence[Gate]
    asked: Sequence[str]
    is_gated: NDArray[np.bool_]  # (C,) whether no segment needs it without a gate
    used: Sequence[_Used]

    def without(self, gates: Iterable[Gate]) -> _Base:
        """The same, except for conditions that recent subscriptions need, too."""
        names = [name for gate in gates for name in gate.names]
        found = [numbers[one.number_of[name]] for one, numbers in self.used for name in names if name in one.number_of]
        if not found:
            return self
        is_gated = self.is_gated.copy()
        is_gated[found] = False
        return self._replace(is_gated=is_gated)

    def pairs(
        self, batch: EventBatch, places: Places, crowded: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The crowded places and gated conditions that gates lead to, each pair once."""
        some, points = batch.only(places.events[crowded]), places.bounds[crowded, :2]
        found = [(owners, numbers[own]) for one, numbers in self.used for owners, own in (one.pairs(some, points),)]
        owners, conditions = (np.concatenate(columns) for columns in zip(*found, strict=True))
        keep = self.is_gated[conditions]
        keys = np.unique(owners[keep] * len(self.is_gated) + conditions[keep])
        owners, conditions = np.divmod(keys, len(self.is_gated))
        return crowded[owners], conditions


def _base_of(gates: Sequence[Gate], asked: Sequence[str], stop: int) -> _Base:
    """The gates that pay, and which of the conditions below `stop` no other subscription of the segments needs."""
    parted = [one.made if one.pays else None for one in gates]
    numbers = [one.numbers(asked) for one in gates]
    used = [(one, own) for one, own in zip(parted, numbers, strict=True) if one is not None]
    is_gated = np.zeros(stop, bool)
    for one, own in used:
        is_gated[own[one.is_gated]] = True
    for made, own in zip(parted, numbers, strict=True):
        is_gated[own if made is None else own[~made.is_gated]] = False
    return _Base(gates, asked, is_gated, used)


def _sample(
    gates: Sequence[Gate],
    batch: EventBatch,
    places: Places,
    crowded: NDArray[np.int64],
    asked: Sequence[str],
    blocks: Sequence[Indexed],
) -> None:
    """Count the boxes around a few crowded places, and those that gates leave, for gates that are not known to pay."""
    unknown = [one for one in gates if one.is_possible and not one.is_known]
    if not unknown:
        return
    around = [one.around(places.bounds[crowded, :2]) for one in blocks]
    counts = np.bincount(np.concatenate(around), minlength=blocks[-1].stop)
    events = batch.only(places.events[crowded])
    for gate in unknown:
        numbers = gate.numbers(asked)
        parted = gate.parted(partial(_bounds_of, blocks, numbers))
        boxes = int(counts[numbers[parted.is_gated]].sum())
        gate.note(len(crowded), boxes, len(parted.pairs(events, places.bounds[crowded, :2])[0]))


def _bounds_of(blocks: Sequence[Indexed], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """The boxes of some conditions."""
    found: NDArray[np.float64] = np.concatenate([one.bounds() for one in blocks])[numbers]
    return found


class Gates:
    """The gates of several sources at one moment; `gates_of` gives those of an attribute. Threads may share it."""

    def __init__(self, gates_of: Callable[[str], Sequence[Gate]]) -> None:
        self._gates_of = gates_of
        self._gates: dict[str, Sequence[Gate]] = {}
        self._bases: dict[str, tuple[_Base, _Base]] = {}  # of the segments, and without what recent subscriptions need

    def of(
        self, batch: EventBatch, places: Places, name: str, asked: Sequence[str], blocks: Sequence[Indexed]
    ) -> Gated | None:
        """What to test at crowded places. Cost: that of matching the gates; little if no place is crowded."""
        gates = self._gates.get(name) or self._gates.setdefault(name, self._gates_of(name))
        if batch.may_have_extents or not any(one.is_possible for one in gates):
            return None
        if sum(one.most for one in blocks) <= CROWDED:
            return None
        points = np.flatnonzero(places.are_points())
        around = sum((one.crowd(places.bounds[points, :2]) for one in blocks), np.zeros(len(points), np.int64))
        crowded = points[around > CROWDED]
        if not len(crowded):
            return None
        _sample(gates, batch, places, crowded[:_SAMPLED], asked, blocks)
        base = self._base(gates, name, asked, blocks[-1].stop)
        if not base.used:
            return None
        is_crowded = np.zeros(len(places.events), bool)
        is_crowded[crowded] = True
        return Gated(is_crowded, base.is_gated, *base.pairs(batch, places, crowded))

    def _base(self, gates: Sequence[Gate], name: str, asked: Sequence[str], stop: int) -> _Base:
        """The gates in use; conditions that are asked for later are of other subscriptions than these sources'."""
        segments = [one for one in gates if not one.grows]
        whole = segments[0].base(segments, asked, stop)
        kept = self._bases.get(name)
        if kept is None or kept[0] is not whole:
            kept = self._bases[name] = whole, whole.without(one for one in gates if one.grows)
        return kept[1]

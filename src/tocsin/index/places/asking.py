"""Evaluation of predicates on places: which of those asked for are TRUE of the events, and which FALSE.

A spatial predicate other than a box that is met becomes a boolean attribute of the event, like a condition on elements.
Subscriptions are compiled against it (`model.readings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.index.conditions import blocks_of, with_truths
from tocsin.index.places.boxes import ConditionBoxes
from tocsin.index.places.circles import Circles
from tocsin.index.places.forms import CIRCLES, SHAPES, Forms
from tocsin.index.places.gated import Gated, Gates
from tocsin.index.places.pairs import Pairs
from tocsin.index.places.places import Holding, Places
from tocsin.index.places.shapes import Shapes


def with_places(batch: EventBatch, wanted: Wanted, gates: Gates | None = None) -> EventBatch:
    """The batch with the truth of the conditions on its places. Cost: nothing if none are asked for.

    With `gates`, the truth of conditions that cannot make a subscription hold may be left out.
    """
    if not wanted.places:
        return batch
    for name in batch.present():
        if name in wanted.places:
            batch = _answered(batch, wanted, name, gates)
    return batch


def _answered(batch: EventBatch, wanted: Wanted, name: str, gates: Gates | None) -> EventBatch:
    asked = wanted.places[name]
    places = Places.of(batch, name)
    if not len(places.events):
        return batch
    key = f"places of {name}"
    blocks = blocks_of(wanted, key, asked, _Block)
    gated = None if gates is None else gates.of(batch, places, name, asked, blocks)
    found = [block.truths(batch, places, gated) for block in blocks]
    owners, conditions, truths = (np.concatenate([one[column] for one in found]) for column in range(3))
    batch = replace(batch, examined=batch.examined + sum(one.examined for one in found))
    return with_truths(batch, wanted, key, asked, places.events[owners], conditions, truths)


class Truths(NamedTuple):
    """Places and conditions that are TRUE or, if asked for, FALSE."""

    owners: NDArray[np.int64]
    conditions: NDArray[np.int64]
    truths: NDArray[np.bool_]
    examined: int  # as in `Holding`


class _Block:
    """Conditions on one attribute's places, from number `first` on, by what they are about. C conditions."""

    def __init__(self, names: Sequence[str], first: int) -> None:
        self.first, self.stop = first, first + len(names)
        forms = Forms.of(names)
        self._kinds: list[tuple[NDArray[np.int64], NDArray[np.int64], _Held]] = []
        for about in np.unique(forms.about).tolist():
            own = forms.about == about
            numbers = np.flatnonzero(own)
            held = _made(about, [names[number] for number in numbers.tolist()], forms.only(numbers))
            self._kinds.append((numbers, np.flatnonzero(own & forms.says_false), held))
        self._kind_of = np.empty(len(names), np.uint8)  # (C,)
        self._place = np.empty(len(names), np.int64)  # (C,) among those of its kind
        for kind, (numbers, *_) in enumerate(self._kinds):
            self._kind_of[numbers], self._place[numbers] = kind, np.arange(len(numbers))
        self._masks: tuple[NDArray[np.bool_], list[NDArray[np.bool_]]] | None = None

    def truths(self, batch: EventBatch, places: Places, gated: Gated | None) -> Truths:
        of_kinds = [None] * len(self._kinds) if gated is None else self._by_kind(gated)
        parts = [_truths_of(batch, places, own, *kind) for own, kind in zip(of_kinds, self._kinds, strict=True)]
        owners, own, truths = (np.concatenate([one[column] for one in parts]) for column in range(3))
        return Truths(owners, self.first + own, truths, sum(one.examined for one in parts))

    def _by_kind(self, gated: Gated) -> list[Gated]:
        """What is about the conditions of each kind, by their numbers there. Cost: linear in the pairs."""
        own = np.flatnonzero((gated.conditions >= self.first) & (gated.conditions < self.stop))
        places = gated.conditions[own] - self.first
        parts = [np.flatnonzero(self._kind_of[places] == kind) for kind in range(len(self._kinds))]
        masks = self._gated(gated.is_gated)
        return [
            Gated(gated.is_crowded, mask, gated.owners[own[part]], self._place[places[part]])
            for mask, part in zip(masks, parts, strict=True)
        ]

    def _gated(self, is_gated: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Which conditions of each kind are gated."""
        kept = self._masks
        if kept is None or kept[0] is not is_gated:
            own = np.zeros(self.stop - self.first, bool)
            given = is_gated[self.first : self.stop]
            own[: len(given)] = given
            kept = self._masks = is_gated, [own[numbers] for numbers, *_ in self._kinds]
        return kept[1]

    @property
    def most(self) -> int:
        """As `Indexed.most`."""
        return sum(held.boxes.most for *_, held in self._kinds if held.boxes is not None)

    def bounds(self) -> NDArray[np.float64]:
        """As `Indexed.bounds`."""
        found = np.full((self.stop - self.first, 4), np.nan)
        for numbers, _, held in self._kinds:
            if held.boxes is not None:
                found[numbers] = held.boxes.bounds()
        return found

    def crowd(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """As `Indexed.crowd`."""
        counts = [held.boxes.crowd(points) for *_, held in self._kinds if held.boxes is not None]
        found: NDArray[np.int64] = sum(counts, np.zeros(len(points), np.int64))
        return found

    def around(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """As `Indexed.around`."""
        kinds = [(numbers, held.boxes) for numbers, _, held in self._kinds if held.boxes is not None]
        found = [numbers[boxes.around(points)[1]] for numbers, boxes in kinds]
        return self.first + np.concatenate([np.empty(0, np.int64), *found])


class _Held(Protocol):
    """Conditions of one kind."""

    @property
    def boxes(self) -> ConditionBoxes | None: ...

    def holding(self, batch: EventBatch, places: Places, gated: Gated | None) -> Holding: ...


def _made(about: int, names: Sequence[str], forms: Forms) -> _Held:
    if about == SHAPES:
        return Shapes(names, forms)
    return Circles(names) if about == CIRCLES else Pairs(names)


def _truths_of(
    batch: EventBatch,
    places: Places,
    gated: Gated | None,
    numbers: NDArray[np.int64],
    says_false: NDArray[np.int64],
    held: _Held,
) -> Truths:
    """The truths of conditions of one kind, by number in their block."""
    owners, own, unknown, examined = held.holding(batch, places, gated)
    if not len(says_false):
        return Truths(owners, numbers[own], np.ones(len(owners), bool), examined)
    asked = np.searchsorted(numbers, says_false)
    is_false = np.repeat(~unknown, len(asked), axis=1) if unknown.shape[1] == 1 else ~unknown[:, asked]
    place = np.full(len(numbers), -1)
    place[asked] = np.arange(len(asked))
    told = place[own] >= 0
    is_false[owners[told], place[own[told]]] = False
    more = np.nonzero(is_false)
    return Truths(
        np.concatenate([owners, more[0]]),
        np.concatenate([numbers[own], says_false[more[1]]]),
        np.concatenate([np.ones(len(owners), bool), np.zeros(len(more[0]), bool)]),
        examined,
    )

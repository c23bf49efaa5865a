"""Evaluation of predicates on places: which of those asked for are TRUE of the events, and which FALSE.

A spatial predicate other than a box that is met becomes a boolean attribute of the event, like a condition on elements.
Subscriptions are compiled against it (`model.readings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.index.conditions import blocks_of, with_truths
from tocsin.index.places.circles import Circles
from tocsin.index.places.forms import CIRCLES, SHAPES, Forms
from tocsin.index.places.pairs import Pairs
from tocsin.index.places.places import Holding, Places
from tocsin.index.places.shapes import Shapes


def with_places(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the truth of the conditions on its places. Cost: nothing if none are asked for."""
    for name in wanted.places.copy():
        batch = _answered(batch, wanted, name)
    return batch


def _answered(batch: EventBatch, wanted: Wanted, name: str) -> EventBatch:
    asked = wanted.places[name]
    places = Places.of(batch, name)
    if not len(places.events):
        return batch
    key = f"places of {name}"
    found = [block.truths(batch, places) for block in blocks_of(wanted, key, asked, _Block)]
    owners, conditions, truths = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return with_truths(batch, wanted, key, asked, places.events[owners], conditions, truths)


Truths: TypeAlias = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.bool_]"]
"""Places and conditions that are TRUE or, if asked for, FALSE."""


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

    def truths(self, batch: EventBatch, places: Places) -> Truths:
        parts = [_truths_of(batch, places, *kind) for kind in self._kinds]
        owners, own, truths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return owners, self.first + own, truths


class _Held(Protocol):
    """Conditions of one kind."""

    def holding(self, batch: EventBatch, places: Places) -> Holding: ...


def _made(about: int, names: Sequence[str], forms: Forms) -> _Held:
    if about == SHAPES:
        return Shapes(names, forms)
    return Circles(names) if about == CIRCLES else Pairs(names)


def _truths_of(
    batch: EventBatch, places: Places, numbers: NDArray[np.int64], says_false: NDArray[np.int64], held: _Held
) -> Truths:
    """The truths of conditions of one kind, by number in their block."""
    owners, own, unknown = held.holding(batch, places)
    asked = np.searchsorted(numbers, says_false)
    is_false = np.repeat(~unknown, len(asked), axis=1) if unknown.shape[1] == 1 else ~unknown[:, asked]
    place = np.full(len(numbers), -1)
    place[asked] = np.arange(len(asked))
    told = place[own] >= 0
    is_false[owners[told], place[own[told]]] = False
    more = np.nonzero(is_false)
    return (
        np.concatenate([owners, more[0]]),
        np.concatenate([numbers[own], says_false[more[1]]]),
        np.concatenate([np.ones(len(owners), bool), np.zeros(len(more[0]), bool)]),
    )

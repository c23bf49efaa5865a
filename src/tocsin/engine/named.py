"""Which named parts of a subscription held for an event, and which elements of a list made them hold.

The parts of the subscriptions that matched are indexed like subscriptions, and asked about the same batch of events. So
the cost is that of a second match, of few subscriptions.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.decoding import values_of
from tocsin.engine.loading import read_part
from tocsin.index import Found, choose
from tocsin.language import evaluate, to_text
from tocsin.language.operators.named import NamedPart, parts_in
from tocsin.language.stored import stored_expression
from tocsin.model.elements import Elements, Values
from tocsin.model.expression import AnyElement, Expression, SomeValue, walk
from tocsin.model.readings import as_elements
from tocsin.segment import Snapshots, assemble

NAMED_TYPE: Final = pa.list_(pa.struct([("name", pa.string()), ("elements", pa.list_(pa.int64()))]))
"""For a match the names of the parts that held, and the places of elements in the list that a part is about."""


@lru_cache(1 << 14)
def _parts_of(text: str) -> tuple[NamedPart, ...]:
    if "NAMED" not in text.upper() and "_name" not in text:
        return ()
    return tuple(parts_in(stored_expression(text)))


class _Owned(NamedTuple):
    """A named part, and the place of its subscription."""

    owner: int
    part: NamedPart


class NamedParts:
    """The named parts of the subscriptions of some snapshots, as far as they were asked for."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._lock = threading.Lock()
        self._known: set[int] = set()
        self._parts: list[_Owned] = []
        self._index: Snapshots | None = None

    @classmethod
    def kept_with(cls, snapshots: Snapshots) -> NamedParts:
        """Those that are kept for some snapshots."""
        kept: NamedParts = snapshots.kept.setdefault(cls, cls(snapshots))
        return kept

    def column(self, batch: EventBatch, found: Found) -> pa.Array:
        """The parts that held, for each match."""
        places = found.subscriptions
        index, parts = self._of(np.unique(places))
        if index is None or not len(places):
            return pa.array([[]] * len(places), NAMED_TYPE)
        owners, which = np.unique(places, return_inverse=True)
        events = np.repeat(np.arange(len(batch)), np.diff(found.starts))
        matches = events * len(owners) + which
        rows, held = _rows_of(batch, index, parts, owners, matches)
        lists: list[list[dict[str, Any]]] = [[] for _ in range(len(places))]
        for row, number in zip(rows.tolist(), held.tolist(), strict=True):
            name, condition = parts[number].part
            elements = _elements_of(condition, batch, int(events[row]))
            if all(one["name"] != name for one in lists[row]):
                lists[row].append({"name": name, "elements": elements})
        return pa.array(lists, NAMED_TYPE)

    def _of(self, places: NDArray[np.int64]) -> tuple[Snapshots | None, Sequence[_Owned]]:
        """An index of the parts of all known subscriptions, to which these are added; and the parts by number."""
        with self._lock:
            new = [place for place in places.tolist() if place not in self._known]
            if new:
                self._known.update(new)
                texts = self._snapshots.texts_of(np.array(new, np.int64))
                added = [
                    _Owned(owner, part) for owner, text in zip(new, texts, strict=True) for part in _parts_of(text)
                ]
                if added:
                    self._parts = [*self._parts, *added]
                    self._index = _index_of(self._parts)
            return self._index, self._parts


def _index_of(parts: Sequence[_Owned]) -> Snapshots:
    records = [{"id": number, "where": to_text(one.part.condition)} for number, one in enumerate(parts)]
    part, _ = read_part(records)
    return Snapshots.of([assemble(part, choose())])


def _rows_of(
    batch: EventBatch,
    index: Snapshots,
    parts: Sequence[_Owned],
    owners: NDArray[np.int64],
    matches: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The matches and the parts that held for them, by match and then by part."""
    answer = index.find(batch)
    numbers = index.ids_of(answer.subscriptions).to_numpy(zero_copy_only=False)
    events = np.repeat(np.arange(len(batch)), np.diff(answer.starts))
    owner = np.array([one.owner for one in parts], np.int64)[numbers]
    which = np.searchsorted(owners, owner)
    there = which < len(owners)
    there[there] = owners[which[there]] == owner[there]
    asked = events[there] * len(owners) + which[there]
    order = np.argsort(matches)
    at = np.searchsorted(matches, asked, sorter=order)
    matched = at < len(matches)
    matched[matched] = matches[order[at[matched]]] == asked[matched]
    rows, held = order[at[matched]], numbers[there][matched]
    by_row = np.lexsort((held, rows))
    return rows[by_row], held[by_row]


def _elements_of(condition: Expression, batch: EventBatch, event: int) -> list[int]:
    """The places of the elements that satisfy a part's first ANY or SOME; none if it asks about no list."""
    asked = next((node for node in walk(condition) if isinstance(node, AnyElement | SomeValue)), None)
    if asked is None:
        return []
    elements = values_of(batch, event).get(as_elements(asked.items.name))
    return (
        [place for place, one in enumerate(elements) if _holds(asked.condition, one)]
        if isinstance(elements, Elements)
        else []
    )


def _holds(condition: Expression, values: Values | None) -> bool:
    return values is not None and evaluate(condition, values) is True


def named_of(snapshots: Snapshots, batch: EventBatch, found: Found) -> list[dict[str, list[int]]]:
    """The parts that held, for each match of a batch, by name."""
    column = NamedParts.kept_with(snapshots).column(batch, found)
    return [{part["name"]: part["elements"] for part in parts} for parts in column.to_pylist()]

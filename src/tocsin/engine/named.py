"""Which named parts of a subscription held for an event, and which elements of a list made them hold.

The parts of the subscriptions that matched are indexed like subscriptions, and asked about the same batch of events. So
the cost is that of a second match, of few subscriptions. A part alone may hold for most events, so each is indexed
together with its whole condition: `whole AND part`. With a ranking a match need not satisfy the whole condition, so
there the parts are indexed alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
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
from tocsin.language.operators.outer import inside
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
    """A named part, the place of its subscription, and the condition of that."""

    owner: int
    part: NamedPart
    whole: str  # as it is stored

    def record(self, number: int, *, within: bool) -> dict[str, Any]:
        """The part as a subscription, perhaps within the whole condition."""
        own = to_text(self.part.condition)
        return {"id": number, "where": f"({to_text(stored_expression(self.whole))}) AND ({own})" if within else own}


class _Block(NamedTuple):
    """Some parts, and an index of them."""

    parts: Sequence[_Owned]
    found_in: Snapshots

    @classmethod
    def of(cls, parts: Sequence[_Owned], *, within: bool) -> _Block:
        records = [one.record(number, within=within) for number, one in enumerate(parts)]
        part, rejects = read_part(records)
        if within and rejects:  # both together are too deep, or too long
            for reject in rejects:
                records[reject.row] = parts[reject.row].record(reject.row, within=False)
            part, _ = read_part(records)
        return cls(parts, Snapshots.of([assemble(part, choose())]))


_FEW: Final = 64
"""So many matches are evaluated one by one."""


class NamedParts:
    """The named parts of the subscriptions of some snapshots, as far as they were asked for.

    `within` says whether each part is indexed within its whole condition. The parts are in blocks. A block that is not
    larger than the next is joined with it, so that each part is indexed a few times, and there are a few blocks.
    """

    def __init__(self, snapshots: Snapshots, *, within: bool) -> None:
        self._snapshots, self._within = snapshots, within
        self._lock = threading.Lock()
        self._known: set[int] = set()
        self._blocks: list[_Block] = []

    @classmethod
    def kept_with(cls, snapshots: Snapshots, found: Found) -> NamedParts:
        """Those that are kept for some snapshots, and for answers of this kind."""
        within = found.scores is None
        kept: NamedParts = snapshots.kept.setdefault((cls, within), cls(snapshots, within=within))
        return kept

    def column(self, batch: EventBatch, found: Found) -> pa.Array:
        """The parts that held, for each match."""
        places = found.subscriptions
        events = np.repeat(np.arange(len(batch)), np.diff(found.starts))
        lists: list[list[dict[str, Any]]] = [[] for _ in range(len(places))]
        values = lru_cache(1)(lambda event: values_of(batch, event))  # matches come by event
        for row, part in self._held(batch, places, events):
            if all(one["name"] != part.name for one in lists[row]):
                asked = _list_of(part.condition)
                elements = [] if asked is None else _elements_of(asked, values(int(events[row])))
                lists[row].append({"name": part.name, "elements": elements})
        return pa.array(lists, NAMED_TYPE)

    def _held(
        self, batch: EventBatch, places: NDArray[np.int64], events: NDArray[np.int64]
    ) -> Iterator[tuple[int, NamedPart]]:
        """The matches and the parts that held for them, by match and then in the order of the condition."""
        if len(places) <= _FEW:
            for row, text in enumerate(self._snapshots.texts_of(places)):
                if parts := _parts_of(text):
                    values = values_of(batch, int(events[row]))
                    yield from ((row, part) for part in parts if evaluate(part.condition, values) is True)
            return
        owners, which = np.unique(places, return_inverse=True)
        matches = events * len(owners) + which
        for block in self._blocks_of(owners):
            rows, held = _rows_of(batch, block, owners, matches)
            yield from (
                (row, block.parts[number].part) for row, number in zip(rows.tolist(), held.tolist(), strict=True)
            )

    def _blocks_of(self, owners: NDArray[np.int64]) -> Sequence[_Block]:
        """Blocks with the parts of all known subscriptions, to which these are added."""
        with self._lock:
            new = [place for place in owners.tolist() if place not in self._known]
            self._known.update(new)
            texts = self._snapshots.texts_of(np.array(new, np.int64))
            owned = zip(new, texts, strict=True)
            parts = [_Owned(owner, part, text) for owner, text in owned for part in _parts_of(text)]
            if parts:
                blocks = list(self._blocks)
                while blocks and len(blocks[-1].parts) <= 2 * len(parts):
                    parts = [*blocks.pop().parts, *parts]
                self._blocks = [*blocks, _Block.of(parts, within=self._within)]
            return self._blocks


def _rows_of(
    batch: EventBatch, block: _Block, owners: NDArray[np.int64], matches: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The matches and the parts of a block that held for them, by match and then by part."""
    answer = block.found_in.find(batch)
    numbers = block.found_in.ids_of(answer.subscriptions).to_numpy(zero_copy_only=False)
    events = np.repeat(np.arange(len(batch)), np.diff(answer.starts))
    owner = np.array([one.owner for one in block.parts], np.int64)[numbers]
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


@lru_cache(1 << 12)
def _list_of(condition: Expression) -> AnyElement | SomeValue | None:
    """The first ANY or SOME of a part; None if it asks about no list."""
    return next((node for node in walk(condition) if isinstance(node, AnyElement | SomeValue)), None)


def _elements_of(asked: AnyElement | SomeValue, values: Values) -> list[int]:
    """The places of the elements that satisfy an ANY or a SOME."""
    elements = values.get(as_elements(asked.items.name))
    if not isinstance(elements, Elements):
        return []
    return [place for place, one in enumerate(elements) if _holds(asked.condition, values, one)]


def _holds(condition: Expression, values: Values, element: Values | None) -> bool:
    return element is not None and evaluate(condition, inside(condition, values, element)) is True


def named_of(snapshots: Snapshots, batch: EventBatch, found: Found) -> list[dict[str, list[int]]]:
    """The parts that held, for each match of a batch, by name."""
    column = NamedParts.kept_with(snapshots, found).column(batch, found)
    return [{part["name"]: part["elements"] for part in parts} for parts in column.to_pylist()]

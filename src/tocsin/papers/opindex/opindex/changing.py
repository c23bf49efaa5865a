"""Lists of an OpIndex that change in place: room for the kernels that insert and delete subscriptions.

Paper: Zhang, Chan, Tan 2014, section 4.3, Algorithm 1. Departs: the paper has no deletion (docs/papers/opindex.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.papers.opindex.opindex.kernels.building import Simples
from tocsin.papers.opindex.opindex.kernels.changing import (
    FIRST_ROOM,
    LISTS,
    NEEDS,
    PIVOTS,
    Form,
    Lists,
    Runs,
    delete_all,
    insert_all,
)
from tocsin.papers.opindex.opindex.kernels.layouts import WIDTH

_MOST_ROWS: Final = 2**31 - 1


class ChangingLists:
    """Lists that are empty at first. The caller says which subscriptions may be inserted or deleted. Not thread-safe.

    A failure to get memory leaves the lists whole, without the subscriptions that were to come.
    """

    def __init__(self, segments: int, signature_bits: int, counted: Simples, clauses: Simples) -> None:
        self._needed = np.zeros(NEEDS, np.int64)
        self.now = Lists(
            pivots=np.empty(0, np.int32),
            rows=np.empty(0, np.int32),
            signatures=np.empty(0, np.uint64),
            counts=np.zeros(2, np.int64),
            options=np.array([segments, signature_bits], np.int64),
            runs=_no_runs(),
            keys=np.empty(0, np.int64),
            pointers=np.empty(0, np.uint32),
            marks=np.empty(0, np.int32),
            counted=_no_counters(counted, np.int32),
            clauses=_no_counters(clauses, np.uint64),
        )

    def provide(self, fields: int, rows: Sequence[tuple[Simples, NDArray[np.int64]]]) -> None:
        """Let subscriptions be inserted: the rows of each form, of which earlier ones stay, and the first of each."""
        lists = self.now
        forms = [
            form._replace(simples=simples, firsts=firsts, places=_grown(form.places, len(simples.owners)))
            for form, (simples, firsts) in zip((lists.counted, lists.clauses), rows, strict=True)
        ]
        self.now = lists._replace(pivots=_grown(lists.pivots, fields, -1), counted=forms[0], clauses=forms[1])

    def insert(self, numbers: NDArray[np.int64], first: int = 0) -> int:
        """Insert subscriptions from numbers[first] on, as long as there is room; returns how many are done."""
        return int(insert_all(self.now, numbers, first, self._needed))

    def make_room(self) -> None:
        """Make the room that the next subscription needs, after `insert` stopped before it."""
        lists, needed = self.now, self._needed
        pivots, count = (lists.counts + needed[[PIVOTS, LISTS]]).tolist()
        segments = int(lists.options[0]) * count
        entries, counted, clauses = needed[LISTS + 1 :].tolist()
        rows = int(lists.runs.used[0]) + entries
        self.now = lists._replace(
            rows=_grown(lists.rows, WIDTH * pivots, -1),
            signatures=_grown(lists.signatures, segments),
            runs=_with_runs(lists.runs, segments),
            keys=_grown(lists.keys, rows),
            pointers=_grown(lists.pointers, rows),
            marks=_grown(lists.marks, segments),
            counted=_with_counters(lists.counted, pivots, counted),
            clauses=_with_counters(lists.clauses, pivots, clauses),
        )

    def delete(self, numbers: NDArray[np.int64]) -> None:
        """Delete inserted subscriptions. It needs no memory."""
        delete_all(self.now, numbers)

    def part_from_readers(self) -> None:
        """Copy what changes in place, so that readers of the lists so far may go on."""
        lists = self.now
        forms = [
            form._replace(
                runs=_copied(form.runs),
                needed=form.needed.copy(),
                owners=form.owners.copy(),
            )
            for form in (lists.counted, lists.clauses)
        ]
        self.now = lists._replace(
            pivots=lists.pivots.copy(),
            rows=lists.rows.copy(),
            signatures=lists.signatures.copy(),
            runs=_copied(lists.runs),
            keys=lists.keys.copy(),
            pointers=lists.pointers.copy(),
            counted=forms[0],
            clauses=forms[1],
        )


def _no_runs() -> Runs:
    return Runs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(1, np.int64))


def _no_counters(simples: Simples, kind: type) -> Form:
    """A form of which no subscription is inserted."""
    return Form(
        simples=simples,
        firsts=np.zeros(1, np.int64),
        places=np.zeros(0, np.int32),
        runs=_no_runs(),
        needed=np.empty(0, kind),
        owners=np.empty(0, np.int32),
        numbers=np.empty(0, np.int32),
        marks=np.empty(0, np.int32),
    )


def _copied(runs: Runs) -> Runs:
    return Runs(runs.starts.copy(), runs.stops.copy(), runs.rooms.copy(), runs.used.copy())


def _with_runs(runs: Runs, count: int) -> Runs:
    """Room for so many runs."""
    return Runs(_grown(runs.starts, count), _grown(runs.stops, count), _grown(runs.rooms, count), runs.used)


def _with_counters(form: Form, pivots: int, more: int) -> Form:
    """Room for the counters of so many pivots, and for more of them."""
    rows = int(form.runs.used[0]) + more
    return form._replace(
        runs=_with_runs(form.runs, pivots),
        needed=_grown(form.needed, rows),
        owners=_grown(form.owners, rows),
        numbers=_grown(form.numbers, rows),
        marks=_grown(form.marks, pivots),
    )


def _grown(array: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    """A longer copy of an array, at least twice as long, if it is shorter than a size."""
    if size <= len(array):
        return array
    if size > _MOST_ROWS:
        raise MemoryError(f"lists that change in place have at most {_MOST_ROWS:,} entries")
    larger = np.full(min(max(size, 2 * len(array), FIRST_ROOM), _MOST_ROWS), fill, array.dtype)
    larger[: len(array)] = array
    return larger

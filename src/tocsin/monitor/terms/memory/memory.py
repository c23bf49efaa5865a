"""A memory of terms: it grows between calls of its kernels, and gives rows with the values of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.tables import new_table
from tocsin.monitor.terms.memory.kernels.cells import attend, put_in, take_out
from tocsin.monitor.terms.memory.kernels.passing import follow, forget, pass_object, pass_time
from tocsin.monitor.terms.memory.kernels.queueing import enter_all, queue_all, repack
from tocsin.monitor.terms.memory.layouts import (
    CELLS,
    DONE,
    ENDLESS,
    FREE,
    LIVING,
    MORE_CELLS,
    MORE_OUTPUT,
    MORE_WAITING,
    MORE_WORDS,
    NEEDED,
    NOBODY,
    WAITING,
    WIDTHS,
    Cells,
    Memory,
    Output,
    Terms,
    Visits,
)

_ROWS: Final = 4096
_VALUES: Final = 1 << 18
_OF_CELLS: Final = tuple(Memory._fields[: Memory._fields.index("slots")])
"""The arrays with an entry for each cell."""
_FEWEST_ROWS: Final = 16
_FEWEST_VALUES: Final = 512


class Rows(NamedTuple):
    """Visits, and instants at which time alone changed what matters, in order. R rows with N values."""

    objects: NDArray[np.int32]  # (R,)
    instants: NDArray[np.int64]  # (R,)
    visits: NDArray[np.int64]  # (R,) -1 if time made the row
    latest: NDArray[np.int64]  # (R,) the number of the object's latest event then
    falls: NDArray[np.bool_]  # (R,) whether nothing can have become TRUE, because only counts fell
    starts: NDArray[np.int64]  # (R + 1,)
    terms: NDArray[np.int32]  # (N,)
    types: NDArray[np.uint8]  # (N,)
    payloads: NDArray[np.int64]  # (N,)


class TermMemory:
    """What each term has seen of each object. Not thread-safe; the caller holds a lock.

    An error in the middle of a call leaves a memory of which only a part of the visits is known: see `is_whole`.
    """

    def __init__(self) -> None:
        self._terms = new_table(Terms, terms=0, steps=0)
        self._memory = _new_memory(cells=64, slots=128, words=256, objects=64, waiting=64)
        self.objects = 0
        self.is_whole = True

    def set_terms(self, terms: Terms) -> None:
        """Replace the terms: those that were known keep their numbers."""
        self._terms = terms

    @property
    def terms(self) -> int:
        """How many terms there are."""
        return len(self._terms.kinds)

    def have_objects(self, count: int) -> None:
        """Have room for the objects below a number."""
        memory = self._memory
        if count > len(memory.root):
            length = max(2 * len(memory.root), count)
            self._memory = memory._replace(
                first_active=_longer(memory.first_active, length, NOBODY),
                active_count=_longer(memory.active_count, length, 0),
                root=_longer(memory.root, length, NOBODY),
                latest=_longer(memory.latest, length, NOBODY),
                queued=_longer(memory.queued, length, ENDLESS),
            )
        self.objects = max(self.objects, count)

    def follow(self, visits: Visits, *, shares_clock: bool = False) -> Iterator[Rows]:
        """Process visits; yields the rows part by part. The caller takes all of them.

        Time passes for the object of a visit up to its instant or, with a shared clock, for all objects.
        """
        output, done, count = _output(len(visits.objects)), 0, len(visits.objects)
        self.is_whole = False
        while done < count:
            done, why = follow(self._terms, self._memory, visits, output, done, count, int(shares_clock))
            if why == MORE_OUTPUT or done == count:
                yield _rows(output)
            output = self._make_room(why, output)
        self.is_whole = True

    def pass_time(self, until: int, object: int | None = None) -> Iterator[Rows]:
        """Let time pass up to an instant, in microseconds, for all objects or one; yields the rows part by part."""
        output, why = _output(0), MORE_OUTPUT
        self.is_whole = False
        while why != DONE:
            if object is None:
                why = pass_time(self._terms, self._memory, output, until)
            else:
                why = pass_object(self._terms, self._memory, output, object, until)
            if why in (MORE_OUTPUT, DONE):
                yield _rows(output)
            output = self._make_room(why, output)
        self.is_whole = True

    def forget(self, object: int) -> None:
        """Forget all that is known of an object."""
        if object < self.objects:
            forget(self._memory, object)
            self._memory.latest[object] = NOBODY

    def remembers(self, objects: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether any term has a value of each object."""
        known: NDArray[np.bool_] = (self._memory.root[objects] != NOBODY) | (
            self._memory.first_active[objects] != NOBODY
        )
        return known

    def most_of(self, term: int | None) -> int:
        """How many entries of a term are kept."""
        return int(self._terms.most[term]) if term is not None and term < self.terms else 1

    def cells(self) -> Cells:
        """All that was seen of all objects. Cost: linear in the words."""
        memory, used = self._memory, int(self._memory.ends[CELLS])
        widths = np.array(WIDTHS)[self._terms.kinds[memory.terms[:used]]]
        words = int((widths * memory.counts[:used]).sum())
        found = new_table(Cells, cells=int(memory.ends[LIVING]), words=words)
        take_out(self._terms, memory, found)
        return found

    def restore(self, cells: Cells, objects: int) -> None:
        """Make these cells of so many objects all that was seen; they must be sound: see `saved_cells`.

        The caller then says until when time has passed: see `attend`.
        """
        count, slots = len(cells.owners), 128
        while 2 * slots < 3 * count:
            slots *= 2
        words = np.concatenate([cells.words, np.zeros(len(cells.words) // 4 + 256, np.int64)])
        memory = _new_memory(cells=count + 64, slots=slots, words=0, objects=objects + 64, waiting=64)
        self._memory, self.objects = memory._replace(words=words), objects
        put_in(self._terms, self._memory, cells)

    def attend(self, instants: NDArray[np.int64], can_wait: NDArray[np.bool_]) -> None:
        """Take over what terms are compared with now. Cost: linear in the cells.

        Time has passed for each object until its entry of `instants`. `can_wait` says which ones time alone may change.
        """
        attend(self._terms, self._memory, instants, can_wait)
        self._more_waiting()

    def cells_of(self, object: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """The terms of an object, each with its entries, the oldest first: (entries, words)."""
        memory = self._memory
        used = slice(0, int(memory.ends[CELLS]))
        for cell in np.flatnonzero((memory.objects[used] == object) & (memory.counts[used] > 0)).tolist():
            term = int(memory.terms[cell])
            width, capacity = WIDTHS[self._terms.kinds[term]], int(memory.capacities[cell])
            places = (int(memory.heads[cell]) + np.arange(int(memory.counts[cell]))) % capacity
            start = int(memory.starts[cell])
            yield term, memory.words[start : start + width * capacity].reshape(capacity, width)[places]

    def sizes(self) -> dict[str, int]:
        """The bytes of its tables, and how many values live."""
        memory = self._memory
        return {"bytes": sum(array.nbytes for array in memory), "values": int(memory.ends[LIVING])}

    def next_due(self) -> int | None:
        """A lower bound of the next instant at which time alone may change something; None if there is none."""
        return int(self._memory.queue_instants[0]) if self._memory.ends[WAITING] else None

    def _make_room(self, why: int, output: Output) -> Output:
        """Make the room that a kernel asked for: new tables first, which then replace the old ones."""
        grow: dict[int, Callable[[], None]] = {
            MORE_CELLS: self._more_cells,
            MORE_WORDS: self._more_words,
            MORE_WAITING: self._more_waiting,
        }
        if why in grow:
            grow[why]()
            return output
        if why == MORE_OUTPUT:
            is_full = int(output.used[0]) == 0  # one object has more values than there is room for
            values = 4 * len(output.terms) if is_full else len(output.terms)
            return _output_of(max(len(output.objects), _ROWS), max(values, _VALUES))
        return output

    def _more_cells(self) -> None:
        """Room for a quarter more cells, or a larger table of hashes, whichever is full."""
        memory = self._memory
        needed, length, slots = int(memory.ends[NEEDED]), len(memory.terms), len(memory.slots)
        if int(memory.ends[CELLS]) + needed > length:
            length += length // 4 + needed
        while 2 * slots < 3 * (int(memory.ends[LIVING]) + needed):
            slots *= 2
        grown = {name: _longer(getattr(memory, name), length, 0) for name in _OF_CELLS}
        larger = memory._replace(**grown, slots=np.full(slots, NOBODY, np.int32))
        enter_all(larger)
        self._memory = larger

    def _more_words(self) -> None:
        """A new pool for all rings without gaps, with room for a quarter more, and for what is needed."""
        memory, used = self._memory, int(self._memory.ends[CELLS])
        living = memory.counts[:used] > 0
        widths = np.array(WIDTHS)[self._terms.kinds[memory.terms[:used]]]
        most = int((widths * memory.capacities[:used])[living].sum())
        words = most + most // 4 + int(memory.ends[NEEDED]) + 256
        packed = memory._replace(words=np.zeros(words, np.int64), starts=memory.starts.copy(), ends=memory.ends.copy())
        repack(self._terms, memory, packed)
        self._memory = packed

    def _more_waiting(self) -> None:
        """The queue anew, with one entry for each object that is due."""
        memory = self._memory
        waiting = int((memory.root[: self.objects] != NOBODY).sum())
        length = max(len(memory.queue_instants), 2 * waiting + 64)
        anew = memory._replace(
            queue_instants=np.zeros(length, np.int64),
            queue_objects=np.zeros(length, np.int32),
            queued=memory.queued.copy(),
            ends=memory.ends.copy(),
        )
        anew.ends[WAITING] = 0
        queue_all(anew, self.objects)
        self._memory = anew


def _new_memory(**lengths: int) -> Memory:
    memory = new_table(Memory, **lengths)
    memory.ends[FREE] = NOBODY
    return memory


def _longer(array: NDArray[Any], length: int, filled: Any) -> NDArray[Any]:
    grown = np.full(length, filled, array.dtype)
    grown[: len(array)] = array
    return grown


def _output(visits: int) -> Output:
    rows = min(max(visits + visits // 4, _FEWEST_ROWS), _ROWS)
    return _output_of(rows, _FEWEST_VALUES if rows == _FEWEST_ROWS else _VALUES)


def _output_of(rows: int, values: int) -> Output:
    return new_table(Output, rows=rows, values=values)


def _rows(output: Output) -> Rows:
    """The rows of an output, which is not used again."""
    rows = int(output.used[0])
    values = int(output.starts[rows])
    return Rows(
        output.objects[:rows],
        output.instants[:rows],
        output.visits[:rows],
        output.latest[:rows],
        output.falls[:rows],
        output.starts[: rows + 1],
        output.terms[:values],
        output.types[:values],
        output.payloads[:values],
    )

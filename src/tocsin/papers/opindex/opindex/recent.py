"""An OpIndex of an engine's recent subscriptions, which changes in place.

A subscription is inserted by Algorithm 1 when a match first needs it, and deleted when a match finds it removed.
Operands have labels instead of rank codes, because any operand may come later. The lists are made anew if there is no
label for an operand, if most operands are new, or if a change was interrupted.

Lists change only while nobody reads them. Otherwise their arrays are copied first.

Cost: O(gamma log(eta)) comparisons for a subscription of gamma predicates (Lemma 5), plus moving a part of a segment
for each, plus some microseconds a predicate to read it.

Paper: Zhang, Chan, Tan 2014, section 4.3, Algorithm 1. Departs: docs/papers/opindex.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.pools import Pools
from tocsin.errors import UnsuitableIndex
from tocsin.index.alive import living
from tocsin.index.fields.kernels.key_tables import named_attributes
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.papers.opindex.opindex.changing import ChangingLists
from tocsin.papers.opindex.opindex.growing import GrowingFields
from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, check_options
from tocsin.papers.opindex.opindex.kernels.building import Simples
from tocsin.papers.opindex.opindex.kernels.changing import Form
from tocsin.papers.opindex.opindex.kernels.layouts import Counters, Directory, Entries, OpLists
from tocsin.papers.opindex.opindex.labels import NoLabel
from tocsin.papers.opindex.opindex.matching import Matching
from tocsin.papers.opindex.opindex.rewriting import Rewriter

_MANY: Final = 256
"""Up to this many new predicates are read one by one, even if they are most of all."""


class RecentOpIndex:
    """The lists of the live expressions in some pools. One thread at a time changes it."""

    def __init__(
        self, statistics: Statistics | None = None, segments: int = SEGMENTS, signature_bits: int = SIGNATURE_BITS
    ) -> None:
        check_options(segments, signature_bits)
        self._statistics = statistics
        self._options = segments, signature_bits
        self._lists: _RecentLists | None = None
        self._is_refused = False

    def matching(
        self, compiled: CompiledExpressions, pools: Pools, alive: NDArray[np.uint64], *, is_read: bool
    ) -> Matching | None:
        """How to match the live expressions; None if an OpIndex cannot hold one of them.

        `is_read` says that an earlier result may be in use.
        """
        if self._is_refused:
            return None
        lists, self._lists = self._lists, None  # after an interrupted change the lists are made anew
        try:
            if lists is None or len(pools.leaves.items) > 2 * lists.leaves + _MANY:
                lists = self._new_lists(pools)
            try:
                lists.keep_up(compiled, pools, alive, is_read)
            except NoLabel:
                lists = self._new_lists(pools)
                lists.keep_up(compiled, pools, alive, is_read)
        except UnsuitableIndex:
            self._is_refused = True
            return None
        self._lists = lists
        return lists.matching

    def _new_lists(self, pools: Pools) -> _RecentLists:
        return _RecentLists(pools, self._statistics, *self._options)


class _RecentLists:
    """Lists that change in place, with all that is read to insert into them. `matching` is of the last `keep_up`."""

    def __init__(self, pools: Pools, statistics: Statistics | None, segments: int, signature_bits: int) -> None:
        self.matching: Matching | None = None
        self._statistics = statistics
        self._options = segments, signature_bits
        self._fields = GrowingFields(pools)
        self._forms = _Rows(), _Rows()
        self._lists = ChangingLists(segments, signature_bits, *(rows.simples() for rows in self._forms))
        self._count = 0  # expressions read so far
        self._named = np.zeros(0, np.int64)  # by attribute: how many of their predicates name it
        self._known = np.zeros(0, np.float64)  # by attribute: its share, if there are statistics
        self._present = np.zeros(1, np.uint64)  # a bit for each expression that is in the lists

    @property
    def leaves(self) -> int:
        """The number of predicates read so far."""
        return self._fields.leaves

    def keep_up(self, compiled: CompiledExpressions, pools: Pools, alive: NDArray[np.uint64], is_read: bool) -> None:
        """Insert the expressions that are new, and delete those that are no longer alive."""
        gone = self._present & ~alive[: len(self._present)]
        count = len(compiled)
        if self.matching is not None and count == self._count and not gone.any():
            return
        if is_read:
            self._lists.part_from_readers()
        self._lists.delete(living(gone, self._count))
        self._present &= ~gone
        if count > self._count:
            self._fields.read(pools)
            self._read_rows(compiled, pools)
            self._insert(living(alive, count))
            self._count = count
        self.matching = self._frozen(compiled, len(pools.attributes.items))

    def _read_rows(self, compiled: CompiledExpressions, pools: Pools) -> None:
        """Rewrite the new expressions as rows of both forms."""
        starts, attributes = compiled.arrays.program_starts, pools.attributes.items
        program = compiled.arrays.program[starts[self._count] : starts[-1]]
        programs = frozen(starts[self._count :] - starts[self._count], np.int64)
        part = replace(compiled, arrays=compiled.arrays._replace(program_starts=programs, program=program))
        shares = self._shares(part, attributes)[self._fields.attributes()]
        rewritten = Rewriter(part, self._fields.keys(), self._fields.prefix_numbers(), shares).rewritten()
        for rows, simples in zip(self._forms, rewritten, strict=True):
            rows.extend(simples, self._count, len(part))
        self._lists.provide(len(self._fields), [rows.of_subscriptions() for rows in self._forms])

    def _shares(self, part: CompiledExpressions, attributes: list[str]) -> NDArray[np.float64]:
        """(A,) the share of events with each attribute, after some more expressions."""
        if self._statistics is not None:
            new = attributes[len(self._known) :]
            self._known = np.append(self._known, attribute_shares(new, self._named, self._statistics))
            return self._known
        named = named_attributes(part.arrays, len(attributes))
        named[: len(self._named)] += self._named
        self._named = named
        return attribute_shares(attributes, named, None)

    def _insert(self, alive: NDArray[np.int64]) -> None:
        """Insert the live ones among the new expressions."""
        numbers, done = alive[alive >= self._count], 0
        while (done := self._lists.insert(numbers, done)) < len(numbers):
            self._lists.make_room()
        present = np.zeros(int(alive.max(initial=0)) // 64 + 1, np.uint64)
        present[: len(self._present)] = self._present
        np.bitwise_or.at(present, numbers >> 6, np.uint64(1) << (numbers & 63).astype(np.uint64))
        self._present = present

    def _frozen(self, compiled: CompiledExpressions, attributes: int) -> Matching:
        """How to match with the lists as they are."""
        fields, prefixes, coding = self._fields.tables(attributes)
        now = self._lists.now
        starts, stops = frozen(now.runs.starts, np.int32), frozen(now.runs.stops, np.int32)
        pivots, rows, signatures = (frozen(array, array.dtype) for array in (now.pivots, now.rows, now.signatures))
        entries = Entries(frozen(now.keys, np.int64), frozen(now.pointers, np.uint32))
        lists = OpLists(
            fields,
            prefixes,
            Directory(pivots, rows, starts, stops, signatures),
            entries,
            _counters(now.counted),
            _counters(now.clauses),
        )
        return Matching(compiled, lists, *self._options, coding)


def _counters(form: Form) -> Counters:
    starts, stops = frozen(form.runs.starts, np.int32), frozen(form.runs.stops, np.int32)
    return Counters(starts, stops, frozen(form.needed, form.needed.dtype), frozen(form.owners, np.int32))


class _Rows:
    """The rows of a form, as `Simples`, which grow."""

    def __init__(self) -> None:
        kinds = (np.int32, np.int32, np.uint64, np.int64, np.uint8, np.int64, np.uint8)
        self._columns = {name: Growing[Any](kind) for name, kind in zip(Simples._fields, kinds, strict=True)}
        self._columns["starts"].append(0)
        self._firsts: Growing[np.int64] = Growing(np.int64)
        self._firsts.append(0)

    def extend(self, simples: Simples, before: int, count: int) -> None:
        """Append the rows of `count` expressions; there are `before` others."""
        rows, entries = len(self._columns["owners"]), len(self._columns["keys"])
        moved = simples._replace(owners=simples.owners + before, starts=simples.starts[1:] + entries)
        for name, values in moved._asdict().items():
            self._columns[name].extend(values)
        self._firsts.extend(rows + np.searchsorted(simples.owners, np.arange(1, count + 1)))

    def simples(self) -> Simples:
        """The rows so far."""
        return Simples(**{name: column.view() for name, column in self._columns.items()})

    def of_subscriptions(self) -> tuple[Simples, NDArray[np.int64]]:
        """The rows so far, and the first of each expression."""
        return self.simples(), self._firsts.view()

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
from tocsin.index.fields.kernels.key_tables import named_attributes
from tocsin.index.recent import InPlace
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.papers.opindex.opindex.changing import ChangingLists
from tocsin.papers.opindex.opindex.growing import GrowingFields
from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, check_options
from tocsin.papers.opindex.opindex.kernels.building import Simples
from tocsin.papers.opindex.opindex.kernels.changing import Form
from tocsin.papers.opindex.opindex.kernels.layouts import Counters, Directory, Entries, OpLists
from tocsin.papers.opindex.opindex.matching import Matching
from tocsin.papers.opindex.opindex.rewriting import Rewriter

_MANY: Final = 256
"""Up to this many new predicates are read one by one, even if they are most of all."""


def recent_opindex(
    statistics: Statistics | None = None, segments: int = SEGMENTS, signature_bits: int = SIGNATURE_BITS
) -> InPlace:
    """The lists of an engine's recent subscriptions, empty at first."""
    check_options(segments, signature_bits)
    return InPlace(lambda pools: _RecentLists(pools, statistics, segments, signature_bits))


class _RecentLists:
    """A `Changing`: lists that change in place, with all that is read to insert into them."""

    def __init__(self, pools: Pools, statistics: Statistics | None, segments: int, signature_bits: int) -> None:
        self._statistics = statistics
        self._options = segments, signature_bits
        self._fields = GrowingFields(pools)
        self._forms = _Rows(), _Rows()
        self._lists = ChangingLists(segments, signature_bits, *(rows.simples() for rows in self._forms))
        self._named = np.zeros(0, np.int64)  # by attribute: how many of their predicates name it
        self._known = np.zeros(0, np.float64)  # by attribute: its share, if there are statistics

    def is_outgrown(self, pools: Pools) -> bool:
        """Whether most predicates are new."""
        return len(pools.leaves.items) > 2 * self._fields.leaves + _MANY

    def part_from_readers(self) -> None:
        """Copy the lists."""
        self._lists.part_from_readers()

    def delete(self, numbers: NDArray[np.int64]) -> None:
        """Delete inserted expressions."""
        self._lists.delete(numbers)

    def read(self, compiled: CompiledExpressions, pools: Pools, first: int) -> None:
        """Read the predicates and rows of expressions. Raises `UnsuitableIndex`, or `NoLabel`."""
        self._fields.read(pools)
        self._read_rows(compiled, pools, first)

    def _read_rows(self, compiled: CompiledExpressions, pools: Pools, first: int) -> None:
        """Rewrite the new expressions as rows of both forms."""
        starts, attributes = compiled.arrays.program_starts, pools.attributes.items
        program = compiled.arrays.program[starts[first] : starts[-1]]
        programs = frozen(starts[first:] - starts[first], np.int64)
        part = replace(compiled, arrays=compiled.arrays._replace(program_starts=programs, program=program))
        shares = self._shares(part, attributes)[self._fields.attributes()]
        rewritten = Rewriter(part, self._fields.keys(), self._fields.prefix_numbers(), shares).rewritten()
        for rows, simples in zip(self._forms, rewritten, strict=True):
            rows.extend(simples, first, len(part))
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

    def insert(self, numbers: NDArray[np.int64]) -> None:
        """Insert expressions that were read."""
        done = 0
        while (done := self._lists.insert(numbers, done)) < len(numbers):
            self._lists.make_room()

    def matching(self, compiled: CompiledExpressions, pools: Pools) -> Matching:
        """How to match with the lists as they are."""
        fields, prefixes, coding = self._fields.tables(len(pools.attributes.items))
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

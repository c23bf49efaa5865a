"""Which expressions does this event satisfy? OpIndex: lists by pivot attribute and operator, and counters.

Every subscription lies under its *pivot*, the attribute it asks about that fewest events have. Of an event, only the
lists of pivots that it has are searched: one list an operator, sorted by attribute and operand, cut into segments by
attribute, with a signature each that tells most searches that there is nothing. What matches is counted.

Cost: O(m^2 log(eta) (1 - (1 - 1/w)^eta) + psi) for an event of m attributes (`cost` has the symbols), plus sorting what
is found; 12 bytes a predicate, and 12 a segment of each list. `candidates_examined` counts the subscriptions
under the event's pivots, a clause of several as one of its own (what Lemma 2 makes least); `verified` those of them of
which any predicate was found to hold.

Source: Zhang, Chan, Tan: An Efficient Publish/Subscribe Index for E-Commerce Databases, PVLDB 7(8), 2014, sections 4 to
6. Departs: docs/papers/opindex.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.sizes import expression_sizes
from tocsin.columns.expressions.stored import restored, stored
from tocsin.errors import InvalidInput
from tocsin.index.alive import everyone
from tocsin.index.boolean.opindex.building import build_lists
from tocsin.index.boolean.opindex.checks import check_lists
from tocsin.index.boolean.opindex.kernels.layouts import OpLists
from tocsin.index.boolean.opindex.layout import lists_from, named_arrays, options_from
from tocsin.index.boolean.opindex.matching import Matching
from tocsin.index.boolean.opindex.rewriting import rewrite
from tocsin.index.protocols import ALL_THEN_RANKED, Alive, Arrays, Best, Found
from tocsin.index.statistics import Statistics

SEGMENTS = 32
SIGNATURE_BITS = 64
MOST_SEGMENTS = 1024
"""As in section 7.1: a list has 32 segments, each with a signature of a machine word."""


class OpIndex:
    """The Matcher over pivots and counters. It keeps the expressions, too: patterns are tested by them."""

    def __init__(self, compiled: CompiledExpressions, lists: OpLists, segments: int, signature_bits: int) -> None:
        self._compiled = compiled
        self._lists = lists
        self._options = segments, signature_bits
        self._everyone = everyone(len(compiled))
        self._matching = Matching(compiled, lists.prefixes, segments, signature_bits)
        self._binder = Binder(compiled)

    @classmethod
    def build(
        cls,
        compiled: CompiledExpressions,
        statistics: Statistics | None = None,
        segments: int = SEGMENTS,
        signature_bits: int = SIGNATURE_BITS,
    ) -> OpIndex:
        """Raises `UnsuitableIndex` for an expression that it cannot hold, `InvalidInput` for an option out of range."""
        check_options(segments, signature_bits)
        lists = build_lists(rewrite(compiled, statistics), segments, signature_bits)
        return cls(compiled, lists, segments, signature_bits)

    @classmethod
    def load(cls, arrays: Arrays) -> OpIndex:
        compiled = restored(arrays)
        segments, signature_bits = options_from(arrays)
        check_options(segments, signature_bits)
        lists = lists_from(arrays)
        check_lists(lists, compiled, segments, signature_bits)
        return cls(compiled, lists, segments, signature_bits)

    @property
    def attributes(self) -> Sequence[str]:
        return self._compiled.attributes

    @property
    def lists(self) -> OpLists:
        """Its predicate lists, directories and counters; read-only."""
        return self._lists

    def __len__(self) -> int:
        return len(self._compiled)

    def arrays(self) -> Arrays:
        return stored(self._compiled) | named_arrays(self._lists, *self._options)

    def sizes(self) -> dict[str, int]:
        """Operands and prefixes count as dictionaries, like the strings that they stand for."""
        sizes = expression_sizes(self._compiled)
        directory, entries, counters = self._lists[2:]
        both = directory.starts.nbytes + counters.starts.nbytes + counters.bitmap_starts.nbytes  # stops are the starts
        lists = sum(array.nbytes for table in (directory, entries, counters) for array in table) - both
        dictionaries = sum(array.nbytes for table in self._lists[:2] for array in table)
        return {
            "structure": sizes["structure"] + lists + self._binder.nbytes,
            "dictionaries": sizes["dictionaries"] + dictionaries,
        }

    def places(self) -> dict[str, int]:
        counters = self._lists.counters
        copies = np.bincount(counters.owners, minlength=len(self))
        clauses = len(np.unique(counters.bitmap_owners))
        found = {
            "conjunctions, counted": int((copies == 1).sum()),
            "several conjunctions, each counted": int((copies > 1).sum()),
            "conjunctions of clauses": clauses,
        }
        return found | {"never satisfied": len(self) - sum(found.values())}

    def best_first(self) -> str:
        return ALL_THEN_RANKED

    def place(self, number: int) -> str:
        """Under which pivots a subscription lies. Cost: linear in the subscriptions."""
        counters = self._lists.counters
        counted = self._pivot_names(counters.stops, np.flatnonzero(counters.owners == number))
        clauses = self._pivot_names(counters.bitmap_stops, np.flatnonzero(counters.bitmap_owners == number))
        if counted:
            return f"counted in the lists of pivot {' and of '.join(counted)}"
        if clauses:
            return f"its clauses noted in the lists of pivot {' and of '.join(clauses)}"
        return "never satisfied"

    def _pivot_names(self, stops: np.ndarray, counters: np.ndarray) -> list[str]:
        """The names of the attributes under which some counters are."""
        directory, fields = self._lists.directory, self._lists.fields
        numbers = np.searchsorted(stops, counters, side="right")
        chosen = np.flatnonzero(np.isin(directory.pivots, numbers))
        attributes = np.searchsorted(fields.starts, chosen, side="right") - 1
        return [self.attributes[attribute] for attribute in np.unique(attributes).tolist()]

    def expressions(self) -> CompiledExpressions:
        return self._compiled

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """All matches; `best` is of no use to it."""
        living = self._everyone if alive is None else alive
        return self._matching.match(self._lists, batch, self._binder.bind(batch), living)


@dataclass(frozen=True, slots=True)
class OpIndexBuilder:
    """Builds an `OpIndex` with its options; one that is loaded has those that it was saved with.

    `segments=1, signature_bits=0` is the paper's OpIndex-BS: no directory, no signatures, binary search alone.
    """

    segments: int = SEGMENTS
    signature_bits: int = SIGNATURE_BITS

    def __post_init__(self) -> None:
        check_options(self.segments, self.signature_bits)

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> OpIndex:
        return OpIndex.build(compiled, statistics, self.segments, self.signature_bits)

    def load(self, arrays: Arrays) -> OpIndex:
        return OpIndex.load(arrays)


def check_options(segments: int, signature_bits: int) -> None:
    """Raise `InvalidInput` for an option out of range."""
    if not 1 <= segments <= MOST_SEGMENTS:
        raise InvalidInput(f"segments is {segments}; a list has 1 to {MOST_SEGMENTS}. The paper has {SEGMENTS}")
    if not 0 <= signature_bits <= SIGNATURE_BITS:
        raise InvalidInput(
            f"signature_bits is {signature_bits}; a signature has 1 to {SIGNATURE_BITS}, and 0 does without"
        )

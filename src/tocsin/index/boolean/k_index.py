"""Which expressions does this event satisfy, by posting lists of values? The k-index, a baseline.

An expression is a disjunction of conjunctions. A conjunction of K predicates lies in a posting list for each value of
each predicate, under (K, attribute, value); ranges are enumerated. Per size K, the lists of an event's values are
walked together, and where K of them meet, the conjunction holds.

Cost: memory O(sum of the predicates' values); time O(lists * log(lists) + entries walked) an event and size. What the
lists find holds already; only for an event with a number that ranges do not enumerate are conjunctions verified.
`candidates_examined` counts the conjunctions that the lists leave, `verified` those of them that were looked at again.

Source: Whang et al. 2009, Algorithm 1; Zhang et al. 2014, section 3, Figure 2. Departs: NOT IN needs
its attribute present; CNF goes through DNF; values outside the domain are verified. See docs/papers/k_index.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.columns.batch import EventBatch
from tocsin.columns.binding import Binder
from tocsin.columns.checks import check_below, check_starts, require, require_type
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.sizes import expression_sizes
from tocsin.errors import InvalidInput, UnsuitableIndex
from tocsin.index.alive import everyone
from tocsin.index.boolean.code_sets import Conjunctions
from tocsin.index.protocols import ALL_THEN_RANKED, Alive, Arrays, Best, Found
from tocsin.index.statistics import Statistics
from tocsin.kernels import k_values
from tocsin.kernels.distinct import sorted_groups
from tocsin.kernels.k_index import HeldLists, PostingLists, cut_lists

MOST_VALUES: Final = 16_384
"""A range of more values is refused, and so is a larger domain."""

_UNDECLARED: Final = (1, 0)
_EXACT: Final = 2**53
_PROBLEMS: Final = {
    k_values.TEXTS: "it has a range of strings, which cannot be enumerated; index 'auto' takes it",
    k_values.OPEN: "it has a range without an end, which can only be enumerated over a domain of integers: "
    "say k_index(lowest=1, highest=50), for numbers; index 'auto' takes it",
    k_values.LONG: f"it has a range of more than {MOST_VALUES} values; index 'auto' takes it",
}
_TYPES = {"domain": np.int64, "list_sizes": np.int32, "entries": np.int32}
"""Everything else is int64."""


@dataclass(frozen=True, slots=True)
class KIndexBuilder:
    """Builds a k-index. `lowest` and `highest` declare the integers that ranges of numbers are enumerated over.

    By default none are, and a range needs both ends. Raises `InvalidInput` for a domain that is empty or too large.
    """

    lowest: int = _UNDECLARED[0]
    highest: int = _UNDECLARED[1]

    def __post_init__(self) -> None:
        if not self.is_declared:
            return
        if not (-_EXACT <= self.lowest <= self.highest <= _EXACT) or self.highest - self.lowest >= MOST_VALUES:
            raise InvalidInput(
                f"the domain of k_index is lowest={self.lowest}, highest={self.highest}; lowest must not be above "
                f"highest, and it may have {MOST_VALUES} integers, all within 2**53 of 0."
            )

    @property
    def is_declared(self) -> bool:
        return (self.lowest, self.highest) != _UNDECLARED

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> KIndex:
        """Enumerate all ranges and sort the lists; it has no use for statistics.

        Cost: linear in the entries, but for sorting the distinct values. Raises `UnsuitableIndex`.
        """
        conjunctions = Conjunctions.of(compiled)
        order = np.argsort(np.diff(conjunctions.sets.starts), kind="stable")
        conjunctions = conjunctions.reordered(order)
        domain = (self.lowest, self.highest) if self.is_declared else (-_EXACT, _EXACT)
        return KIndex(conjunctions, _lists(conjunctions, frozen(domain, np.int64), self.is_declared))

    def load(self, arrays: Arrays) -> KIndex:
        """From what a k-index gave, domain included."""
        conjunctions = Conjunctions.restored(arrays)
        for name in PostingLists._fields:
            require_type(f"lists.{name}", arrays[f"lists.{name}"], _TYPES.get(name, np.int64), 1)
        lists = PostingLists(**{name: arrays[f"lists.{name}"] for name in PostingLists._fields})
        _check_lists(conjunctions, lists)
        return KIndex(conjunctions, lists)


class KIndex:
    """The Matcher over posting lists of values."""

    def __init__(self, conjunctions: Conjunctions, lists: PostingLists) -> None:
        self._conjunctions = conjunctions
        self._lists = lists
        self._held = HeldLists(lists, conjunctions.sets)
        self._binder = Binder(conjunctions.expressions)
        self._everyone = everyone(len(self))

    @property
    def attributes(self) -> Sequence[str]:
        return self._conjunctions.expressions.attributes

    @property
    def lists(self) -> PostingLists:
        """The posting lists themselves."""
        return self._lists

    @property
    def conjunctions(self) -> Conjunctions:
        """What they lead to, in order of size."""
        return self._conjunctions

    def __len__(self) -> int:
        return len(self._conjunctions.expressions)

    def expressions(self) -> CompiledExpressions:
        return self._conjunctions.expressions

    def arrays(self) -> Arrays:
        return self._conjunctions.arrays() | {f"lists.{name}": one for name, one in self._lists._asdict().items()}

    def sizes(self) -> dict[str, int]:
        """Values and operands count as dictionaries."""
        sizes = expression_sizes(self._conjunctions.expressions)
        values = self._lists.values.nbytes
        lists = sum(array.nbytes for array in self._lists) - values
        return {
            "structure": sizes["structure"] + lists + self._conjunctions.nbytes(),
            "dictionaries": sizes["dictionaries"] + values + self._conjunctions.fields.operands.nbytes,
        }

    def places(self) -> dict[str, int]:
        """Subscriptions by how many conjunctions they are."""
        return self._conjunctions.counts()

    def best_first(self) -> str:
        return ALL_THEN_RANKED

    def place(self, number: int) -> str:
        sizes = np.diff(self._conjunctions.sets.starts)[self._conjunctions.owners == number]
        if not len(sizes):
            return "never satisfied"
        return f"in posting lists of size {', '.join(str(size) for size in np.unique(sizes).tolist())}"

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        living = self._everyone if alive is None else alive
        return self._conjunctions.match(self._held, batch, self._binder.bind(batch), living)


def _lists(held: Conjunctions, domain: np.ndarray, declared: bool) -> PostingLists:
    fields, sets = held.fields, held.sets
    about = (sets, fields.kinds, fields.operand_starts, fields.operands, domain)
    predicate, problem, rows = k_values.intervals(*about, declared, MOST_VALUES)
    if problem != k_values.FINE:
        conjunction = int(np.searchsorted(sets.starts, predicate, side="right")) - 1
        raise UnsuitableIndex(_PROBLEMS[problem], int(held.owners[conjunction]))
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
    groups, payloads = k_values.enumerated(rows, order, fields.kinds)
    value_starts, values = sorted_groups(groups, payloads, len(fields.kinds))
    pairs = len(values) + k_values.PAIRS_BESIDE * len(fields.kinds)
    counts = np.zeros(pairs, np.int64)
    k_values.post(*about, value_starts, values, counts, np.empty(0, np.int32))
    pair_starts = np.concatenate([[0], np.cumsum(counts)])
    entries = np.empty(pair_starts[-1], np.int32)
    k_values.post(*about, value_starts, values, pair_starts[:-1].copy(), entries)
    sizes = np.diff(sets.starts).astype(np.int32)
    lists = cut_lists(pair_starts, entries, sizes)
    size_starts = np.searchsorted(sizes, np.arange(sizes.max(initial=0) + 2))
    tables = (domain, value_starts, values, *lists[:1], lists[1], lists[2], entries, size_starts)
    names = PostingLists._fields
    return PostingLists(*(frozen(a, _TYPES.get(name, np.int64)) for name, a in zip(names, tables, strict=True)))


def _check_lists(held: Conjunctions, lists: PostingLists) -> None:
    """Raise `ValueError` unless every offset and number is in range, and the lists are as matching expects them."""
    require(len(lists.domain) == 2, "the domain has not two ends")
    require(-_EXACT <= lists.domain[0] <= lists.domain[1] <= _EXACT, "the domain is out of range")
    check_starts("values", lists.value_starts, len(lists.values))
    require(len(lists.value_starts) == len(held.fields.kinds) + 1, "the values do not fit the fields")
    check_starts("lists", lists.list_starts, len(lists.list_sizes))
    pairs = len(lists.values) + k_values.PAIRS_BESIDE * len(held.fields.kinds)
    require(len(lists.list_starts) == pairs + 1, "the lists do not fit the values")
    check_starts("entries", lists.entry_starts, len(lists.entries))
    require(len(lists.entry_starts) == len(lists.list_sizes) + 1, "the entries do not fit the lists")
    check_below("conjunction of an entry", lists.entries, 2 * len(held))
    check_starts("sizes", lists.size_starts, len(held))
    sizes = np.diff(held.sets.starts)
    sized = np.searchsorted(sizes, np.arange(sizes.max(initial=0) + 2))
    require((np.diff(sizes) >= 0).all(), "the conjunctions are not in order of size")
    require(np.array_equal(lists.size_starts, sized), "the sizes do not fit the conjunctions")
    lengths = np.diff(lists.entry_starts)
    require((lengths > 0).all(), "a list is empty")
    require((sizes[lists.entries >> 1] == np.repeat(lists.list_sizes, lengths)).all(), "an entry is in another's list")
    within = np.ones(len(lists.entries), bool)
    within[lists.entry_starts[:-1]] = False
    require((np.diff(lists.entries >> 1, prepend=-1) > 0)[within].all(), "the entries of a list are out of order")
    pair_of_list = np.repeat(np.arange(pairs), np.diff(lists.list_starts))
    keys = pair_of_list * (int(sizes.max(initial=0)) + 1) + lists.list_sizes
    require((np.diff(keys) > 0).all(), "the lists of a pair are out of order")
    fields = held.fields
    about = (held.sets, fields.kinds, fields.operand_starts, lists.domain, lists.value_starts, lists.values)
    sound = k_values.sound_entries(*about, lists.list_starts, lists.entry_starts, lists.entries)
    require(sound, "an entry is under a value that its conjunction does not name")

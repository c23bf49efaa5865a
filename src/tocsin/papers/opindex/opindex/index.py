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

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.checks import require_type
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.stored import restored
from tocsin.errors import InvalidInput
from tocsin.index.alive import Alive
from tocsin.index.expressions import OverExpressions
from tocsin.index.found import Found
from tocsin.index.protocols import Arrays, Best
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.model.readings import attribute_of
from tocsin.papers.opindex.opindex.building import build_lists
from tocsin.papers.opindex.opindex.kernels.layouts import Counters, OpLists
from tocsin.papers.opindex.opindex.matching import Matching
from tocsin.papers.opindex.opindex.rewriting import rewrite

_SHARES: Final = "attributes.shares"
_NOBODY: Final = np.empty(0, np.int64)

SEGMENTS = 32
SIGNATURE_BITS = 64
MOST_SEGMENTS = 1024
"""As in section 7.1: a list has 32 segments, each with a signature of a machine word."""


class OpIndex(OverExpressions):
    """The Matcher over pivots and counters. It tests patterns by its expressions."""

    def __init__(
        self,
        compiled: CompiledExpressions,
        lists: OpLists,
        segments: int,
        signature_bits: int,
        shares: NDArray[np.float64] | None = None,
    ) -> None:
        dictionaries, structure = lists[:2], lists[2:]
        super().__init__(compiled, _nbytes(structure), _nbytes(dictionaries))
        self._lists = lists
        self._shares = shares  # (A,) of events that have each attribute, as far as that was known; None: not at all
        self._matching = Matching(compiled, lists, segments, signature_bits)

    @property
    def lists(self) -> OpLists:
        """Its predicate lists, directories and counters; read-only."""
        return self._lists

    def arrays(self) -> Arrays:
        return super().arrays() if self._shares is None else {**super().arrays(), _SHARES: self._shares}

    def places(self) -> dict[str, int]:
        copies = np.bincount(self._lists.counted.owners, minlength=len(self))
        found = {
            "conjunctions, counted": int((copies == 1).sum()),
            "several conjunctions, each counted": int((copies > 1).sum()),
            "conjunctions of clauses": len(np.unique(self._lists.clauses.owners)),
        }
        return found | {"never satisfied": len(self) - sum(found.values())}

    def place(self, number: int) -> str:
        """Under which pivots a subscription lies. Cost: linear in the subscriptions."""
        counted = self._pivot_names(self._lists.counted, number)
        clauses = self._pivot_names(self._lists.clauses, number)
        if counted:
            return f"counted in the lists of pivot {' and of '.join(counted)}"
        if clauses:
            return f"its clauses noted in the lists of pivot {' and of '.join(clauses)}"
        return "never satisfied"

    def _pivot_names(self, counters: Counters, number: int) -> list[str]:
        """The names of the attributes under which a subscription has counters."""
        directory, fields = self._lists.directory, self._lists.fields
        own = np.flatnonzero(counters.owners == number)
        numbers = np.searchsorted(counters.starts[1:], own, side="right")
        chosen = np.flatnonzero(np.isin(directory.pivots, numbers))
        attributes = np.searchsorted(fields.starts, chosen, side="right") - 1
        return [attribute_of(self.attributes[attribute]) for attribute in np.unique(attributes).tolist()]

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """All matches; `best` is of no use to it."""
        batch.require_values()
        return self._matching.match(batch, self._binder.bind(batch), self._everyone if alive is None else alive)


@dataclass(frozen=True, slots=True)
class OpIndexBuilder:
    """Builds an `OpIndex` with its options, of expressions or of what one saved.

    `segments=1, signature_bits=0` is the paper's OpIndex-BS: no directory, no signatures, binary search alone.
    """

    segments: int = SEGMENTS
    signature_bits: int = SIGNATURE_BITS

    def __post_init__(self) -> None:
        check_options(self.segments, self.signature_bits)

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> OpIndex:
        """Raises `UnsuitableIndex` for an expression that it cannot hold."""
        lists = build_lists(rewrite(compiled, statistics), self.segments, self.signature_bits)
        shares = None if statistics is None else attribute_shares(compiled.attributes, _NOBODY, statistics)
        return OpIndex(compiled, lists, self.segments, self.signature_bits, shares)

    def load(self, arrays: Arrays) -> OpIndex:
        """Built anew, with the pivots that it had: the shares that it chose them by were saved, where it had any."""
        compiled = restored(arrays)
        if _SHARES not in arrays:
            return self.build(compiled)
        shares = arrays[_SHARES]
        require_type(_SHARES, shares, np.dtype(np.float64), 1)
        if len(shares) != len(compiled.attributes) or not ((shares > 0) & (shares <= 1)).all():
            raise ValueError(f"{_SHARES} are no shares of {len(compiled.attributes)} attributes")
        named = zip(map(attribute_of, compiled.attributes), shares.tolist(), strict=True)
        return self.build(compiled, Statistics(dict(named), "saved"))


def _nbytes(tables: Iterable[tuple[NDArray[Any], ...]]) -> int:
    return sum(array.nbytes for table in tables for array in table)


def check_options(segments: int, signature_bits: int) -> None:
    """Raise `InvalidInput` for an option out of range."""
    if not 1 <= segments <= MOST_SEGMENTS:
        raise InvalidInput(f"segments is {segments}; a list has 1 to {MOST_SEGMENTS}. The paper has {SEGMENTS}")
    if not 0 <= signature_bits <= SIGNATURE_BITS:
        raise InvalidInput(
            f"signature_bits is {signature_bits}; a signature has 1 to {SIGNATURE_BITS}, and 0 does without"
        )

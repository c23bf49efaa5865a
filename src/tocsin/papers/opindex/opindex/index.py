"""OpIndex: predicate lists by pivot attribute and operator, and counters.

Every subscription is stored under its *pivot*, the one of its attributes that the fewest events have. An event searches
only the lists of pivots that it has. There is one list per operator, sorted by attribute and operand, and divided into
segments by attribute. Each segment has a signature, which rules out most searches. Predicates that match are counted.

Cost: O(m^2 log(eta) (1 - (1 - 1/w)^eta) + psi) for an event of m attributes (`cost` defines the symbols), plus sorting
the matches. Memory: 12 bytes a predicate, and 12 for each segment of a list. `candidates_examined` counts the
subscriptions under the event's pivots, with each clause or copy of a multiplied-out one as its own. Lemma 2 minimises
this number. `verified` counts those with at least one predicate that holds.

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
"""As in section 7.1: a list has 32 segments, each with a signature of one machine word."""


class OpIndex(OverExpressions):
    """The Matcher over pivots and counters. It tests patterns with its compiled expressions."""

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
        self._shares = shares  # (A,) known shares of events that have each attribute; None: unknown
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
        """The pivots under which a subscription is stored. Cost: linear in the subscriptions."""
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
        """All matches; `best` is ignored."""
        batch.require_values()
        return self._matching.match(batch, self._binder.bind(batch), self._everyone if alive is None else alive)


@dataclass(frozen=True, slots=True)
class OpIndexBuilder:
    """Builds an `OpIndex` with its options, from expressions or from saved arrays.

    `segments=1, signature_bits=0` is the paper's OpIndex-BS: binary search without directories and signatures.
    """

    segments: int = SEGMENTS
    signature_bits: int = SIGNATURE_BITS

    def __post_init__(self) -> None:
        check_options(self.segments, self.signature_bits)

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> OpIndex:
        """Raises `UnsuitableIndex` for an expression that OpIndex cannot hold."""
        lists = build_lists(rewrite(compiled, statistics), self.segments, self.signature_bits)
        shares = None if statistics is None else attribute_shares(compiled.attributes, _NOBODY, statistics)
        return OpIndex(compiled, lists, self.segments, self.signature_bits, shares)

    def load(self, arrays: Arrays) -> OpIndex:
        """Rebuild from saved arrays. Pivots are the same as before, because the attribute shares are saved if known."""
        compiled = restored(arrays)
        if _SHARES not in arrays:
            return self.build(compiled)
        shares = arrays[_SHARES]
        require_type(_SHARES, shares, np.dtype(np.float64), 1)
        if len(shares) != len(compiled.attributes) or not ((shares > 0) & (shares <= 1)).all():
            raise ValueError(f"{_SHARES} are not shares of {len(compiled.attributes)} attributes")
        named = zip(map(attribute_of, compiled.attributes), shares.tolist(), strict=True)
        return self.build(compiled, Statistics(dict(named), "saved"))


def _nbytes(tables: Iterable[Any]) -> int:
    """The bytes of tables. `stops` is a part of `starts`."""
    return sum(array.nbytes for table in tables for name, array in table._asdict().items() if name != "stops")


def check_options(segments: int, signature_bits: int) -> None:
    """Raise `InvalidInput` for an option out of range."""
    if not 1 <= segments <= MOST_SEGMENTS:
        raise InvalidInput(f"segments is {segments}; a list has 1 to {MOST_SEGMENTS}. The paper has {SEGMENTS}")
    if not 0 <= signature_bits <= SIGNATURE_BITS:
        raise InvalidInput(
            f"signature_bits is {signature_bits}; a signature has 1 to {SIGNATURE_BITS}, or 0 for no signatures"
        )

"""The k-index, a baseline for Boolean expressions with posting lists by attribute and value.

An expression is a conjunction of clauses, or a disjunction of conjunctions whose clauses have one predicate each. An
expression with K clauses is in a posting list for each value of each of its predicates, under (K, attribute, value).
The entry also names the clause. Ranges are enumerated. For each size K, the lists of an event's values are walked
together. Where K of them agree, the clauses are counted.

Cost: memory O(sum of the predicates' values); time O(lists * log(lists) + entries walked) an event and size.
Expressions found in the lists hold already. They are verified only if the event has a number that ranges do not
enumerate. `candidates_examined` counts the expressions whose clauses are counted, `verified` those that were verified.

Source: Whang et al. 2009, Algorithm 1 and section 5; Zhang et al. 2014, section 3, Figure 2. Departs: NOT IN needs its
attribute present; other forms are multiplied out; values outside the domain are verified. See docs/papers/k_index.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import InvalidInput
from tocsin.index.alive import Alive
from tocsin.index.expressions import OverExpressions, RebuiltOnLoad
from tocsin.index.found import Found
from tocsin.index.protocols import Best
from tocsin.index.statistics import Statistics
from tocsin.papers.opindex.conjunctions.matching import FindsConjunctions
from tocsin.papers.opindex.k_index.building import MOST_VALUES, Domain, build_layout
from tocsin.papers.opindex.k_index.layout import EXACT, KLayout

_UNDECLARED: Final = (1, 0)


@dataclass(frozen=True, slots=True)
class KIndexBuilder(RebuiltOnLoad):
    """Builds a k-index. `lowest` and `highest` declare the integers over which ranges of numbers are enumerated.

    By default there is no declared domain, and a range needs both ends. Raises `InvalidInput` for a domain that is
    empty or too large.
    """

    lowest: int = _UNDECLARED[0]
    highest: int = _UNDECLARED[1]

    def __post_init__(self) -> None:
        if not self.is_declared:
            return
        if not (-EXACT <= self.lowest <= self.highest <= EXACT) or self.highest - self.lowest >= MOST_VALUES:
            raise InvalidInput(
                f"the domain of k_index is lowest={self.lowest}, highest={self.highest}; lowest must not be above "
                f"highest, and it may have {MOST_VALUES} integers, all within 2**53 of 0."
            )

    @property
    def is_declared(self) -> bool:
        return (self.lowest, self.highest) != _UNDECLARED

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> KIndex:
        """Enumerate all ranges and sort the lists. Statistics are ignored.

        Cost: linear in the entries, except for sorting the distinct values. Raises `UnsuitableIndex`.
        """
        ends = (self.lowest, self.highest) if self.is_declared else (-EXACT, EXACT)
        return KIndex(build_layout(compiled, Domain(frozen(ends, np.int64), self.is_declared)))


class KIndex(OverExpressions):
    """The Matcher over posting lists of values."""

    def __init__(self, layout: KLayout) -> None:
        super().__init__(layout.expressions, layout.nbytes(), layout.value_bytes())
        self._layout = layout
        new_room = partial(layout.new_room, layout.deepest())
        self._matching = FindsConjunctions(layout.held(), new_room, layout.fields, layout.members.owners)

    @property
    def layout(self) -> KLayout:
        """The posting lists and their members."""
        return self._layout

    def places(self) -> dict[str, int]:
        """Subscriptions by their form in the lists."""
        members = self._layout.members
        in_clauses = members.have_alternatives
        conjunctions = np.bincount(members.owners[~in_clauses], minlength=len(self))
        found = {
            "one conjunction": int((conjunctions == 1).sum()),
            "several conjunctions": int((conjunctions > 1).sum()),
            "conjunctions of clauses": int(in_clauses.sum()),
        }
        return found | {"never satisfied": len(self) - sum(found.values())}

    def place(self, number: int) -> str:
        members = self._layout.members
        own = np.flatnonzero(members.owners == number)
        if not len(own):
            return "never satisfied"
        sizes = np.unique(members.sizes[own]).tolist()
        if members.have_alternatives[own].any():
            return f"in posting lists of {sizes[0]} clauses"
        return f"in posting lists of size {', '.join(map(str, sizes))}"

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        batch.require_values()
        living = self._everyone if alive is None else alive
        return self._matching.match(batch, self._binder.bind(batch), living)

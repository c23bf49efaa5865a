"""An index that takes expressions one at a time: the delta of an engine, until it is full and becomes `access`.

Each expression is put on a chain for every literal of its cover. Chains are not ordered, so an insertion costs no more
than compilation. A match walks the chains of the event's attributes. It suits some thousands of expressions.

Expressions are compiled when they are first needed. A match compiles them one by one, and puts them on chains. A merge
needs no chains, and compiles them all at once, several times as fast.

Cost: O(expressions on the chains of the event's attributes / 64) for a batch; compilation: some microseconds a
predicate.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.instances import compile_instances
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.patterns import PatternFinder
from tocsin.columns.expressions.pools import Leaf, Pools
from tocsin.columns.expressions.programs import leaf_places
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.writer import ExpressionWriter
from tocsin.columns.payloads import HIGHEST, LOWEST
from tocsin.index.boolean.chains.kernels import Chains, cover_of, match_chains
from tocsin.index.found import Found, collect
from tocsin.kernels import codes
from tocsin.kernels.codes import LANES
from tocsin.kernels.programs.blocks import widest_block
from tocsin.kernels.programs.layouts import Bound, Verifier
from tocsin.kernels.programs.memory import new_block, new_verifier
from tocsin.language import Instance
from tocsin.model.expression import Expression

_FEW: Final = 64
"""Fewer expressions are compiled one by one."""
_NEVER, _UNCOVERED = 0.0, np.inf
_SELECTIVITY = {codes.IN_SET: 0.05, codes.ARRAY_SET: 0.05, codes.INTERSECTS: 0.2, codes.LIKE: 0.3, codes.REGEX: 0.3}


class ChainedExpressions:
    """Expressions on chains by access predicate. One writer; threads may share the views that `frozen` gives.

    `wanted` is told of every attribute that the expressions refer to, before a view has them.
    """

    def __init__(self, book: RecipeBook, wanted: Wanted) -> None:
        self._writer = ExpressionWriter(book)
        self._given: list[Expression | Instance | None] = []  # None once it is on its chains
        self._hung = 0  # how many are on their chains
        self._heads: Growing[Any] = Growing(np.int32)
        self._following: Growing[Any] = Growing(np.int32)
        self._literals: Growing[Any] = Growing(np.int32)
        self._owners: Growing[Any] = Growing(np.int32)
        self._uncovered: Growing[Any] = Growing(np.int32)
        self._named: Counter[int] = Counter()
        self._wanted = wanted
        self._places: Growing[Any] = Growing(np.int32)  # the position of each attribute in `wanted`
        self._finder = PatternFinder(self._writer.compiled())
        self._kept: ChainedView | None = None

    def __len__(self) -> int:
        return len(self._given)

    def add(self, where: Expression | Instance) -> int:
        """Add an expression; returns its number, counted from 0."""
        self._given.append(where)
        return len(self._given) - 1

    def cut(self, count: int) -> None:
        """Drop the expressions from number `count` on, which are not compiled yet."""
        del self._given[count:]

    def keep_up(self) -> None:
        """Compile what was added, and tell `wanted`. What is interrupted goes on at the next call."""
        while self._hung < len(self._given):
            where = self._given[self._hung]
            if len(self._writer) == self._hung:
                assert where is not None
                self._writer.add(where)
            self._kept = None
            self._tell_wanted()
            entries, uncovered = len(self._owners), len(self._uncovered)
            try:
                for literal in self._cover(self._writer.last_program):
                    self._hang(literal, self._hung)
                self._given[self._hung], self._hung = None, self._hung + 1
            except BaseException:
                self._unhang(entries, uncovered)
                raise

    def _tell_wanted(self) -> None:
        names = self._writer.pools.attributes.items[len(self._places) :]
        if names:
            self._wanted.add(names)
            self._heads.extend([-1] * (len(self._places) + len(names) - len(self._heads)))
            self._places.extend([self._wanted.number(name) for name in names])

    @property
    def pools(self) -> Pools:
        """The strings, sets and leaves of the expressions, as far as they are compiled; read-only."""
        return self._writer.pools

    @property
    def attributes(self) -> list[str]:
        """The attributes that the expressions refer to, as far as they are compiled, by number."""
        return self._writer.pools.attributes.items

    @property
    def uncovered(self) -> int:
        """How many expressions have no cover, so that every event is tested with them."""
        self.keep_up()
        return len(self._uncovered)

    def want(self, wanted: Wanted) -> None:
        """Report all attributes to another `wanted`, from now on."""
        names, places = self.attributes, Growing[Any](np.int32)
        wanted.add(names)
        places.extend([wanted.number(name) for name in names])
        self._wanted, self._places, self._kept = wanted, places, None

    def frozen(self) -> ChainedView:
        """A view of the expressions so far; later additions do not change it. Compiles them."""
        self.keep_up()
        return self._view()

    def compiled_later(self) -> Callable[[], CompiledExpressions]:
        """A function that compiles the expressions so far, without the chains; any thread may call it.

        Cost: some microseconds here, and then that of `compile_instances`.
        """
        given = self._given[self._hung :]
        if len(given) < _FEW or len(self._writer) > self._hung:  # the last one is on no chain yet
            return self.frozen().expressions
        view = self._view()

        def compiled() -> CompiledExpressions:
            rest = compile_instances([where for where in given if where is not None], RecipeBook())
            return joined([view.expressions(), rest]) if len(view) else rest

        return compiled

    def _view(self) -> ChainedView:
        """A view of the expressions on chains."""
        if self._kept is None:
            chains = Chains(
                heads=frozen(self._heads.view().copy(), np.int32),
                following=self._following.view(),
                literals=self._literals.view(),
                owners=self._owners.view(),
                uncovered=self._uncovered.view(),
            )
            compiled = self._writer.compiled()
            self._finder = self._finder.kept_for(compiled)
            binder = Binder(
                compiled,
                self._writer.pools.attributes.numbers,
                len(self._heads),
                (self._wanted.ordered, self._places.view()),
                self._finder,
            )
            self._kept = ChainedView(compiled, binder, chains)
        return self._kept

    def _hang(self, literal: int, number: int) -> None:
        attribute = self._attribute(self._writer.pools.leaves.items[literal >> 1])
        self._named[attribute] += 1
        self._following.append(self._heads.get(attribute))
        self._literals.append(literal)
        self._owners.append(number)
        self._heads.put(attribute, len(self._owners) - 1)

    def _unhang(self, entries: int, uncovered: int) -> None:
        """Take later entries from their chains, and later expressions from those without a cover."""
        for entry in range(len(self._following) - 1, entries - 1, -1):
            if (is_head := self._heads.view() == entry).any():
                self._heads.put(int(np.argmax(is_head)), self._following.get(entry))
        for array in (self._following, self._literals, self._owners):
            array.cut(entries)
        self._uncovered.cut(uncovered)

    def _cover(self, program: list[int]) -> list[int]:
        """The literals of an expression's cover; none if it never holds. Records expressions without a cover."""
        if all(code >= 0 for code in program):
            costs = [self._cost(code) for code in program]
            least = min(costs)
            if least < _UNCOVERED:
                return [] if least == _NEVER else [program[costs.index(least)]]
        elif (chosen := self._cover_of_tree(np.array(program, np.int32))) is not None:
            return chosen
        self._uncovered.append(self._hung)
        return []

    def _cover_of_tree(self, program: NDArray[np.int32]) -> list[int] | None:
        is_leaf = leaf_places(program)
        literals = np.unique(program[is_leaf])
        places = program.copy()  # literals renumbered from 0, for the kernel's table of costs
        places[is_leaf] = np.searchsorted(literals, program[is_leaf])
        costs = np.array([self._cost(code) for code in literals.tolist()])
        out = np.empty(len(program), np.int32)
        count = cover_of(places, costs, out)
        return None if count < 0 else [c for c in literals[out[:count]].tolist() if self._cost(c) != _NEVER]

    def _cost(self, literal: int) -> float:
        """The cost of a literal as an access predicate: how often its attribute is named, times a rough selectivity."""
        leaf = self._writer.pools.leaves.items[literal >> 1]
        if leaf.kind == codes.TRUE_LEAF:
            return _NEVER if literal & 1 else _UNCOVERED
        if leaf.kind in (codes.FALSE_LEAF, codes.UNKNOWN_LEAF):
            return _UNCOVERED if literal & 1 and leaf.kind == codes.FALSE_LEAF else _NEVER
        if leaf.kind == codes.TRUTH or (leaf.kind in (codes.IS_NULL, codes.TERM_IS_NULL) and not literal & 1):
            return _UNCOVERED
        attribute = self._attribute(leaf)
        if attribute < 0:
            return _UNCOVERED
        share = 1.0 + self._named[attribute]
        if literal & 1:
            return share
        if leaf.kind == codes.RANGE:
            one_value, open_end = leaf.low == leaf.high, leaf.low == LOWEST or leaf.high == HIGHEST
            return share * (0.02 if one_value else 0.5 if open_end else 0.25)
        return share * _SELECTIVITY.get(leaf.kind, 1.0)

    def _attribute(self, leaf: Leaf) -> int:
        """The attribute whose absence makes a leaf UNKNOWN; -1 if there is none."""
        if leaf.kind not in (codes.COMPARE, codes.TERM_IS_NULL):
            return leaf.attribute
        terms = self._writer.pools.terms.items
        for term in (leaf.attribute, leaf.other) if leaf.kind == codes.COMPARE else (leaf.attribute,):
            for code, argument, _ in terms[term]:
                if code == codes.TERM_ATTRIBUTE:
                    return argument
        return -1


class ChainedView:
    """The expressions added up to some moment. Immutable; threads may share it."""

    def __init__(self, compiled: CompiledExpressions, binder: Binder, chains: Chains) -> None:
        self._compiled = compiled
        self._chains = chains
        self._binder = binder

    def __len__(self) -> int:
        return len(self._compiled)

    def match(self, batch: EventBatch, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch among live expressions, by number; exact."""
        return self.walk(batch, alive)[0]

    def walk(self, batch: EventBatch, alive: NDArray[np.uint64]) -> tuple[Found, int]:
        """All matches, and the number of predicates tested; each test covers a block of events."""
        leaves, chains = self._compiled.arrays, self._chains
        if not len(self):
            return Found(np.zeros(len(batch) + 1, np.int64), np.empty(0, np.int32), 0, 0), 0
        bound = self._binder.bind_to_walk(batch)
        verifier = self._verifier(2 * widest_block(batch.arrays.starts, LANES))
        counts = np.zeros(3, np.int64)
        starts, found = collect(
            len(batch),
            lambda first, ends, out: match_chains(
                leaves, chains, verifier, batch.arrays, bound, alive, first, ends, out, counts
            ),
        )
        return Found(starts, found, int(counts[0]), int(counts[1])), int(counts[2])

    def bind(self, batch: EventBatch) -> Bound:
        """Map a batch's attributes and strings to those of the expressions."""
        return self._binder.bind(batch)

    def expressions(self) -> CompiledExpressions:
        """The expressions, with the attributes known at that moment."""
        return self._compiled.with_attributes(len(self._chains.heads))

    def _verifier(self, entries: int) -> Verifier:
        """This thread's memory for walking programs, shared by successive views."""
        leaves, attributes = len(self._compiled.arrays.leaf_kinds), len(self._chains.heads)
        kept: Verifier | None = getattr(_THREADS, "verifier", None)
        if kept is None or len(kept.memo.stamps) < leaves:
            kept = new_verifier(2 * leaves, 2 * attributes, 2 * entries)
        if len(kept.block.firsts) <= attributes or len(kept.block.lanes) <= entries:
            kept = kept._replace(block=new_block(2 * attributes, 2 * entries))
        _THREADS.verifier = kept
        return kept


_THREADS = threading.local()

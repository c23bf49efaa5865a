"""How are expressions compiled one at a time, while others are matched? Into arrays that only grow.

Strings are the delicate part: a rank code among the operands changes with every new operand. So the ends of string
ranges are kept by the operands' numbers, and ranked anew, all at once, when one has come since.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, empty_runs, frozen, inverse
from tocsin.columns.expressions.compiled import CompiledExpressions, ProgramCompiler
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.instances import RecipeBook
from tocsin.columns.expressions.pools import Leaf, Pools, rank_codes
from tocsin.columns.expressions.recipes import FIXED, NEGATED_SLOT, STRING_SLOT, Operand, Recipe, Row
from tocsin.columns.numbers import key_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.language import Instance
from tocsin.model.expression import Expression

_LEAF_TYPES = {
    "kinds": np.uint8,
    "attributes": np.int32,
    "types": np.uint8,
    "operations": np.uint8,
    "transforms": np.uint16,
    "others": np.int32,
    "lows": np.int64,
    "highs": np.int64,
}
"""In the order of the fields of `Leaf`."""


class LiveExpressions:
    """Compiled expressions that grow. One writer; what `compiled` gave stays as it is."""

    def __init__(self, book: RecipeBook) -> None:
        self.pools = Pools()
        self._book = book
        self._compiler = ProgramCompiler(self.pools)
        self._starts = _growing(np.int64, [0])
        self._program: Growing[Any] = Growing(np.int32)
        self._leaves: dict[str, Growing[Any]] = {name: Growing(dtype) for name, dtype in _LEAF_TYPES.items()}
        self._lists: dict[str, tuple[Growing[Any], tuple[Growing[Any], ...]]] = {
            name: (_growing(np.int64, [0]), tuple(Growing(dtype) for dtype in dtypes))
            for name, dtypes in _LISTS.items()
        }
        self._boxes: Growing[Any] = Growing(np.float64, 4)
        self._constants: Growing[Any] = Growing(np.float64)
        self._alphabet: list[str] = []  # the operands in order
        self._by_place: list[int] = []  # and their numbers
        self._ranked: tuple[int, int, Any] | None = None
        self._compiled: CompiledExpressions | None = None

    def __len__(self) -> int:
        return len(self._starts) - 1

    def leaves(self) -> list[Leaf]:
        """The distinct predicates so far; their string operands by number."""
        return self.pools.leaves.items

    def add(self, where: Expression | Instance) -> NDArray[np.int32]:
        """Compile one more expression; returns its program. Cost: some microseconds a predicate."""
        recipe = self._book.recipe(where.template) if isinstance(where, Instance) else None
        if isinstance(where, Instance) and recipe is not None:
            program = self._cooked(recipe, where.values)
        else:
            tree = where.tree() if isinstance(where, Instance) else where
            program = np.array(self._compiler.program(tree), np.int32)
        self._program.extend(program)
        self._starts.append(len(self._program))
        self._compiled = None
        return program

    def compiled(self) -> CompiledExpressions:
        """The expressions so far as kernels read them; its list of attributes goes on growing."""
        if self._compiled is None:
            self._compiled = self._view()
        return self._compiled

    def _cooked(self, recipe: Recipe, values: Any) -> NDArray[np.int32]:
        numbers = [2 * self.pools.leaves.number(self._leaf(row, values)) for row in recipe.rows]
        program = recipe.program.copy()
        if len(numbers) == len(program):  # a conjunction
            program[:] = [numbers[code >> 1] + (code & 1) for code in recipe.program.tolist()]
        else:
            place = recipe.program[recipe.is_leaf]
            program[recipe.is_leaf] = np.array(numbers)[place >> 1] + (place & 1)
        return program

    def _leaf(self, row: Row, values: Any) -> Leaf:
        pools = self.pools
        other = 0
        if row.kind in (codes.IN_SET, codes.ARRAY_SET):
            elements = {(kind, self._payload(operand, values)) for kind, operand in row.elements}
            other = pools.sets.number(tuple(sorted(elements)))
        elif row.kind == codes.INTERSECTS:
            edges = [values[e.value] if e.source != NEGATED_SLOT else -values[e.value] for e in row.edges]
            other = pools.boxes.number((edges[0] + 0.0, edges[1] + 0.0, edges[2] + 0.0, edges[3] + 0.0))
        return Leaf(
            row.kind,
            pools.attributes.number(values[row.attribute]),
            row.type,
            row.operation,
            pools.transforms.number(row.transform),
            other,
            self._payload(row.low, values),
            self._payload(row.high, values),
        )

    def _payload(self, operand: Operand, values: Any) -> int:
        if operand.source == FIXED:
            return operand.value
        value = values[operand.value]
        if operand.source == STRING_SLOT:
            return 4 * self.pools.strings.number(value) + 1 + operand.side
        return key_of(-value if operand.source == NEGATED_SLOT else value) + operand.side

    def _keep_up(self) -> None:
        """Append to the arrays what the pools have got since the last view."""
        pools = self.pools
        leaves = pools.leaves.items[len(self._leaves["kinds"]) :]
        if leaves:
            for array, values in zip(self._leaves.values(), zip(*leaves, strict=True), strict=True):
                array.extend(values)
        for text in pools.strings.items[len(self._alphabet) :]:
            place = bisect_left(self._alphabet, text)
            self._by_place.insert(place, len(self._alphabet))
            self._alphabet.insert(place, text)
        for name, (starts, columns) in self._lists.items():
            for item in getattr(pools, name).items[len(starts) - 1 :]:
                for column, values in zip(columns, _columns(name, item), strict=True):
                    column.extend(values)
                starts.append(len(columns[0]))
        self._boxes.extend(np.array(pools.boxes.items[len(self._boxes) :], np.float64).reshape(-1, 4))
        self._constants.extend(pools.constants.items[len(self._constants) :])

    def _view(self) -> CompiledExpressions:
        self._keep_up()
        pools = self.pools
        leaves = {"leaf_" + name: array.view() for name, array in self._leaves.items()}
        lists = {
            field: array.view()
            for name, (starts, columns) in self._lists.items()
            for field, array in zip(_FIELDS[name], (starts, *columns), strict=True)
        }
        vocabulary, lows, highs, members = self._ranks()
        leaves |= {"leaf_lows": lows, "leaf_highs": highs}
        lists["set_payloads"] = members
        arrays = Expressions(
            program_starts=self._starts.view(),
            program=self._program.view(),
            eager_starts=empty_runs(0),
            boxes=self._boxes.view(),
            constants=self._constants.view(),
            **leaves,
            **lists,
        )
        return CompiledExpressions(
            arrays, pools.attributes.items, vocabulary, list(pools.transforms.items), list(pools.regexes.items)
        )

    def _ranks(self) -> Any:
        """The vocabulary, and lows, highs and set members with its codes. Ranked anew where anything has come."""
        state = (len(self._alphabet), len(self._leaves["kinds"]))
        if self._ranked is None or self._ranked[:2] != state:
            places = inverse(self._by_place)
            kinds, types = self._leaves["kinds"].view(), self._leaves["types"].view()
            text = (kinds == codes.RANGE) & (types == codes.STRING)
            ends = []
            for name in ("lows", "highs"):
                array = self._leaves[name].view()
                if text.any():
                    array = array.copy()
                    array[text] = rank_codes(array[text], places)
                ends.append(frozen(array, np.int64))
            before = self._ranked[2][0] if self._ranked and self._ranked[0] == state[0] else None
            vocabulary = Texts.of(self._alphabet) if before is None else before
            self._ranked = (*state, (vocabulary, *ends, self._members(places)))
        return self._ranked[2]

    def _members(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The payloads of sets, strings by code; sets are sorted by them, as numbers do not sort like strings."""
        starts, (types, payloads) = self._lists["sets"]
        text = types.view() == codes.STRING
        if not text.any():
            return frozen(payloads.view(), np.int64)
        members = payloads.view().copy()
        members[text] = rank_codes(members[text], places)
        bounds = starts.view()
        owners = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        return frozen(members[np.lexsort((members, types.view(), owners))], np.int64)


_LISTS: dict[str, tuple[Any, ...]] = {
    "sets": (np.uint8, np.int64),
    "patterns": (np.int16,),
    "terms": (np.uint8, np.int32, np.uint16),
    "truths": (np.uint8, np.int32),
}
_FIELDS = {
    "sets": ("set_starts", "set_types", "set_payloads"),
    "patterns": ("pattern_starts", "pattern_tokens"),
    "terms": ("term_starts", "term_codes", "term_arguments", "term_transforms"),
    "truths": ("truth_starts", "truth_codes", "truth_arguments"),
}


def _columns(name: str, item: Any) -> tuple[Any, ...]:
    """An item of a pool as the columns that it is kept in."""
    if name == "patterns":
        return (item,)
    return tuple(zip(*item, strict=True)) or ((),) * len(_LISTS[name])


def _growing(dtype: Any, values: list[int]) -> Growing[Any]:
    array: Growing[Any] = Growing(dtype)
    array.extend(values)
    return array

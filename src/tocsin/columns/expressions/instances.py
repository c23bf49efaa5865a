"""How do instances of templates become compiled expressions? All of a chunk at once: slots are columns.

The names, strings and numbers in the slots of all instances are three columns; each leaf of each instance is a row that
gathers from them what its recipe says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, empty_runs, frozen, gathered, inverse, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions, compile_expressions
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.pools import Pool
from tocsin.columns.expressions.recipes import (
    FIXED,
    NEGATED_SLOT,
    NUMBER_SLOT,
    STRING_SLOT,
    Operand,
    Recipe,
    Row,
    recipe_of,
)
from tocsin.columns.numbers import keys_of
from tocsin.kernels import codes
from tocsin.language import Instance, Template
from tocsin.model.expression import Expression


class RecipeBook:
    """The recipes of the templates seen so far, each compiled once; it forgets them when there are many."""

    _MOST = 100_000

    def __init__(self) -> None:
        self._recipes: dict[Template, Recipe | None] = {}

    def recipe(self, template: Template) -> Recipe | None:
        if template not in self._recipes:
            if len(self._recipes) >= self._MOST:
                self._recipes.clear()
            self._recipes[template] = recipe_of(template)
        return self._recipes[template]


def compile_instances(given: Sequence[Expression | Instance], book: RecipeBook) -> CompiledExpressions:
    """Compile trees and instances of templates; number i of the result is the i-th of them."""
    cooked: list[tuple[Recipe, Instance]] = []
    trees: list[Expression] = []
    is_cooked = np.zeros(len(given), bool)
    for number, one in enumerate(given):
        recipe = book.recipe(one.template) if isinstance(one, Instance) else None
        if isinstance(one, Instance) and recipe is not None:
            cooked.append((recipe, one))
            is_cooked[number] = True
        else:
            trees.append(one.tree() if isinstance(one, Instance) else one)
    if not cooked:
        return compile_expressions(trees)
    if not trees:
        return _compile(cooked)
    order = np.empty(len(given), np.int64)
    order[is_cooked] = np.arange(len(cooked))
    order[~is_cooked] = len(cooked) + np.arange(len(trees))
    return joined([_compile(cooked), compile_expressions(trees)], order)


_Operands: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]"


class _Slots:
    """The slots of all instances end to end: numbers, or numbers of names and of strings."""

    def __init__(self, kinds: str, values: list[Any], starts: NDArray[np.int64]) -> None:
        letters = np.frombuffer(kinds.encode(), np.uint8)
        self.starts = starts
        self.numbers = np.zeros(len(values))
        self.places = np.zeros(len(values), np.int64)
        at = np.flatnonzero(letters == ord("n"))
        self.numbers[at] = [values[i] for i in at.tolist()]
        self.names = self._distinct(values, np.flatnonzero(letters == ord("a")))
        strings = np.flatnonzero(letters == ord("s"))
        distinct = self._distinct(values, strings)
        order = pc.sort_indices(distinct).to_numpy()
        self.places[strings] = inverse(order)[self.places[strings]]
        self.vocabulary = Texts.of_arrow(distinct.take(order))

    def _distinct(self, values: list[Any], at: NDArray[np.int64]) -> pa.Array:
        encoded = pa.array([values[i] for i in at.tolist()], pa.large_string()).dictionary_encode()
        self.places[at] = encoded.indices.to_numpy(zero_copy_only=False)
        return encoded.dictionary

    def payloads(self, owners: NDArray[np.int64], operands: _Operands, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """The payload of operand `which[i]` for instance `owners[i]`; a string's is its code in the vocabulary."""
        sources, values, sides = (column[which] for column in operands)
        slots = np.where(sources == FIXED, 0, values) + self.starts[owners]
        slots = np.minimum(slots, len(self.numbers) - 1)
        numbers = np.where(sources == NEGATED_SLOT, -self.numbers[slots], self.numbers[slots])
        result = np.where(sources == STRING_SLOT, 2 * self.places[slots] + 1 + sides, keys_of(numbers) + sides)
        return np.where(sources == FIXED, values, result)


def _columns(operands: Sequence[Operand]) -> _Operands:
    table = np.array(operands, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _compile(given: list[tuple[Recipe, Instance]]) -> CompiledExpressions:
    numbers: Pool[int] = Pool()
    kinds = np.array([numbers.number(id(recipe)) for recipe, _ in given], np.int64)
    by_id = {id(recipe): recipe for recipe, _ in given}
    book = [by_id[i] for i in numbers.items]
    slots = _Slots(
        "".join(one.template.kinds for _, one in given),
        [value for _, one in given for value in one.values],
        starts_of([len(one.values) for _, one in given], len(given)),
    )
    rows = [row for recipe in book for row in recipe.rows]
    row_starts = starts_of([len(recipe.rows) for recipe in book], len(book))
    which, owners = gathered(row_starts, kinds)
    leaves, boxes, sets = _leaves(rows, which, owners, slots)
    place_starts = starts_of([len(recipe.program) for recipe in book], len(book))
    places, place_owners = gathered(place_starts, kinds)
    program = np.concatenate([recipe.program for recipe in book])[places].astype(np.int64)
    is_leaf = np.concatenate([recipe.is_leaf for recipe in book])[places]
    first_leaf = starts_of((row_starts[1:] - row_starts[:-1])[kinds], len(kinds))
    program[is_leaf] += 2 * first_leaf[place_owners[is_leaf]]
    names = slots.names.to_pylist()
    nothing = compile_expressions([])
    arrays = nothing.arrays._replace(
        program_starts=starts_of((place_starts[1:] - place_starts[:-1])[kinds], len(kinds)),
        program=frozen(program, np.int32),
        eager_starts=empty_runs(len(names)),
        boxes=boxes,
        **leaves,
        **sets,
    )
    return CompiledExpressions(arrays, names, slots.vocabulary, _transforms(rows).items, [])


def _transforms(rows: list[Row]) -> Pool[str]:
    pool: Pool[str] = Pool()
    for name in ["", *(row.transform for row in rows)]:
        pool.number(name)
    return pool


def _leaves(
    rows: list[Row], which: NDArray[np.int64], owners: NDArray[np.int64], slots: _Slots
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64], dict[str, NDArray[Any]]]:
    """The leaf arrays, the boxes, and the set arrays."""
    transforms = _transforms(rows)
    table = np.array(
        [(row.kind, row.type, row.operation, transforms.number(row.transform), row.attribute) for row in rows], np.int64
    ).reshape(-1, 5)[which]
    kinds = table[:, 0]
    others = np.zeros(len(which), np.int64)
    in_box = kinds == codes.INTERSECTS
    boxes = _boxes(rows, which[in_box], owners[in_box], slots)
    others[in_box] = np.arange(in_box.sum())
    in_set = (kinds == codes.IN_SET) | (kinds == codes.ARRAY_SET)
    sets = _sets(rows, which[in_set], owners[in_set], slots)
    others[in_set] = np.arange(in_set.sum())
    leaves = {
        "leaf_kinds": frozen(kinds, np.uint8),
        "leaf_types": frozen(table[:, 1], np.uint8),
        "leaf_operations": frozen(table[:, 2], np.uint8),
        "leaf_transforms": frozen(table[:, 3], np.uint16),
        "leaf_attributes": frozen(slots.places[slots.starts[owners] + table[:, 4]], np.int32),
        "leaf_others": frozen(others, np.int32),
        "leaf_lows": frozen(slots.payloads(owners, _columns([row.low for row in rows]), which), np.int64),
        "leaf_highs": frozen(slots.payloads(owners, _columns([row.high for row in rows]), which), np.int64),
    }
    return leaves, boxes, sets


def _boxes(rows: list[Row], which: NDArray[np.int64], owners: NDArray[np.int64], slots: _Slots) -> NDArray[np.float64]:
    edges = np.array([row.edges or ((FIXED, 0, 0),) * 4 for row in rows], np.int64).reshape(-1, 4, 3)[which]
    numbers = slots.numbers[slots.starts[owners][:, None] + edges[:, :, 1]] if len(which) else np.empty((0, 4))
    return frozen(np.where(edges[:, :, 0] == NUMBER_SLOT, numbers, -numbers) + 0.0, np.float64)


def _sets(
    rows: list[Row], which: NDArray[np.int64], owners: NDArray[np.int64], slots: _Slots
) -> dict[str, NDArray[Any]]:
    """The sets in CSR form, each distinct and sorted by (type, payload)."""
    starts = starts_of([len(row.elements) for row in rows], len(rows))
    elements = [element for row in rows for element in row.elements]
    members, sets = gathered(starts, which)
    types = np.array([kind for kind, _ in elements], np.int64)[members]
    payloads = slots.payloads(owners[sets], _columns([operand for _, operand in elements]), members)
    order = np.lexsort((payloads, types, sets))
    sets, types, payloads = sets[order], types[order], payloads[order]
    keep = np.ones(len(order), bool)
    keep[1:] = (sets[1:] != sets[:-1]) | (types[1:] != types[:-1]) | (payloads[1:] != payloads[:-1])
    return {
        "set_starts": starts_of(np.bincount(sets[keep], minlength=len(which)), len(which)),
        "set_types": frozen(types[keep], np.uint8),
        "set_payloads": frozen(payloads[keep], np.int64),
    }

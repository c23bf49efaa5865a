"""Compilation of template instances, all of a chunk at once, with slots as columns.

The names, strings and numbers in the slots of all instances form three columns. Each leaf of each instance is a row
that gathers its values from them by its recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, gathered, inverse, starts_of
from tocsin.columns.expressions import recipes
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.pools import Pool, like_tokens
from tocsin.columns.expressions.recipes import Operand, Recipe, RecipeBook, Row
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.columns.payloads import keys_of, string_payload
from tocsin.kernels import codes
from tocsin.language import Instance
from tocsin.model.expression import Expression
from tocsin.model.readings import as_instant


def compile_instances(given: Sequence[Expression | Instance], book: RecipeBook) -> CompiledExpressions:
    """Compile trees and instances of templates; number i of the result is the i-th of them. Cost: linear.

    Instances with a recipe are compiled in columns, the rest one by one.
    """
    by_recipe: list[tuple[Recipe, Instance]] = []
    trees: list[Expression] = []
    has_recipe = np.zeros(len(given), bool)
    for number, where in enumerate(given):
        if not isinstance(where, Instance):
            trees.append(where)
            continue
        one, recipe = book.read(where)
        if recipe is None:
            trees.append(one.tree())
        else:
            by_recipe.append((recipe, one))
            has_recipe[number] = True
    if not by_recipe:
        return compile_expressions(trees)
    if not trees:
        return _compile(by_recipe)
    places = inverse(np.argsort(~has_recipe, kind="stable"))
    return joined([_compile(by_recipe), compile_expressions(trees)], places)


def _compile(given: Sequence[tuple[Recipe, Instance]]) -> CompiledExpressions:
    numbers: Pool[Recipe] = Pool()
    kinds = np.array([numbers.number(recipe) for recipe, _ in given], np.int64)
    slots = _Slots([one for _, one in given])
    rows = [row for recipe in numbers.items for row in recipe.rows]
    starts = starts_of([len(recipe.rows) for recipe in numbers.items], len(numbers.items))
    which, owners = gathered(starts, kinds)
    transforms: Pool[str] = Pool()
    of_terms = [step.transform for row in rows for term in row.terms for step in term]
    for name in ["", *(row.transform for row in rows), *of_terms]:
        transforms.number(name)
    attributes, names = slots.attributes(rows, which, owners)
    arrays = NOTHING.arrays._replace(
        **_programs(numbers.items, kinds), **_leaves(rows, transforms, which, owners, slots, attributes)
    )
    whole = CompiledExpressions(arrays, names, slots.vocabulary, transforms.items, [])
    return whole.with_attributes(len(names))


def _programs(book: Sequence[Recipe], kinds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The programs of instances of recipes; their leaves lie end to end."""
    lengths = np.array([len(recipe.program) for recipe in book], np.int64)
    leaves = np.array([len(recipe.rows) for recipe in book], np.int64)
    places, owners = gathered(starts_of(lengths, len(book)), kinds)
    program = np.concatenate([recipe.program for recipe in book])[places].astype(np.int64)
    is_leaf = np.concatenate([recipe.is_leaf for recipe in book])[places]
    program[is_leaf] += 2 * starts_of(leaves[kinds], len(kinds))[owners[is_leaf]]
    return {"program_starts": starts_of(lengths[kinds], len(kinds)), "program": frozen(program, np.int32)}


class _Slots:
    """The slots of all instances end to end: numbers, or indices of names and of strings."""

    def __init__(self, given: Sequence[Instance]) -> None:
        letters = np.frombuffer("".join(one.template.kinds for one in given).encode(), np.uint8)
        values: list[Any] = [value for one in given for value in one.values]
        self.starts = starts_of([len(one.values) for one in given], len(given))
        self.numbers = np.zeros(len(values))
        self.places = np.zeros(len(values), np.int64)
        at = np.flatnonzero(letters == ord("n"))
        self.numbers[at] = [values[i] for i in at.tolist()]
        self.instants = np.zeros(len(values), np.int64)
        at = np.flatnonzero(letters == ord("i"))
        self.instants[at] = [values[i].microseconds for i in at.tolist()]
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

    def attributes(
        self, rows: Sequence[Row], which: NDArray[np.int64], owners: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[str]]:
        """The attribute of each leaf, and the names of all: those in the slots, then readings as instants.

        Leaf i is row `which[i]` for instance `owners[i]`.
        """
        slots, read = _gathered([(row.attribute, row.is_instant) for row in rows], 2, which)
        numbers = self.places[self.starts[owners] + slots]
        instants, own = np.unique(numbers[read == 1], return_inverse=True)
        numbers[read == 1] = len(self.names) + own
        names = self.names.to_pylist()
        return numbers, [*names, *(as_instant(names[place]) for place in instants.tolist())]

    def payloads(
        self, owners: NDArray[np.int64], operands: Sequence[Operand], which: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The payload of operand `which[i]` for instance `owners[i]`."""
        sources, values, sides = _gathered(operands, 3, which)
        slots = np.where(sources == recipes.FIXED, 0, values) + self.starts[owners]
        slots = np.minimum(slots, len(self.numbers) - 1)
        numbers = np.where(sources == recipes.NEGATED_SLOT, -self.numbers[slots], self.numbers[slots])
        strings = string_payload(self.places[slots], sides)
        found = np.where(sources == recipes.STRING_SLOT, strings, keys_of(numbers) + sides)
        found = np.where(sources == recipes.INSTANT_SLOT, self.instants[slots] + sides, found)
        payloads: NDArray[np.int64] = np.where(sources == recipes.FIXED, values, found)
        return payloads


def _leaves(
    rows: Sequence[Row],
    transforms: Pool[str],
    which: NDArray[np.int64],
    owners: NDArray[np.int64],
    slots: _Slots,
    attributes: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """The leaves, and the boxes and sets that they refer to. Leaf i is row `which[i]` for instance `owners[i]`."""
    table = [(row.kind, row.type, row.operation, transforms.numbers[row.transform]) for row in rows]
    kinds, types, operations, of_transforms = _gathered(table, 4, which)
    with_box = np.flatnonzero(kinds == codes.INTERSECTS)
    with_set = np.flatnonzero((kinds == codes.IN_SET) | (kinds == codes.ARRAY_SET))
    with_terms, with_pattern = np.flatnonzero(kinds == codes.COMPARE), np.flatnonzero(kinds == codes.LIKE)
    numbers, others = attributes.copy(), np.zeros(len(which), np.int64)
    others[with_box], others[with_set] = np.arange(len(with_box)), np.arange(len(with_set))
    numbers[with_terms], others[with_terms] = 2 * np.arange(len(with_terms)), 2 * np.arange(len(with_terms)) + 1
    patterns, others[with_pattern] = _patterns(rows, which[with_pattern], owners[with_pattern], slots)
    own = leaf_arrays(
        len(which),
        kinds=kinds,
        types=types,
        operations=operations,
        transforms=of_transforms,
        attributes=numbers,
        others=others,
        lows=slots.payloads(owners, [row.low for row in rows], which),
        highs=slots.payloads(owners, [row.high for row in rows], which),
    )
    boxes = _boxes(rows, which[with_box], owners[with_box], slots)
    sets = _sets(rows, which[with_set], owners[with_set], slots)
    return {
        **own,
        **boxes,
        **sets,
        **patterns,
        **_terms(rows, transforms, which[with_terms], owners[with_terms], slots),
    }


def _gathered(rows: Sequence[Sequence[int]], width: int, which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The chosen rows of a table, as columns."""
    return np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, width).T)[:, which]


def _boxes(
    rows: Sequence[Row], which: NDArray[np.int64], owners: NDArray[np.int64], slots: _Slots
) -> dict[str, NDArray[Any]]:
    edges = np.array([row.edges or ((recipes.FIXED, 0, 0),) * 4 for row in rows], np.int64).reshape(-1, 4, 3)[which]
    numbers = slots.numbers[slots.starts[owners][:, None] + edges[:, :, 1]] if len(which) else np.empty((0, 4))
    boxes = np.where(edges[:, :, 0] == recipes.NUMBER_SLOT, numbers, -numbers) + 0.0
    return {"boxes": frozen(boxes, np.float64)}


def _sets(
    rows: Sequence[Row], which: NDArray[np.int64], owners: NDArray[np.int64], slots: _Slots
) -> dict[str, NDArray[Any]]:
    """The sets in CSR form, each without duplicates and sorted by (type, payload)."""
    starts = starts_of([len(row.elements) for row in rows], len(rows))
    elements = [element for row in rows for element in row.elements]
    members, sets = gathered(starts, which)
    types = np.array([kind for kind, _ in elements], np.int64)[members]
    payloads = slots.payloads(owners[sets], [operand for _, operand in elements], members)
    order = np.lexsort((payloads, types, sets))
    sets, types, payloads = sets[order], types[order], payloads[order]
    keep = np.ones(len(order), bool)
    keep[1:] = (sets[1:] != sets[:-1]) | (types[1:] != types[:-1]) | (payloads[1:] != payloads[:-1])
    return {
        "set_starts": starts_of(np.bincount(sets[keep], minlength=len(which)), len(which)),
        "set_types": frozen(types[keep], np.uint8),
        "set_payloads": frozen(payloads[keep], np.int64),
    }


def _patterns(
    rows: Sequence[Row], which: NDArray[np.int64], owners: NDArray[np.int64], slots: _Slots
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """The distinct patterns in CSR form, and the pattern of each leaf."""
    places = slots.places[slots.starts[owners] + np.array([row.pattern for row in rows], np.int64)[which]]
    distinct, numbers = np.unique(places, return_inverse=True)
    tokens = [like_tokens(slots.vocabulary.text(place)) for place in distinct.tolist()]
    flat = np.array([token for one in tokens for token in one], np.int16)
    starts = starts_of([len(one) for one in tokens], len(tokens))
    return {"pattern_starts": starts, "pattern_tokens": frozen(flat, np.int16)}, numbers


def _terms(
    rows: Sequence[Row],
    transforms: Pool[str],
    which: NDArray[np.int64],
    owners: NDArray[np.int64],
    slots: _Slots,
) -> dict[str, NDArray[Any]]:
    """The two terms of each comparison, one after the other, and their constants."""
    terms = [term for row in rows for term in (row.terms or ((), ()))]
    starts = starts_of([len(term) for term in terms], len(terms))
    steps = [(s.code, *s.operand[:2], transforms.numbers[s.transform]) for term in terms for s in term]
    chosen = (2 * which[:, None] + np.arange(2)).ravel()
    members, terms_of = gathered(starts, chosen)
    kinds, sources, values, of_transforms = _gathered(steps, 4, members)
    places = slots.starts[np.repeat(owners, 2)[terms_of]] + values
    arguments = np.zeros(len(members), np.int64)
    named, is_number = kinds == codes.TERM_ATTRIBUTE, kinds == codes.TERM_NUMBER
    arguments[named] = slots.places[places[named]]
    arguments[is_number] = np.arange(int(is_number.sum()))
    numbers = slots.numbers[places[is_number]]
    constants = np.where(sources[is_number] == recipes.NEGATED_SLOT, 0.0 - numbers, numbers)
    return {
        "term_starts": starts_of(np.diff(starts)[chosen], len(chosen)),
        "term_codes": frozen(kinds, np.uint8),
        "term_arguments": frozen(arguments, np.int32),
        "term_transforms": frozen(of_transforms, np.uint16),
        "constants": frozen(constants, np.float64),
    }

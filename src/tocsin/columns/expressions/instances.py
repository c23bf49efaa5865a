"""Compilation of template instances, all of a chunk at once, with slots as columns.

The names, strings and numbers in the slots of all instances form columns. Each leaf of each instance is a row that
gathers its values from them by its recipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, inverse, starts_of
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.leaf_kinds import LEAF_KINDS, referring
from tocsin.columns.expressions.pools import Pool
from tocsin.columns.expressions.recipes import Recipe, RecipeBook, Row
from tocsin.columns.expressions.recipes.entry_columns import BUILDERS, Asked, Chunk
from tocsin.columns.expressions.recipes.slot_columns import SlotColumns, columns_of
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.language import Instance
from tocsin.language.templates import Values
from tocsin.model.expression import Expression


def compile_instances(given: Sequence[Expression | Instance], book: RecipeBook) -> CompiledExpressions:
    """Compile trees and instances of templates; number i of the result is the i-th of them. Cost: linear.

    Instances with a recipe are compiled in columns, the rest one by one.
    """
    recipes: list[Recipe] = []
    values: list[Values] = []
    trees: list[Expression] = []
    has_recipe = np.zeros(len(given), bool)
    counts = Counter(where.template for where in given if isinstance(where, Instance))
    for number, where in enumerate(given):
        if not isinstance(where, Instance):
            trees.append(where)
            continue
        one, recipe = book.read(where, is_alone=counts[where.template] == 1)
        if recipe is None:
            trees.append(one.tree())
        else:
            recipes.append(recipe)
            values.append(one.values)
            has_recipe[number] = True
    if not recipes:
        return compile_expressions(trees)
    if not trees:
        return _compile(recipes, values)
    places = inverse(np.argsort(~has_recipe, kind="stable"))
    return joined([_compile(recipes, values), compile_expressions(trees)], places)


def _compile(given: Sequence[Recipe], values: Sequence[Values]) -> CompiledExpressions:
    numbers: Pool[Recipe] = Pool()
    kinds = np.array([numbers.number(recipe) for recipe in given], np.int64)
    recipes = numbers.items
    slots = SlotColumns(given, values)
    name_starts, attributes, names = slots.attributes(recipes, kinds)
    transforms = _transforms(recipes)
    leaves = np.array([len(recipe.rows) for recipe in recipes], np.int64)
    leaf_starts = starts_of(leaves[kinds], len(kinds))
    chunk = Chunk(slots, transforms.numbers, name_starts, attributes, leaf_starts)
    made, regexes = _leaves(recipes, kinds, chunk)
    arrays = NOTHING.arrays._replace(**_programs(recipes, kinds, leaf_starts), **made)
    whole = CompiledExpressions(arrays, names, slots.vocabulary, transforms.items, regexes)
    return whole.with_attributes(len(names))


def _transforms(recipes: Sequence[Recipe]) -> Pool[str]:
    """The transforms of leaves and of terms."""
    transforms: Pool[str] = Pool()
    transforms.number("")
    for recipe in recipes:
        for name in recipe.transforms:
            transforms.number(name)
    return transforms


def _programs(
    recipes: Sequence[Recipe], kinds: NDArray[np.int64], leaf_starts: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """The programs of instances of recipes; their leaves lie end to end."""
    lengths = np.array([len(recipe.program) for recipe in recipes], np.int64)
    places, owners = gathered(starts_of(lengths, len(recipes)), kinds)
    program = np.concatenate([recipe.program for recipe in recipes])[places].astype(np.int64)
    is_leaf = np.concatenate([recipe.is_leaf for recipe in recipes])[places]
    program[is_leaf] += 2 * leaf_starts[owners[is_leaf]]
    return {"program_starts": starts_of(lengths[kinds], len(kinds)), "program": frozen(program, np.int32)}


def _leaves(
    recipes: Sequence[Recipe], kinds: NDArray[np.int64], chunk: Chunk
) -> tuple[dict[str, NDArray[Any]], list[tuple[str, int]]]:
    """The leaves and the tables that they refer to, and the regular expressions."""
    rows = [row for recipe in recipes for row in recipe.rows]
    which, owners = gathered(starts_of([len(recipe.rows) for recipe in recipes], len(recipes)), kinds)
    table = [(row.kind, row.type, row.operation, chunk.transforms[row.transform]) for row in rows]
    of_leaves, types, operations, transforms = columns_of(table, 4, which)
    arrays: dict[str, NDArray[Any]] = {}
    regexes: list[tuple[str, int]] = []
    columns = {"leaf_attributes": np.zeros(len(which), np.int64), "leaf_others": np.zeros(len(which), np.int64)}
    for name, build in BUILDERS.items():
        chosen = {column: np.flatnonzero(_refers(column, name)[of_leaves]) for column in columns}
        at = np.concatenate([*chosen.values()])
        if not len(at):
            continue
        entries, places = _entries(rows, name)
        asked = np.concatenate([places[column][which[own]] for column, own in chosen.items()])
        made = build(Asked(entries, asked, owners[at]), chunk)
        arrays, regexes = {**arrays, **made.arrays}, [*regexes, *made.items]
        first, other = np.split(made.numbers, [len(chosen["leaf_attributes"])])
        columns["leaf_attributes"][chosen["leaf_attributes"]] = first
        columns["leaf_others"][chosen["leaf_others"]] = other
    own = leaf_arrays(
        len(which),
        kinds=of_leaves,
        types=types,
        operations=operations,
        transforms=transforms,
        attributes=columns["leaf_attributes"],
        others=columns["leaf_others"],
        lows=chunk.slots.payloads(owners, [row.low for row in rows], which),
        highs=chunk.slots.payloads(owners, [row.high for row in rows], which),
    )
    return {**own, **arrays}, regexes


def _refers(column: str, name: str) -> NDArray[np.bool_]:
    """For each kind of leaf, whether it refers to a table in a column."""
    return referring(column).get(name, np.zeros(len(LEAF_KINDS), bool))


def _entries(rows: Sequence[Row], name: str) -> tuple[list[Any], dict[str, NDArray[np.int64]]]:
    """The entries of a table in some rows and, for each row, the place of its own, by the column that refers to it."""
    entries: list[Any] = []
    places = {column: np.zeros(len(rows), np.int64) for column in ("leaf_attributes", "leaf_others")}
    for number, row in enumerate(rows):
        kind = LEAF_KINDS[row.kind]
        if kind.first == name:
            places["leaf_attributes"][number] = len(entries)
            entries.append(row.first)
        if kind.other == name:
            places["leaf_others"][number] = len(entries)
            entries.append(row.other)
    return entries, places

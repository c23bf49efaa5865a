"""Recipes: the compiled tree of a template, with slots in place of placeholders.

A template has a recipe only if its leaves hold names and constants, in ways independent of the values. `filled_program`
applies it to one instance, `instances` to all of a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.leaf_kinds import LEAF_KINDS
from tocsin.columns.expressions.pools import Leaf, Pools
from tocsin.columns.expressions.programs import leaf_places, program_of
from tocsin.columns.expressions.recipes.entries import ENTRIES, Filling
from tocsin.columns.expressions.recipes.names import Name, name_of
from tocsin.columns.expressions.recipes.slots import NOTHING, STRING_SLOT, NoSlotError, Operand, operand_of, payload_in
from tocsin.errors import InvalidInput
from tocsin.kernels import codes
from tocsin.language import Template
from tocsin.language.operators.operator import operator_of
from tocsin.language.templates import Values, sample
from tocsin.model.expression import Expression, walk_all


class Row(NamedTuple):
    """A leaf of a recipe."""

    kind: int
    type: int
    operation: int
    transform: str
    first: Any  # the entry that `leaf_attributes` refers to, as `ENTRIES` makes it
    other: Any  # the entry that `leaf_others` refers to
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """A compiled template; compared by identity. P places of program, F leaves."""

    program: NDArray[np.int32]  # (P,) as in `Expressions`, leaves numbered within the recipe
    is_leaf: NDArray[np.bool_]  # (P,)
    rows: tuple[Row, ...]  # (F,)
    names: tuple[Name, ...]  # those of the leaves, and those that are only read from events
    transforms: tuple[str, ...]  # those of the leaves and of their terms
    is_conjunction: bool
    kinds: str  # the kinds of the template's slots, with a space for strings that are no operands


def recipe_of(template: Template) -> Recipe | None:
    """The recipe of a template; None if its instances must be compiled one by one."""
    if not _has_recipe(template.tree):
        return None
    pools = Pools()
    program = np.array(program_of(template.tree, pools), np.int32)
    try:
        rows = tuple(_row(leaf, pools, len(template.kinds)) for leaf in pools.leaves.items)
        names = tuple(map(name_of, pools.attributes.items))
    except NoSlotError:
        return None
    kinds = _kinds(template.kinds, rows)
    is_leaf = leaf_places(program)
    transforms = tuple(pools.transforms.items)
    recipe = Recipe(program, is_leaf, rows, names, transforms, bool(is_leaf.all()), kinds)
    if all(name.has_one_slot for name in names):
        return recipe
    return recipe if all(_agrees(recipe, template, sample(template.kinds, which)) for which in (0, 1)) else None


def _has_recipe(tree: Expression) -> bool:
    return all(operator_of(node).has_recipe(node) for node in walk_all(tree))


def _kinds(kinds: str, rows: Sequence[Row]) -> str:
    operands = [row.low for row in rows] + [row.high for row in rows]
    sets = [row.other for row in rows if LEAF_KINDS[row.kind].other == "sets"]
    operands += [operand for one in sets for _, operand in one]
    used = {operand.value for operand in operands if operand.source == STRING_SLOT}
    return "".join(" " if kind == "s" and slot not in used else kind for slot, kind in enumerate(kinds))


def _agrees(recipe: Recipe, template: Template, values: Values) -> bool:
    """Whether a recipe names for some values what compiling the filled tree names."""
    pools = Pools()
    try:
        program_of(template.fill(values), pools)
    except InvalidInput:  # no box has these corners
        return False
    return [name.filled(values) for name in recipe.names] == pools.attributes.items


def _row(leaf: Leaf, pools: Pools, slots: int) -> Row:
    kind = LEAF_KINDS[leaf.kind]
    if not kind.has_recipe:
        raise NoSlotError
    is_range = leaf.kind == codes.RANGE
    return Row(
        leaf.kind,
        leaf.type,
        leaf.operation,
        pools.transforms.items[leaf.transform],
        ENTRIES[kind.first].read(leaf.attribute, pools, slots),
        ENTRIES[kind.other].read(leaf.other, pools, slots),
        operand_of(leaf.low, leaf.type, pools, at_low_end=True) if is_range else NOTHING,
        operand_of(leaf.high, leaf.type, pools) if is_range else NOTHING,
    )


def filled_program(recipe: Recipe, values: Values, pools: Pools) -> list[int]:
    """The program of one instance, over leaves of pools. Cost: some microseconds a leaf."""
    filling = Filling(recipe.names, values, pools, [])
    for row in recipe.rows:
        filling.leaves.append(pools.leaves.number(_leaf(row, filling)))
    for name in recipe.names:
        pools.attributes.number(name.filled(values))
    literals = [2 * leaf for leaf in filling.leaves]
    own: list[int] = recipe.program.tolist()
    if recipe.is_conjunction:
        return [literals[place >> 1] + (place & 1) for place in own]
    return [
        literals[place >> 1] + (place & 1) if is_leaf else place
        for place, is_leaf in zip(own, recipe.is_leaf.tolist(), strict=True)
    ]


def _leaf(row: Row, filling: Filling) -> Leaf:
    kind, pools = LEAF_KINDS[row.kind], filling.pools
    return Leaf(
        row.kind,
        ENTRIES[kind.first].number(row.first, filling),
        row.type,
        row.operation,
        pools.transforms.number(row.transform),
        ENTRIES[kind.other].number(row.other, filling),
        payload_in(row.low, filling.values, pools),
        payload_in(row.high, filling.values, pools),
    )

"""How is a template compiled once for all its instances? Into leaves whose attributes and operands are slots.

A recipe holds what `compile_expressions` makes of the template's tree, with slot numbers where placeholders stood. Only
templates whose leaves compare an attribute with constants, in ways that their values cannot change, have one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.compiled import ProgramCompiler
from tocsin.columns.expressions.leaf_order import leaf_places
from tocsin.columns.expressions.pools import HIGHEST, LOWEST, Leaf, Pools
from tocsin.columns.numbers import numbers_of
from tocsin.kernels import codes
from tocsin.language import Template
from tocsin.language.templates import slot_of
from tocsin.model.expression import STRING_FUNCTIONS, Call, Constant, walk

# What the operand of a recipe is made of.
FIXED: Final = 0  # the payload itself
NUMBER_SLOT: Final = 1
NEGATED_SLOT: Final = 2  # the number in a slot, with the other sign
STRING_SLOT: Final = 3


class Operand(NamedTuple):
    """An end of a range, an element of a set or an edge of a box."""

    source: int  # FIXED .. STRING_SLOT
    value: int  # a slot, or the payload
    side: int = 0  # -1 just below it, 1 just above it


class Row(NamedTuple):
    """A leaf of a recipe."""

    kind: int
    type: int
    operation: int
    transform: str
    attribute: int  # slot
    low: Operand
    high: Operand
    elements: tuple[tuple[int, Operand], ...]  # of a set: types and payloads
    edges: tuple[Operand, ...]  # of a box


class Recipe(NamedTuple):
    """A compiled template. P places of program, F leaves."""

    program: NDArray[np.int32]  # (P,) as in `Expressions`, leaves numbered within the recipe
    is_leaf: NDArray[np.bool_]  # (P,)
    rows: tuple[Row, ...]  # (F,)


_NOTHING: Final = Operand(FIXED, 0)


def recipe_of(template: Template) -> Recipe | None:
    """The recipe of a template, or None: then its instances are compiled one by one."""
    folded = any(
        isinstance(node, Call) and node.name in STRING_FUNCTIONS and isinstance(node.arguments[0], Constant | Call)
        for node in walk(template.tree)
    )
    if folded:  # CASEI('ABC') is computed when the tree is compiled, which a placeholder would not survive
        return None
    pools = Pools()
    program = np.array(ProgramCompiler(pools).program(template.tree), np.int32)
    try:
        rows = tuple(_row(leaf, pools) for leaf in pools.leaves.items)
    except _NoSlotError:
        return None
    return Recipe(program, leaf_places(program), rows)


class _NoSlotError(Exception):
    """A leaf depends on its values in another way than by comparing them."""


def _row(leaf: Leaf, pools: Pools) -> Row:
    if leaf.kind not in (codes.RANGE, codes.IN_SET, codes.ARRAY_SET, codes.INTERSECTS):
        raise _NoSlotError
    attribute = slot_of(pools.attributes.items[leaf.attribute])
    if attribute is None:
        raise _NoSlotError
    low = high = _NOTHING
    elements: tuple[tuple[int, Operand], ...] = ()
    edges: tuple[Operand, ...] = ()
    if leaf.kind == codes.RANGE:
        low, high = _end(leaf.low, leaf.type, pools), _end(leaf.high, leaf.type, pools)
    elif leaf.kind == codes.INTERSECTS:
        edges = tuple(_number(edge) for edge in pools.boxes.items[leaf.other])
    else:
        elements = tuple((kind, _end(key, kind, pools)) for kind, key in pools.sets.items[leaf.other])
    transform = pools.transforms.items[leaf.transform]
    return Row(leaf.kind, leaf.type, leaf.operation, transform, attribute, low, high, elements, edges)


def _end(key: int, kind: int, pools: Pools) -> Operand:
    """What a payload of the template is made of."""
    if key in (LOWEST, HIGHEST) or kind in (codes.BOOLEAN, codes.INSTANT):
        return Operand(FIXED, key)
    if kind == codes.STRING:
        slot = slot_of(pools.strings.items[key >> 2])
        if slot is None:
            raise _NoSlotError
        return Operand(STRING_SLOT, slot, (key & 3) - 1)
    for side in (0, -1, 1):
        number = float(numbers_of(np.array([key - side]))[0])
        if number == int(number) and slot_of(number) is not None:
            return _number(number)._replace(side=side)
    raise _NoSlotError


def _number(number: float) -> Operand:
    slot = slot_of(number)
    if slot is None:
        raise _NoSlotError
    return Operand(NUMBER_SLOT if number > 0 else NEGATED_SLOT, slot)

"""Recipes: a template compiled once for all its instances, to leaves with slots for attributes and operands.

A recipe is the compiled tree of a template, with slot numbers in place of placeholders. A template has one only if its
leaves compare attributes with constants, in ways independent of the values. `filled_program` applies it to one
instance, `instances` to all of a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns import payloads
from tocsin.columns.expressions.leaf_kinds import LEAF_KINDS
from tocsin.columns.expressions.pools import Leaf, Pools, like_text, like_tokens
from tocsin.columns.expressions.programs import leaf_places, program_of
from tocsin.columns.expressions.spelling import Spelling
from tocsin.columns.payloads import key_of, numbers_of, string_of, string_payload
from tocsin.kernels import codes
from tocsin.language import Instance, Template
from tocsin.language.operators.operator import operator_of
from tocsin.language.templates import Values, placeholder, slot_of
from tocsin.model.expression import walk
from tocsin.model.readings import as_instant, reading_of
from tocsin.model.values import Instant

# The sources of a recipe's operands.
FIXED: Final = 0  # the payload itself
NUMBER_SLOT: Final = 1
NEGATED_SLOT: Final = 2  # the number in a slot, negated
STRING_SLOT: Final = 3
INSTANT_SLOT: Final = 4


class Operand(NamedTuple):
    """An end of a range, an element of a set or an edge of a box."""

    source: int  # FIXED .. INSTANT_SLOT
    value: int  # a slot, or the payload
    side: int = payloads.AT  # or JUST_BELOW, JUST_ABOVE


class Step(NamedTuple):
    """An instruction of a term."""

    code: int  # TERM_ATTRIBUTE ..
    operand: Operand  # for TERM_ATTRIBUTE the slot of its name
    transform: str


class Row(NamedTuple):
    """A leaf of a recipe."""

    kind: int
    type: int
    operation: int
    transform: str
    attribute: int  # slot; the first one for a comparison of terms
    is_instant: bool  # whether the attribute is read as an instant
    low: Operand
    high: Operand
    elements: tuple[tuple[int, Operand], ...]  # types and payloads of a set
    edges: tuple[Operand, ...]  # edges of a box
    pattern: int  # slot
    terms: tuple[tuple[Step, ...], ...]  # the two terms of a comparison


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """A compiled template; compared by identity. P places of program, F leaves."""

    program: NDArray[np.int32]  # (P,) as in `Expressions`, leaves numbered within the recipe
    is_leaf: NDArray[np.bool_]  # (P,)
    rows: tuple[Row, ...]  # (F,)


_NOTHING: Final = Operand(FIXED, 0)


def recipe_of(template: Template) -> Recipe | None:
    """The recipe of a template; None if its instances must be compiled one by one."""
    if not all(operator_of(node).has_recipe(node) for node in walk(template.tree)):
        return None
    pools = Pools()
    program = np.array(program_of(template.tree, pools), np.int32)
    try:
        rows = tuple(_row(leaf, pools, len(template.kinds)) for leaf in pools.leaves.items)
    except _NoSlotError:
        return None
    return Recipe(program, leaf_places(program), rows)


class _NoSlotError(Exception):
    """A leaf depends on its values in other ways than by comparing them."""


def _row(leaf: Leaf, pools: Pools, slots: int) -> Row:
    if not LEAF_KINDS[leaf.kind].has_recipe:
        raise _NoSlotError
    low = high = _NOTHING
    elements: tuple[tuple[int, Operand], ...] = ()
    edges: tuple[Operand, ...] = ()
    pattern = 0
    terms: tuple[tuple[Step, ...], ...] = ()
    is_instant = False
    if leaf.kind == codes.COMPARE:
        terms = tuple(_term(pools.terms.items[term], pools, slots) for term in (leaf.attribute, leaf.other))
        attribute = next(
            (step.operand.value for term in terms for step in term if step.code == codes.TERM_ATTRIBUTE), 0
        )
    else:
        name = pools.attributes.items[leaf.attribute]
        if leaf.type == codes.INSTANT:
            name, kind, _ = reading_of(name)
            is_instant = bool(kind)
        attribute = _slot(name)
    if leaf.kind == codes.RANGE:
        low = _operand(leaf.low, leaf.type, pools, at_low_end=True)
        high = _operand(leaf.high, leaf.type, pools)
    elif leaf.kind == codes.INTERSECTS:
        edges = tuple(_number(edge) for edge in pools.boxes.items[leaf.other])
    elif leaf.kind == codes.LIKE:
        pattern = _slot(like_text(pools.patterns.items[leaf.other]))
    elif leaf.kind in (codes.IN_SET, codes.ARRAY_SET):
        elements = tuple((kind, _operand(payload, kind, pools)) for kind, payload in pools.sets.items[leaf.other])
    transform = pools.transforms.items[leaf.transform]
    at = attribute, is_instant
    return Row(leaf.kind, leaf.type, leaf.operation, transform, *at, low, high, elements, edges, pattern, terms)


def _slot(placeholder: str) -> int:
    slot = slot_of(placeholder)
    if slot is None:
        raise _NoSlotError
    return slot


def _term(steps: tuple[tuple[int, int, int], ...], pools: Pools, slots: int) -> tuple[Step, ...]:
    """A term with slots for its attributes and numbers."""
    made = []
    for code, argument, transform in steps:
        operand = _NOTHING
        if code == codes.TERM_ATTRIBUTE:
            operand = Operand(STRING_SLOT, _slot(pools.attributes.items[argument]))
        elif code == codes.TERM_NUMBER:
            operand = _number(pools.constants.items[argument])
            if operand.value >= slots:  # two placeholders, added
                raise _NoSlotError
        made.append(Step(code, operand, pools.transforms.items[transform]))
    return tuple(made)


def _operand(payload: int, kind: int, pools: Pools, *, at_low_end: bool = False) -> Operand:
    """The operand that a payload of the template stands for."""
    if payload in (payloads.LOWEST, payloads.HIGHEST) or kind == codes.BOOLEAN:
        return Operand(FIXED, payload)
    if kind == codes.INSTANT:
        for side in (payloads.AT, payloads.JUST_BELOW, payloads.JUST_ABOVE):
            moment = Instant(payload - side)
            slot = slot_of(moment)
            if slot is not None and placeholder("i", slot) == moment:
                return Operand(INSTANT_SLOT, slot, side)
        raise _NoSlotError
    if kind == codes.STRING:
        string = string_of(payload, at_low_end=at_low_end)
        slot = slot_of(pools.strings.items[string])
        if slot is None:
            raise _NoSlotError
        return Operand(STRING_SLOT, slot, payload - string_payload(string))
    for side in (payloads.AT, payloads.JUST_BELOW, payloads.JUST_ABOVE):
        number = float(numbers_of(np.array([payload - side]))[0])
        if number == int(number) and slot_of(number) is not None:
            return _number(number)._replace(side=side)
    raise _NoSlotError


def _number(number: float) -> Operand:
    slot = slot_of(number)
    if slot is None:
        raise _NoSlotError
    return Operand(NUMBER_SLOT if number > 0 else NEGATED_SLOT, slot)


class RecipeBook:
    """The recipes of the templates seen so far, each compiled once. It forgets all of them when there are many.

    A template with TEXT has no recipe; the template that its instances expand to may have one.
    """

    _MOST = 100_000

    def __init__(self) -> None:
        self._recipes: dict[Template, Recipe | None] = {}
        self._spelling = Spelling()

    def read(self, given: Instance) -> tuple[Instance, Recipe | None]:
        """An instance, with TEXT expanded if possible, and the recipe of its template; None if it has none."""
        recipe = self._recipe(given.template)
        if recipe is not None:
            return given, recipe
        spelled = self._spelling.spelled(given)
        return spelled, None if spelled is given else self._recipe(spelled.template)

    def _recipe(self, template: Template) -> Recipe | None:
        if template not in self._recipes:
            if len(self._recipes) >= self._MOST:
                self._recipes.clear()
            self._recipes[template] = recipe_of(template)
        return self._recipes[template]


def filled_program(recipe: Recipe, values: Values, pools: Pools) -> list[int]:
    """The program of one instance, over leaves of pools. Cost: some microseconds a leaf."""
    literals = [2 * pools.leaves.number(_leaf(row, values, pools)) for row in recipe.rows]
    own: list[int] = recipe.program.tolist()
    if len(literals) == len(own):  # a conjunction
        return [literals[place >> 1] + (place & 1) for place in own]
    return [
        literals[place >> 1] + (place & 1) if is_leaf else place
        for place, is_leaf in zip(own, recipe.is_leaf.tolist(), strict=True)
    ]


def _leaf(row: Row, values: Any, pools: Pools) -> Leaf:
    other = 0
    if row.kind in (codes.IN_SET, codes.ARRAY_SET):
        elements = {(kind, _payload(operand, values, pools)) for kind, operand in row.elements}
        other = pools.sets.number(tuple(sorted(elements)))
    elif row.kind == codes.INTERSECTS:
        edges = [values[e.value] if e.source != NEGATED_SLOT else -values[e.value] for e in row.edges]
        other = pools.boxes.number((edges[0] + 0.0, edges[1] + 0.0, edges[2] + 0.0, edges[3] + 0.0))
    elif row.kind == codes.LIKE:
        other = pools.patterns.number(like_tokens(values[row.pattern]))
    elif row.kind == codes.COMPARE:
        left, right = (_number_of_term(term, values, pools) for term in row.terms)
        return Leaf(codes.COMPARE, left, row.type, row.operation, pools.transforms.number(row.transform), right)
    name = values[row.attribute]
    return Leaf(
        row.kind,
        pools.attributes.number(as_instant(name) if row.is_instant else name),
        row.type,
        row.operation,
        pools.transforms.number(row.transform),
        other,
        _payload(row.low, values, pools),
        _payload(row.high, values, pools),
    )


def _number_of_term(term: tuple[Step, ...], values: Any, pools: Pools) -> int:
    steps = []
    for code, operand, transform in term:
        argument = 0
        if code == codes.TERM_ATTRIBUTE:
            argument = pools.attributes.number(values[operand.value])
        elif code == codes.TERM_NUMBER:
            value = values[operand.value]
            argument = pools.constants.number(0.0 - value if operand.source == NEGATED_SLOT else value)
        steps.append((code, argument, pools.transforms.number(transform)))
    return pools.terms.number(tuple(steps))


def _payload(operand: Operand, values: Any, pools: Pools) -> int:
    if operand.source == FIXED:
        return operand.value
    value = values[operand.value]
    if operand.source == STRING_SLOT:
        return string_payload(pools.strings.number(value), operand.side)
    if operand.source == INSTANT_SLOT:
        return int(value.microseconds) + operand.side
    return key_of(-value if operand.source == NEGATED_SLOT else value) + operand.side

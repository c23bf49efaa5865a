"""What the leaves of a recipe refer to, by table: entries with slots, read from a template's pools and filled.

A row for each table of `leaf_kinds`. `entry_columns.py` fills entries for all instances of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tocsin.columns.expressions.leaf_kinds import ATTRIBUTES, REGEXES
from tocsin.columns.expressions.pools import Pools, like_text, like_tokens
from tocsin.columns.expressions.recipes.names import Name
from tocsin.columns.expressions.recipes.slots import (
    FIXED,
    NOTHING,
    NoSlotError,
    Operand,
    number_in,
    number_operand,
    operand_of,
    payload_in,
    slot_of_text,
)
from tocsin.kernels import codes
from tocsin.language.templates import Values


class Step(NamedTuple):
    """An instruction of a term."""

    code: int  # TERM_ATTRIBUTE ..
    operand: Operand  # for `codes.WITH_ATTRIBUTE` the number of the name in the recipe
    transform: str


class Filling(NamedTuple):
    """One instance that is being filled."""

    names: tuple[Name, ...]  # of the recipe
    values: Values
    pools: Pools
    leaves: list[int]  # the numbers of the recipe's leaves so far

    def attribute(self, number: int) -> int:
        """The number of a name of the recipe."""
        return self.pools.attributes.number(self.names[number].filled(self.values))


class Entries(NamedTuple):
    """How the entries of a table get slots, and how these are filled."""

    read: Callable[[int, Pools, int], Any]
    """The entry that a number in the template's pools stands for, given the template's number of slots."""
    number: Callable[[Any, Filling], int]
    """The number of the filled entry in the instance's pools."""


def _read_set(number: int, pools: Pools, slots: int) -> tuple[tuple[int, Operand], ...]:
    return tuple((kind, operand_of(payload, kind, pools)) for kind, payload in pools.sets.items[number])


def _set(entry: tuple[tuple[int, Operand], ...], filling: Filling) -> int:
    elements = {(kind, payload_in(operand, filling.values, filling.pools)) for kind, operand in entry}
    return filling.pools.sets.number(tuple(sorted(elements)))


def _read_box(number: int, pools: Pools, slots: int) -> tuple[Operand, ...]:
    return tuple(map(number_operand, pools.boxes.items[number]))


def _box(entry: tuple[Operand, ...], filling: Filling) -> int:
    xmin, ymin, xmax, ymax = (number_in(edge, filling.values) for edge in entry)
    return filling.pools.boxes.number((xmin, ymin, xmax, ymax))


def _read_pattern(number: int, pools: Pools, slots: int) -> int:
    return slot_of_text(like_text(pools.patterns.items[number]))


def _pattern(entry: int, filling: Filling) -> int:
    return filling.pools.patterns.number(like_tokens(str(filling.values[entry])))


def _read_regex(number: int, pools: Pools, slots: int) -> tuple[int, str]:
    pattern, transform = pools.regexes.items[number]
    return slot_of_text(pattern), pools.transforms.items[transform]


def _regex(entry: tuple[int, str], filling: Filling) -> int:
    slot, transform = entry
    return filling.pools.regexes.number((str(filling.values[slot]), filling.pools.transforms.number(transform)))


def _read_term(number: int, pools: Pools, slots: int) -> tuple[Step, ...]:
    made = []
    for code, argument, transform in pools.terms.items[number]:
        operand = NOTHING
        if code in codes.WITH_ATTRIBUTE:
            operand = Operand(FIXED, argument)
        elif code == codes.TERM_NUMBER:
            operand = _number_of_term(pools.constants.items[argument], slots)
        elif code == codes.TERM_INSTANT:  # one with fractions of a second has further steps
            raise NoSlotError
        made.append(Step(code, operand, pools.transforms.items[transform]))
    return tuple(made)


def _number_of_term(number: float, slots: int) -> Operand:
    """The operand of a number. -1, by which a negated value is multiplied, is the parser's own."""
    if number == -1:
        return Operand(FIXED, -1)
    operand = number_operand(number)
    if operand.value >= slots:
        raise NoSlotError
    return operand


def _term(entry: tuple[Step, ...], filling: Filling) -> int:
    pools = filling.pools
    steps = []
    for code, operand, transform in entry:
        argument = 0
        if code in codes.WITH_ATTRIBUTE:
            argument = filling.attribute(operand.value)
        elif code == codes.TERM_NUMBER:
            argument = pools.constants.number(number_in(operand, filling.values))
        steps.append((code, argument, pools.transforms.number(transform)))
    return pools.terms.number(tuple(steps))


def _read_truth(number: int, pools: Pools, slots: int) -> tuple[tuple[int, int], ...]:
    return pools.truths.items[number]


def _truth(entry: tuple[tuple[int, int], ...], filling: Filling) -> int:
    steps = [(code, filling.leaves[at] if code == codes.TRUTH_LEAF else at) for code, at in entry]
    return filling.pools.truths.number(tuple(steps))


ENTRIES: Final[Mapping[str, Entries]] = {
    ATTRIBUTES: Entries(lambda number, pools, slots: number, lambda entry, filling: filling.attribute(entry)),
    "sets": Entries(_read_set, _set),
    "boxes": Entries(_read_box, _box),
    "patterns": Entries(_read_pattern, _pattern),
    REGEXES: Entries(_read_regex, _regex),
    "terms": Entries(_read_term, _term),
    "truths": Entries(_read_truth, _truth),
    "": Entries(lambda number, pools, slots: 0, lambda entry, filling: 0),
}
"""By the name of the table, as `LeafKind` names it; empty for nothing."""

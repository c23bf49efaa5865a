"""Constants of a recipe: payloads with slots, read from the placeholders of a template and filled for an instance."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tocsin.columns import payloads
from tocsin.columns.expressions.pools import Pools
from tocsin.columns.payloads import key_of, numbers_of, string_of, string_payload
from tocsin.kernels import codes
from tocsin.language.templates import FIRST_INSTANT, Values, placeholder, slot_of
from tocsin.model.values import Instant

# The sources of a recipe's operands.
FIXED: Final = 0  # the payload itself
NUMBER_SLOT: Final = 1
NEGATED_SLOT: Final = 2  # the number in a slot, negated
STRING_SLOT: Final = 3
INSTANT_SLOT: Final = 4


class Operand(NamedTuple):
    """An end of a range, an element of a set, an edge of a box or a number of a term."""

    source: int  # FIXED .. INSTANT_SLOT
    value: int  # a slot, or the payload
    side: int = payloads.AT  # or JUST_BELOW, JUST_ABOVE


NOTHING: Final = Operand(FIXED, 0)


class NoSlotError(Exception):
    """A leaf depends on its values in other ways than by holding them."""


def slot_of_text(text: str) -> int:
    """The slot of a string's placeholder."""
    slot = slot_of(text)
    if slot is None:
        raise NoSlotError
    return slot


def operand_of(payload: int, kind: int, pools: Pools, *, at_low_end: bool = False) -> Operand:
    """The operand that a payload of the template stands for."""
    if payload in (payloads.LOWEST, payloads.HIGHEST) or kind == codes.BOOLEAN:
        return Operand(FIXED, payload)
    if kind == codes.STRING:
        string = string_of(payload, at_low_end=at_low_end)
        return Operand(STRING_SLOT, slot_of_text(pools.strings.items[string]), payload - string_payload(string))
    if kind == codes.INSTANT:
        return _instant_operand(payload)
    for side in (payloads.AT, payloads.JUST_BELOW, payloads.JUST_ABOVE):
        number = float(numbers_of(np.array([payload - side]))[0])
        if slot_of(number) is not None:
            return number_operand(number)._replace(side=side)
    raise NoSlotError


def _instant_operand(payload: int) -> Operand:
    """The operand of an instant. Those before all placeholders are the operator's own, such as an open end."""
    for side in (payloads.AT, payloads.JUST_BELOW, payloads.JUST_ABOVE):
        moment = Instant(payload - side)
        slot = slot_of(moment)
        if slot is not None and placeholder("i", slot) == moment:
            return Operand(INSTANT_SLOT, slot, side)
    if payload < FIRST_INSTANT:
        return Operand(FIXED, payload)
    raise NoSlotError


def number_operand(number: float) -> Operand:
    """The operand that a number of the template stands for."""
    slot = slot_of(number)
    if slot is None:
        raise NoSlotError
    return Operand(NUMBER_SLOT if number > 0 else NEGATED_SLOT, slot)


def number_in(operand: Operand, values: Any) -> float:
    """The number of an operand for one instance."""
    if operand.source == FIXED:
        return float(operand.value)
    value: float = values[operand.value]
    return 0.0 - value if operand.source == NEGATED_SLOT else value + 0.0


def payload_in(operand: Operand, values: Values, pools: Pools) -> int:
    """The payload of an operand for one instance."""
    if operand.source == FIXED:
        return operand.value
    value: Any = values[operand.value]
    if operand.source == STRING_SLOT:
        return string_payload(pools.strings.number(value), operand.side)
    if operand.source == INSTANT_SLOT:
        return int(value.microseconds) + operand.side
    return key_of(-value if operand.source == NEGATED_SLOT else value) + operand.side

"""Compiled names with slots: an attribute, or a reading of it whose name holds a condition's text and constants.

The name of a reading (`model.readings`) is cut into fixed text and slots. Each slot is written as `language.canonical`
writes such a constant, so that filling a name gives what compiling the filled tree gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tocsin.columns.expressions.recipes.slots import slot_of_text
from tocsin.language.canonical import constant_text, instant_text, name_text
from tocsin.language.templates import MARK, SHAPE_PLACEHOLDER, slot_of, slots_of_name
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import EVERYTHING
from tocsin.model.readings import PART, reading_of
from tocsin.model.values import Instant, Shape

_Write: TypeAlias = Callable[[Any], str]


class Slot(NamedTuple):
    """A slot of a name, and how its value is written there."""

    number: int
    write: _Write


class Name(NamedTuple):
    """A compiled name: `form % texts of the slots`."""

    form: str
    slots: tuple[Slot, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is the name in a slot itself."""
        return self.form == "%s" and self.slots[0].write is str

    @property
    def has_one_slot(self) -> bool:
        """Whether it is a reading of an attribute that has no constants in its name."""
        return len(self.slots) == 1 and self.slots[0].write is str

    def filled(self, values: Sequence[Any]) -> str:
        """The name for one instance."""
        return self.form % tuple([write(values[number]) for number, write in self.slots])


def name_of(compiled: str) -> Name:
    """The name with slots that a template's compiled name stands for. Raises `NoSlotError` if it is not of a slot."""
    pieces = list(_pieces(compiled))
    form = "".join("%s" if isinstance(piece, Slot) else piece.replace("%", "%%") for piece in pieces)
    return Name(form, tuple(piece for piece in pieces if isinstance(piece, Slot)))


def _pieces(compiled: str) -> Iterator[str | Slot]:
    reading = reading_of(compiled)
    if reading.attribute in (EVERYTHING, ELEMENT):
        yield reading.attribute  # `element` as AT(items, 0) reads it, or beside SOME; elsewhere it is a slot
    else:
        numbers = slots_of_name(reading.attribute) or (slot_of_text(reading.attribute),)
        for place, number in enumerate(numbers):
            if place:
                yield "."
            yield Slot(number, str)
    if not reading.kind:
        return
    yield PART + reading.kind
    if reading.is_of_elements:
        yield PART
        yield from _pieces(reading.rest)
    elif len(compiled) > len(reading.attribute) + len(PART + reading.kind):
        yield PART
        yield from _pieces_of_text(reading.rest)


def _pieces_of_text(text: str) -> Iterator[str | Slot]:
    """The pieces of a condition in canonical text. Strings in it are placeholders, or fixed ones such as '..'."""
    end = 0
    for found in _CONSTANT.finditer(text):
        slot = _slot_in_text(str(found.lastgroup), found[0])
        if slot is not None:
            yield text[end : found.start()]
            yield slot
            end = found.end()
    yield text[end:]


_CONSTANT: Final = re.compile(
    rf"""(?P<name>"{MARK}\d+")
    |(?P<instant>DATE\('[0-9-]{{10}}'\))
    |(?P<string>'[^']*')
    |(?P<shape>{SHAPE_PLACEHOLDER})
    |(?P<number>(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?)""",
    re.VERBOSE,
)


def _slot_in_text(kind: str, text: str) -> Slot | None:
    """The slot of a placeholder in canonical text; None for anything else."""
    if kind == "name":
        return Slot(slot_of_text(text[1:-1]), name_text)
    if kind == "shape":
        return _slot(slot_of(Shape(text)), constant_text)
    if kind == "number":
        return _slot(slot_of(float(text)), _negated_text if text.startswith("-") else constant_text)
    if kind == "instant":
        return _slot(slot_of(Instant.parse(text[6:-2])), constant_text)
    if text[1:].startswith(MARK):
        return Slot(slot_of_text(text[1:-1]), constant_text)
    return _slot(slot_of(Instant.parse(text[1:-1])), _end_text) if _DATE.fullmatch(text) else None


_DATE: Final = re.compile(r"'\d{4}-\d\d-\d\d'")


def _slot(number: int | None, write: _Write) -> Slot | None:
    return None if number is None else Slot(number, write)


def _negated_text(value: float) -> str:
    return constant_text(0.0 - value)


def _end_text(value: Instant) -> str:
    """An end of an interval."""
    return f"'{instant_text(value)}'"

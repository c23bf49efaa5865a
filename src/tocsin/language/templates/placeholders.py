"""Placeholders: the names and constants that stand in the slots of a template's tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from tocsin.model.values import Instant, Shape

Scalar: TypeAlias = str | float | Instant | Shape
"""What a slot holds."""
Values: TypeAlias = Sequence[Scalar]

MARK: Final = "\x00"
"""The first character of placeholders for names and strings. A text that contains it has no template."""

FIRST_NUMBER: Final = 2.0**-20
"""The placeholder of a number in slot 0. It is small, so that it may be a coordinate, or a number of metres."""
_STEP: Final = 2.0**-40
_MOST_SLOTS: Final = 2**20
"""Slot i has `FIRST_NUMBER + i * _STEP`. No sum or difference of two placeholders is a placeholder."""

FIRST_INSTANT: Final = Instant.parse("9000-01-01").microseconds
"""The placeholder of an instant in slot 0; slot i has the i-th day after it."""
_DAY: Final = 86_400_000_000

_FIRST_SHAPE: Final = 2**40
SHAPE_PLACEHOLDER: Final = r"LINESTRING\ \(0\ 1099\d{9},\ 1\ 1099\d{9}\)"
"""A regular expression for the placeholders of shapes, with escaped spaces. Slot i has `_FIRST_SHAPE + i`."""
_SHAPE: Final = re.compile(r"LINESTRING \(0 (1099\d{9}), 1 \1\)")


def placeholder(kind: str, slot: int) -> Scalar:
    """The placeholder for a slot in a template's tree.

    `kind` is 'a' (attribute name), 's' (string), 'n' (number), 'i' (instant) or 'g' (shape).

    >>> placeholder("a", 0), placeholder("s", 1), placeholder("n", 2) == FIRST_NUMBER + 2 * 2**-40
    ('\\x000', '\\x001', True)
    """
    if kind == "i":
        return Instant(FIRST_INSTANT + slot * _DAY)
    if kind == "g":
        return Shape(f"LINESTRING (0 {_FIRST_SHAPE + slot}, 1 {_FIRST_SHAPE + slot})")
    return FIRST_NUMBER + slot * _STEP if kind == "n" else MARK + str(slot)


def slot_of(value: Scalar) -> int | None:
    """The slot of a placeholder, or of a negated placeholder; None for any other value.

    >>> slot_of("\\x001"), slot_of(-placeholder("n", 2)), slot_of(-1.0)
    (1, 2, None)
    """
    if isinstance(value, str):
        return int(value[1:]) if value.startswith(MARK) and value[1:].isdigit() else None
    if isinstance(value, Instant):
        return (value.microseconds - FIRST_INSTANT) // _DAY if value.microseconds >= FIRST_INSTANT else None
    if isinstance(value, Shape):
        found = _SHAPE.fullmatch(value.wkt)
        return int(found[1]) - _FIRST_SHAPE if found else None
    steps = (abs(value) - FIRST_NUMBER) / _STEP
    return int(steps) if 0 <= steps < _MOST_SLOTS and steps.is_integer() else None


def slots_of_name(name: str) -> tuple[int, ...]:
    """The slots of a name that SOME joins, of an object and its field; empty for any other text.

    >>> slots_of_name("\\x000.2"), slots_of_name("\\x001"), slots_of_name("a.b")
    ((0, 2), (), ())
    """
    return tuple(map(int, name[1:].split("."))) if _JOINED.fullmatch(name) else ()


_JOINED: Final = re.compile(rf"{MARK}\d+(?:\.\d+)+")


def placeholder_text(kind: str, slot: int) -> str:
    """A placeholder as it is written in a text."""
    value = placeholder(kind, slot)
    if isinstance(value, Shape):
        return value.wkt
    if isinstance(value, Instant):
        return f"'{value.isoformat()[:10]}'"
    return f'"{value}"' if kind == "a" else f"'{value}'" if kind == "s" else repr(value)


def sample(kinds: str, which: int) -> Values:
    """Values for the slots of a template that are written in unusual ways; there are two samples, 0 and 1."""
    return [_sample(kind, slot, which) for slot, kind in enumerate(kinds)]


def _sample(kind: str, slot: int, which: int) -> Scalar:
    if kind == "n":  # ascending, as the edges of a box
        return float(slot) if which else slot / 4 - 1e6 - 0.125
    if kind == "i":
        return Instant(slot * _DAY + which)
    if kind == "g":
        return Shape(f"LINESTRING (0 0, {slot + which} 1)")
    return f"the '{slot}' \"%\"" if which else f"n{slot}"

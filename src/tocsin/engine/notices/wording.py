"""The texts of warnings about the attributes of events."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tocsin.engine.seen import Seen
from tocsin.kernels import codes
from tocsin.language import constant_text, name_text
from tocsin.language.nearest import nearest
from tocsin.language.operators.function_value import types_read
from tocsin.model.elements import ELEMENT
from tocsin.model.readings import Reading, attribute_of, is_reading, reading_of
from tocsin.schemas import WORDS
from tocsin.spelling import option

_MOST_ADVICE: Final = 5_000
_MOST_COMPARED: Final = 200_000
"""The nearest name is looked up for so many attributes, and compared with so many names in all: some 0.2 s."""


class Wording:
    """The texts of warnings about observed attributes; `prefix` is the path of the list if they belong to elements."""

    def __init__(self, seen: Seen, prefix: str) -> None:
        self._seen, self._prefix = seen, prefix
        self._whose = "element" if prefix else "event"
        self._advised = 0

    @cached_property
    def _known(self) -> list[str]:
        return self._seen.names()

    def _nearest(self, attribute: str) -> str | None:
        self._advised += 1
        is_cheap = self._advised * len(self._known) <= _MOST_COMPARED
        return nearest(attribute, self._known) if is_cheap and self._advised <= _MOST_ADVICE else None

    def missing(self, name: str, types: int, *, is_compared: bool) -> str:
        """Why no value satisfies a condition on an attribute or its reading."""
        attribute = attribute_of(name)
        shown, own, is_list = name_text(attribute), self._seen.types.get(attribute, 0), reading_of(name).is_condition
        if is_reading(name) and not is_list:
            types, is_compared = 1 << _read_as(reading_of(name)), False
        if not own and self._prefix and attribute == ELEMENT:
            return "every element that came is an object or a list"
        if not own:
            near = self._nearest(attribute)
            advice = f"; did you mean {name_text(near)}?" if near else ""
            if is_compared and not near:
                advice = f"; write text in single quotes: {constant_text(attribute)}"
            return f"no {self._whose} has {f'a list {shown}' if is_list else shown}{advice}"
        if attribute in self._seen.texts and types & 1 << codes.STRING:
            return f"{shown} has the type 'text', so that its value is a list of words; use TEXT, or drop that type"
        types = 1 << codes.LIST if is_list else types
        kind = codes.GEOMETRY if types >> codes.GEOMETRY & 1 else (types & -types).bit_length() - 1
        advice = self._advice(attribute, kind, own & ~(1 << codes.UNTYPED))
        return f"every {shown} that came is {self._came(attribute)}, never {_listed(types & _SHOWN, kind)}{advice}"

    def _came(self, attribute: str) -> str:
        """The types of an attribute's values in words."""
        types = self._seen.types.get(attribute, 0)
        untyped = types >> codes.UNTYPED & 1
        typed = [_listed(types & ~(1 << codes.UNTYPED))] if types != 1 << codes.UNTYPED else []
        return " or ".join([*typed, *([self._seen.untyped(attribute)] if untyped else [])])

    def _advice(self, attribute: str, kind: int, came: int) -> str:
        """What to write, or to do with the events."""
        whole = self._prefix + attribute
        if came == 1 << codes.LIST and kind <= codes.INSTANT:
            return "; use A_CONTAINS, A_OVERLAPS or ANY for lists"
        if came == 1 << codes.INSTANT and kind in (codes.STRING, codes.NUMBER):
            return "; write a constant such as DATE('2024-05-31')"
        if came != 1 << codes.STRING:
            return ""
        if kind in _SCHEMA:
            odd = None if self._prefix else self._seen.unreadable(attribute, _SCHEMA[kind])
            if odd is not None:
                return f"; texts such as {odd!r:.40} are not {_PLURALS[kind]}: convert them before the match"
            return f"; to read its texts so, pass {option('schema', {whole: _SCHEMA[kind]})}"
        if kind == codes.LIST:
            return f"; use TEXT for its words, or make a list of them with {option('schema', {whole: 'text'})}"
        return "; write date and time as 2024-06-01T08:15:00Z" if kind == codes.INSTANT else ""

    def always_null(self, name: str, types: int) -> str:
        """Why a value computed from an attribute is always null."""
        attribute = attribute_of(name)
        own = self._seen.types.get(attribute, 0)
        if not own:
            return f"always true: no {self._whose} has {name_text(attribute)}"
        kind = (types & -types).bit_length() - 1
        return f"always true: every {name_text(attribute)} that came is {self._came(attribute)}, never {WORDS[kind]}"

    def no_nulls(self, name: str) -> str:
        """Why no event can have an attribute without a value."""
        shown = name_text(name)
        return f"in these events a null is the same as absence, so GIVEN({shown}) is the same as {shown} IS NOT NULL"

    def of_two(self, name: str, other: str) -> str:
        """Why two attributes can never be compared."""
        first, second = attribute_of(name), attribute_of(other)
        return (
            f"{name_text(first)} and {name_text(second)} are never of one type: every {name_text(first)} that came is "
            f"{self._came(first)}, every {name_text(second)} {self._came(second)}"
        )

    def no_places(self, name: str) -> str:
        """How many lists of an attribute are not places."""
        count = self._seen.no_places[name]
        lists = "1 list that came is not a place" if count == 1 else f"{count:,} lists that came are not places"
        return (
            f"{lists}: a point is two numbers, a box four with the left and lower edges first; with altitude three "
            "and six"
        )

    def of_items(self, name: str, types: int) -> str:
        """Why the lists of an attribute never contain some constants."""
        own = self._seen.items.get(name, 0)
        if not own:
            return f"every {name_text(name)} that came is empty"
        wanted = _listed(types & ~own)
        return f"every element of {name_text(name)} that came is {_listed(own)}, never {wanted}"


_SHOWN: Final = 1 << codes.NUMBER | 1 << codes.STRING | 1 << codes.BOOLEAN | 1 << codes.INSTANT


def _listed(types: int, or_else: int = -1) -> str:
    """Types in words."""
    if or_else >= 0 and types.bit_count() != 2:
        return WORDS[or_else]
    return " or ".join(word for code, word in WORDS.items() if types >> code & 1) or "a range"


def _read_as(reading: Reading) -> int:
    """The type of the values that a reading is made from."""
    if reading.is_value:
        types = types_read(reading)
        return (types & -types).bit_length() - 1
    return codes.GEOMETRY if reading.is_of_place else codes.STRING if reading.is_of_text else codes.INSTANT


_SCHEMA: Final = {codes.NUMBER: "number", codes.BOOLEAN: "boolean"}
_PLURALS: Final = {codes.NUMBER: "numbers", codes.BOOLEAN: "booleans"}

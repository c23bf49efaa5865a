"""Reading of the values of a text whose template is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from tocsin.errors import UnsupportedError
from tocsin.language import rules
from tocsin.language.misplaced import Misplaced
from tocsin.language.templates.filling import Template
from tocsin.language.templates.placeholders import Scalar, Values, slot_of
from tocsin.model.shapes import shape_of
from tocsin.model.values import LARGEST_INTEGER, Instant, Shape

Check: TypeAlias = Callable[[Values], bool]
_ADVISED: Final = 20
"""Texts of each form that are checked for advice, each at the cost of `parse`."""


@dataclass(slots=True)
class Reader:
    """Reads the values of a template from the words of a text, and checks them."""

    template: Template
    numbers: list[int]
    strings: list[int]
    quoted_names: list[int]
    instants: list[tuple[int, str]]  # with their marks
    shapes: list[int]
    pick: Callable[[list[Any]], tuple[Scalar, ...]]
    checks: list[Check]
    unadvised: int = _ADVISED  # texts still to be checked for advice

    def read(self, words: list[Any], text: str, shapes: Mapping[str, Shape]) -> tuple[Scalar, ...] | None:
        """The values, or None when `parse` would reject one of them. Modifies `words`; `shapes` are known ones."""
        for at in self.numbers:
            number = float(words[at])
            if not -LARGEST_INTEGER < number < LARGEST_INTEGER and not _is_number(words[at], number):
                return None
            words[at] = number + 0.0  # + 0.0 turns negative zero into zero
        for at in self.strings:
            words[at] = words[at][1:-1]
        if "''" in text:
            for at in self.strings:
                words[at] = words[at].replace("''", "'")
        for at in self.quoted_names:
            words[at] = words[at][1:-1].replace('""', '"')
        for at, mark in self.instants:
            words[at] = _instant(words[at][1:-1], mark)
            if words[at] is None:
                return None
        for at in self.shapes:
            words[at] = shapes.get(words[at]) or _shape(words[at])
            if words[at] is None:
                return None
        values = self.pick(words)
        for check in self.checks:
            if not check(values):
                return None
        return values


def _is_number(written: str, value: float) -> bool:
    written = written.strip()
    try:
        rules.number(value, written, written.lstrip("+-").isdigit())
    except Misplaced:
        return False
    return True


def _instant(written: str, mark: str) -> Instant | None:
    """The instant that DATE, TIMESTAMP or INTERVAL makes of a string.

    None when `parse` rejects it, or it has quotes in it.
    """
    if mark == "d" and len(written) != 10:
        return None
    try:
        value = rules.instant(written)
    except Misplaced:
        return None
    return value if slot_of(value) is None else None


def _shape(written: str) -> Shape | None:
    try:
        return shape_of(written)
    except (UnsupportedError, ValueError):
        return None


def picker(slots: list[int]) -> Callable[[list[Any]], tuple[Scalar, ...]]:
    """A function that picks the words in the slots, as a tuple."""
    if len(slots) > 1:
        return cast(Callable[[list[Any]], tuple[Scalar, ...]], itemgetter(*slots))
    return lambda words: tuple([words[at] for at in slots])

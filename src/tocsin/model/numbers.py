"""Numbers that strings spell: the values of the function NUMBER."""

from __future__ import annotations

import math
import re
from typing import Final

from tocsin.model.values import Value

_SPELLED: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """The number that a whole string spells, rounded to float64; None if it spells none.

    >>> read_number("5"), read_number("-.5e1"), read_number(" 5"), read_number("0x5"), read_number("1e999")
    (5.0, -5.0, None, None, None)
    """
    if _SPELLED.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def as_number(value: Value | None) -> float | None:
    """A number itself, a boolean as 1 or 0, and a string as the number that it spells; None for all else.

    >>> as_number(True), as_number("7"), as_number(("7",))
    (1.0, 7.0, None)
    """
    if isinstance(value, str):
        return read_number(value)
    return float(value) if isinstance(value, bool | float) else None

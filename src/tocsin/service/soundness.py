"""Sound JSON: what a database stores, and every reader of JSON reads again.

Everything that is stored from a body comes through here. A quick look at the bytes leaves most texts alone. Only those
that may be unsound are walked.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.service.problems import Problem

MOST_DEPTH: Final = 64
"""Objects and lists within each other."""
_MOST_PATH: Final = 100
"""Characters of a path that a message repeats."""
_SHAPE: Final = bytes.maketrans(b"123456789E", b"000000000e")
"""Digits become 0, so that a search for a few bytes finds all numbers of a form."""
_LONG: Final = b"0" * 200
"""A number with fewer digits, and an exponent of at most two, is below 1e300."""
_HUGE: Final = re.compile(rb"0e0000*(?:[\s,\]}]|$)")
"""A number with an exponent of three digits or more, in the shape of a text without plus signs."""
_SURROGATE: Final = re.compile(rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F])?")
"""An escaped surrogate, with its other half if it has one."""
_WITHOUT_HALF: Final = len(rb"\ud")

_Place: TypeAlias = "tuple[_Place, str] | None"
"""Where a value is: in what, and under which key or index."""


class Fault(NamedTuple):
    """A value of a document that is refused."""

    path: str  # such as `payload.notes[2]`; empty for the document itself
    reason: str
    status: int = 400

    def __str__(self) -> str:
        return f"{self.reason} at {self.path}" if self.path else self.reason


def require_sound(value: Any, text: bytes) -> None:
    """Raise a `Problem` with the place of an unsound value. `value` is what `text` was parsed to."""
    if may_be_unsound(text) and (fault := fault_of(value)) is not None:
        raise Problem(fault.status, "json", str(fault), field=fault.path or None)


def may_be_unsound(text: bytes) -> bool:
    """Whether a JSON text may be unsound. Cost: about 1 ns a byte."""
    return text.count(b"{") + text.count(b"[") > MOST_DEPTH or _has_odd_values(text)


def may_have_unsound(text: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> bool:
    """Whether one of several lines may be unsound: line i is `text[starts[i]:stops[i]]`. Cost: about 3 ns a byte."""
    if _has_odd_values(text):
        return True
    openings = np.flatnonzero((np.frombuffer(text, np.uint8) | 32) == ord("{"))  # the bit by which [ differs
    counts = np.searchsorted(openings, stops) - np.searchsorted(openings, starts)
    return bool((counts > MOST_DEPTH).any())


def _has_odd_values(text: bytes) -> bool:
    """Whether a text may have a lone surrogate, or a number beyond those of 64 bits."""
    if b"\\u" in text and _has_lone_surrogate(text):
        return True
    shape = text.translate(_SHAPE, b"+")
    return _LONG in shape or (b"0e000" in shape and _HUGE.search(shape) is not None)


def _has_lone_surrogate(text: bytes) -> bool:
    if b"\\\\u" in text:  # the second backslash is not the beginning of an escape
        return True
    if b"\\ud" not in text and b"\\uD" not in text:
        return False
    return any(match.end() - match.start() == _WITHOUT_HALF for match in _SURROGATE.finditer(text))


def fault_of(value: Any) -> Fault | None:
    """The first unsound value of a document; None if there is none. No depth is too much for it."""
    waiting: list[tuple[Any, _Place, int]] = [(value, None, 0)]
    while waiting:
        value, place, depth = waiting.pop()
        if isinstance(value, dict | list):
            if depth == MOST_DEPTH:
                return Fault(_path(place), f"the JSON is more than {MOST_DEPTH} levels deep")
            for key in value if isinstance(value, dict) else ():
                if not _is_unicode(key):
                    return Fault(_path((place, f".{key}")), "the JSON has a lone surrogate in a name")
            waiting += [(inner, (place, key), depth + 1) for key, inner in reversed(_members(value))]
        elif isinstance(value, str):
            if not _is_unicode(value):
                return Fault(_path(place), "the JSON has a lone surrogate")
        elif isinstance(value, int | float) and not _is_finite(value):
            return Fault(_path(place), "the JSON has a number beyond 1.8e308, the largest of 64 bits", 422)
    return None


def _members(value: dict[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f".{name}", inner) for name, inner in value.items()]
    return [(f"[{place}]", inner) for place, inner in enumerate(value)]


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer
        return False


def _path(place: _Place) -> str:
    """A place as a text that can be encoded."""
    keys: list[str] = []
    while place is not None:
        place, key = place
        keys.append(key)
    path = "".join(reversed(keys)).removeprefix(".")[:_MOST_PATH]
    return path.encode("utf-8", "backslashreplace").decode()

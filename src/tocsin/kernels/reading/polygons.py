"""Corners of polygons, from well-known text in the one form in which conditions hold it.

A text of another form, or of another geometry, is not read: the caller leaves it to a library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.kernels.reading.decimals import SLOW, read_decimal

_OPENS, _CLOSES, _COMMA, _BLANK, _M = 40, 41, 44, 32, 77
_LEAST = 4
"""Corners of a ring, with its first one again at the end."""


class Corners(NamedTuple):
    """Rings of some texts, to be filled. S texts, room for R rings and V corners."""

    bounds: NDArray[np.float64]  # (S, 4)
    rings: NDArray[np.int64]  # (S,) number of rings of each text; 0 if it is not read
    corners: NDArray[np.int64]  # (R,) number of corners of each ring, with its first one again at the end
    places: NDArray[np.float64]  # (V, 2)


@kernel
def read_polygons(text: NDArray[np.uint8], starts: NDArray[np.int64], out: Corners) -> tuple[int, int]:
    """The number of rings and of corners that were filled.

    There must be room for a ring at each parenthesis, and for a corner at each comma and at each text.
    """
    bounds, own, corners, places = out
    rings, count = np.int64(0), np.int64(0)
    for s in range(len(starts) - 1):
        last = count
        own[s], count = _read_text(text, starts[s], starts[s + 1], corners[rings:], places, last)
        rings += own[s]
        bounds[s, 0] = bounds[s, 1] = np.inf
        bounds[s, 2] = bounds[s, 3] = -np.inf
        for v in range(last, count):
            for axis in range(2):
                bounds[s, axis] = min(bounds[s, axis], places[v, axis])
                bounds[s, axis + 2] = max(bounds[s, axis + 2], places[v, axis])
    return rings, count


@inner
def _read_text(
    text: NDArray[np.uint8],
    i: int,
    stop: int,
    corners: NDArray[np.int64],
    places: NDArray[np.float64],
    first: int,
) -> tuple[int, int]:
    """The number of rings of a text, and the place after its corners; 0 and `first` if it is not read."""
    zero, count, rings = np.int64(0), first, np.int64(0)
    is_many = i < stop and text[i] == _M
    i = _after(text, i, stop, b"MULTIPOLYGON (" if is_many else b"POLYGON ")
    while i >= 0:  # a polygon
        i = _after_byte(text, i, stop, _OPENS)
        while i >= 0:  # a ring
            begin = count
            i, count = _read_ring(text, i, stop, places, count)
            if i < 0:
                return zero, first
            corners[rings], rings = count - begin, rings + 1
            more = _after_comma(text, i, stop)
            if more < 0:
                break
            i = more
        i = _after_byte(text, i, stop, _CLOSES)
        more = _after_comma(text, i, stop)
        if not is_many or more < 0:
            break
        i = more
    if is_many:
        i = _after_byte(text, i, stop, _CLOSES)
    return (rings, count) if i == stop else (zero, first)


@inner
def _read_ring(text: NDArray[np.uint8], i: int, stop: int, places: NDArray[np.float64], count: int) -> tuple[int, int]:
    """The places after a ring and after its corners, or SLOW."""
    begin = count
    i = _after_byte(text, i, stop, _OPENS)
    while i >= 0:
        for axis in range(2):
            if i < 0 or i >= stop:
                return SLOW, begin
            i, places[count, axis], is_exact = read_decimal(text, i, stop)
            if i < 0 or not is_exact:
                return SLOW, begin
            if axis == 0:
                i = _after_byte(text, i, stop, _BLANK)
        count += 1
        more = _after_comma(text, i, stop)
        if more < 0:
            break
        i = more
    i = _after_byte(text, i, stop, _CLOSES)
    is_closed = (
        count - begin >= _LEAST
        and places[begin, 0] == places[count - 1, 0]
        and places[begin, 1] == places[count - 1, 1]
    )
    return (i, count) if i >= 0 and is_closed else (SLOW, begin)


@inlined
def _after_byte(text: NDArray[np.uint8], i: int, stop: int, byte: int) -> int:
    """The place after a byte, or SLOW; also where `i` is SLOW."""
    return i + 1 if 0 <= i < stop and text[i] == byte else SLOW


@inlined
def _after_comma(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The place after a comma and a blank, or SLOW."""
    return _after_byte(text, _after_byte(text, i, stop, _COMMA), stop, _BLANK)


@inlined
def _after(text: NDArray[np.uint8], i: int, stop: int, word: bytes) -> int:
    """The place after a word, or SLOW."""
    if i + len(word) > stop:
        return SLOW
    for k in range(len(word)):
        if text[i + k] != word[k]:
            return SLOW
    return i + len(word)

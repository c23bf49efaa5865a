"""The directory of fields: one cache line each, with how values become codes and where the field's lists lie.

Separate arrays by field would cost one cache miss each. A field whose operands are close together also has them as a
bitmap: the code of a value is then a bit count, not a search. A run of equalities has a table of where each operand's
entries begin. Most events find none there, and need not read an entry to know.

The directory is computed from the lists when an index is made or loaded.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.layouts import Hashing, Lists
from tocsin.index.fields.kernels.keys import code_of
from tocsin.jit.decorators import inlined, pasted
from tocsin.jit.intrinsics import count_bits
from tocsin.jit.views import kind_of
from tocsin.kernels import codes
from tocsin.kernels.numbers import key_of_number, number_of_key

# A field's row has WIDTH numbers, 64 bytes. Ranges of entries are `first | stop << 32`.
WIDTH: Final = 8
ABOUT: Final = 0  # kind | transform << 8 | CODED | BITS
LOWEST: Final = 1  # with BITS: the lowest operand; for numbers, the integer at or below it
WORD: Final = 2  # with BITS: the bitmap if it is one word, else where its words begin
SPAN: Final = 3  # with BITS: words | operands << 32
SINGLES: Final = 4  # the field's singles
CONJUNCTIONS: Final = 5  # its conjunctions
EQUALITIES: Final = 6  # those of them with steps; if none, an empty range behind the conjunctions
STEPS: Final = 7  # where the steps begin, -1 if there are none

KIND_MASK: Final = 0xFF
TRANSFORM_SHIFT: Final = 8
TRANSFORM_MASK: Final = 0xFFFF
CODED: Final = 1 << 32  # lists are looked up by the field's code; otherwise it is computed when a predicate needs it
BITS: Final = 1 << 33  # the field's operands are a bitmap
FINE: Final = 1 << 34  # three bits an integer: the float64 before it, itself, the next float64 (where `> 5` begins)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)
BEFORE_ZERO = np.int64(-1)  # not the key of a number: the end of `< 0`
_FAR = 2.0**60
_BEHIND_ALL = np.int64(2**62)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


class Directory(NamedTuple):
    """The directory. D fields; W words of bitmaps."""

    rows: NDArray[np.int64]  # (WIDTH D,) aligned to cache lines
    words: NDArray[
        np.uint64
    ]  # (2 W,) for 64 neighbouring integers: the operands among them, and how many operands are lower
    nulls: NDArray[np.int32]  # (2 N,) each field of kind NULL, and its attribute
    steps: NDArray[np.uint16]  # operand o has entries [steps[o], steps[o + 1]) of the field's EQUALITIES


class Index(NamedTuple):
    """The tables of an index that matching reads."""

    lists: Lists
    directory: Directory
    sure: Hashing
    likely: Hashing


INDEX: Final = kind_of(Index)


@pasted
def row_of(field: int) -> int:
    """Where a field's row begins."""
    return np.uint64(field) * np.uint64(WIDTH)


@pasted
def column(rows: NDArray[np.int64], row: int, number: int) -> int:
    """A number of a row."""
    return rows[row + np.uint64(number)]


@pasted
def entries(rows: NDArray[np.int64], row: int, number: int) -> tuple[int, int]:
    """A range of entries of a row."""
    both = np.uint64(rows[row + np.uint64(number)])
    return both & _LOW_HALF, both >> _HALF


@pasted
def packed_entries(first: int, stop: int) -> int:
    """A range of entries as one number of a row."""
    return np.int64(first) | (np.int64(stop) << 32)


@inlined
def field_code(index: Index, field: int, payload: int) -> int:
    """The rank code of a value of a field."""
    rows = index.directory.rows
    row = row_of(field)
    about = rows[row]
    if about & BITS:
        return _code_by_bits(rows, index.directory.words, row, about, payload)
    fields, at = index.lists.fields, np.uint64(field)
    return code_of(fields.operands, fields.operand_starts[at], fields.operand_starts[at + _ONE], payload)


@inlined
def _code_by_bits(rows: NDArray[np.int64], words: NDArray[np.uint64], row: int, about: int, payload: int) -> int:
    place, exact = bit_place(about & KIND_MASK, about & FINE, column(rows, row, LOWEST), payload)
    if place < 0:
        return np.int64(0)
    count, operands = entries(rows, row, SPAN)
    at = np.uint64(place)
    if at >> _SIX >= count:
        return np.int64(operands << _ONE)
    word = np.uint64(column(rows, row, WORD))
    lower = _ZERO
    if count > _ONE:
        pair = (word + (at >> _SIX)) << _ONE
        word, lower = words[pair], words[pair + _ONE]
    bit = at & _LOW_SIX
    lower += count_bits(word & ((_ONE << bit) - _ONE))
    return np.int64((lower << _ONE) + ((word >> bit) & exact))


@inlined
def bit_place(kind: int, fine: int, low: int, payload: int) -> tuple[int, int]:
    """The bit of a payload, and 1 if the bit is its own, or 0 if it lies between that bit and the one before.

    It is below 0 before all bits, and far behind the last bit if it is too large to compute.
    """
    if kind != codes.NUMBER:
        if payload < low:
            return np.int64(-1), _ZERO
        place = np.uint64(payload) - np.uint64(low)
        return np.int64(min(place, np.uint64(_BEHIND_ALL))), _ONE
    value = number_of_key(payload)
    if not abs(value) < _FAR:
        return (_BEHIND_ALL if value > 0.0 else np.int64(-1)), _ZERO
    whole = -1.0 if payload == BEFORE_ZERO else np.floor(value)
    place = np.int64(whole) - low
    if not fine:
        between = whole != value
        return place + np.int64(between), np.uint64(not between)
    place = 3 * place + 1
    if whole == value:
        return place, _ONE
    if payload == key_of_number(whole) + 1:
        return place + 1, _ONE
    return place + 2, np.uint64(payload == key_of_number(whole + 1.0) - 1)

"""How do JSON lines become columns without a Python object per value?

These kernels read the plain lines, which are nearly all: an object whose wanted values are numbers, strings without
escapes, booleans, null and flat lists of them. Whatever else a line holds, valid or not, makes it SLOW: it is left
to the standard parser, so that these kernels never decide what is an error. They accept nothing that it refuses and
read nothing otherwise than it does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.jit import kernel
from tocsin.kernels.terms import key_of_number

SLOW = np.int64(-1)
_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_EXACT = np.int64(2**53)
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
_LONGEST_NUMBER = 64  # bytes; a longer one is left to the standard parser
_DEEPEST = 60  # levels of a value that nobody wants; deeper ones are left to the standard parser


class Names(NamedTuple):
    """A hash table of the wanted attributes. A attributes, H places (a power of two), at most half of them taken."""

    places: NDArray[np.int32]  # (H,) number of a name, -1 for none
    starts: NDArray[np.int64]  # (A + 1,)
    data: NDArray[np.uint8]  # names as UTF-8; those from `wanted` on are only prefixes of wanted ones
    wanted: int


class Entries(NamedTuple):
    """Room for what a block of lines holds. N entries, M list elements, S strings, H places (a power of two)."""

    values: NDArray[np.int64]  # (N, 3) attribute, type, payload; a list's payload is its number
    ends: NDArray[np.int64]  # (lines,) entries up to the end of each line
    list_ends: NDArray[np.int64]  # (N,) elements up to the end of each list
    elements: NDArray[np.int64]  # (M, 2) type, payload; in order, doubles included
    string_places: NDArray[np.int32]  # (H,) number of a string, -1 for none
    strings: NDArray[np.int64]  # (S, 2) start and stop in the text
    pending: NDArray[np.int64]  # (N + M, 3) numbers for Python: entry (or -1 - element), start, stop in the text
    counts: NDArray[np.int64]  # (5,) entries, lists, elements, strings, pending


ENTRIES, LISTS, ELEMENTS, STRINGS, PENDING = 0, 1, 2, 3, 4


@kernel
def split_lines(
    text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], numbers: NDArray[np.int64]
) -> int:
    """Find the lines that are not blank: their places, and their numbers counted from 0. Returns how many."""
    count = 0
    line = 0
    start = 0
    blank = True
    for i in range(len(text) + 1):
        if i == len(text) or text[i] == 10:
            if not blank:
                starts[count] = start
                stops[count] = i
                numbers[count] = line
                count += 1
            line += 1
            start = i + 1
            blank = True
        elif text[i] > 32 or (text[i] != 32 and (text[i] < 9 or text[i] > 13)):
            blank = False
    return count


@kernel
def read_lines(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    valid_utf8: bool,
    names: Names,
    entries: Entries,
    seen: NDArray[np.int64],
    slow: NDArray[np.uint8],
) -> None:
    """Read each plain line's entries; mark the others in `slow`. `seen` (-1 each) remembers attributes by line."""
    counts = entries.counts
    for line in range(len(starts)):
        before_entries, before_lists, before_elements = counts[ENTRIES], counts[LISTS], counts[ELEMENTS]
        before_pending = counts[PENDING]
        plain = valid_utf8 or _is_ascii(text, starts[line], stops[line])
        if not plain or not read_object(text, starts[line], stops[line], line, names, entries, seen):
            slow[line] = 1
            counts[ENTRIES] = before_entries
            counts[LISTS] = before_lists
            counts[ELEMENTS] = before_elements
            counts[PENDING] = before_pending
        entries.ends[line] = counts[ENTRIES]


@kernel
def _is_ascii(text: NDArray[np.uint8], i: int, stop: int) -> bool:
    for at in range(i, stop):
        if text[at] >= 128:
            return False
    return True


@kernel
def read_object(
    text: NDArray[np.uint8], i: int, stop: int, line: int, names: Names, entries: Entries, seen: NDArray[np.int64]
) -> bool:
    """Read the object of one line; False where it is not plain."""
    values, counts, pending = entries.values, entries.counts, entries.pending
    places, strings = entries.string_places, entries.strings
    elements, list_ends = entries.elements, entries.list_ends
    name_places, name_starts, name_data = names.places, names.starts, names.data
    wanted = names.wanted
    i = blanks(text, i, stop)
    if i >= stop or text[i] != 123:  # {
        return False
    i = blanks(text, i + 1, stop)
    if i < stop and text[i] == 125:  # }
        return blanks(text, i + 1, stop) == stop
    while True:
        if i >= stop or text[i] != 34:  # "
            return False
        end, key_hash = string_end(text, i + 1, stop)
        if end < 0:
            return False
        name = find_name(text, i + 1, end, key_hash, name_places, name_starts, name_data)
        i = blanks(text, end + 1, stop)
        if i >= stop or text[i] != 58:  # :
            return False
        i = blanks(text, i + 1, stop)
        if 0 <= name < wanted:
            if seen[name] == line:
                return False
            seen[name] = line
            number = counts[ENTRIES]
            if i < stop and text[i] == 91:  # [
                i = read_list(text, i + 1, stop, elements, pending, places, strings, counts)
                values[number, 1] = codes.LIST
                values[number, 2] = counts[LISTS]
                list_ends[counts[LISTS]] = counts[ELEMENTS]
                counts[LISTS] += 1
                state = _KNOWN
            else:
                start = i
                i, kind, payload, state = read_scalar(text, i, stop)
                if kind == codes.STRING and i > 0:
                    payload = string_number(text, start + 1, i - 1, np.uint64(payload), places, strings, counts)
                if state == _LATER:
                    _put_off(pending, counts, number, start, i)
                values[number, 1] = kind
                values[number, 2] = payload
            values[number, 0] = name
            counts[ENTRIES] = number + (state != _ABSENT)
        else:
            i = skip_value(text, i, stop, name < 0)
        if i < 0:
            return False
        i = blanks(text, i, stop)
        if i >= stop:
            return False
        if text[i] == 125:  # }
            return blanks(text, i + 1, stop) == stop
        if text[i] != 44:  # ,
            return False
        i = blanks(text, i + 1, stop)


@kernel
def blanks(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The first place from i on that is no white space of JSON."""
    while i < stop and (text[i] == 32 or text[i] == 9 or text[i] == 13 or text[i] == 10):
        i += 1
    return i


@kernel
def string_end(text: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int]:
    """The place of the closing quote and a hash of what stands before it; SLOW at an escape or control character."""
    value = _BASIS
    while i < stop:
        byte = text[i]
        if byte == 34:
            return i, value
        if byte == 92 or byte < 32:
            break
        value = (value ^ np.uint64(byte)) * _PRIME
        i += 1
    return SLOW, value


@kernel
def _same(text: NDArray[np.uint8], i: int, other: NDArray[np.uint8], j: int, length: int) -> bool:
    for k in range(length):
        if text[i + k] != other[j + k]:
            return False
    return True


@kernel
def find_name(
    text: NDArray[np.uint8],
    i: int,
    end: int,
    key_hash: int,
    places: NDArray[np.int32],
    starts: NDArray[np.int64],
    data: NDArray[np.uint8],
) -> int:
    """The number of the name text[i:end], or -1."""
    mask = np.uint64(len(places) - 1)
    place = (key_hash ^ (key_hash >> np.uint64(32))) & mask
    while places[place] >= 0:
        name = np.int64(places[place])
        length = starts[name + 1] - starts[name]
        if length == end - i and _same(text, i, data, starts[name], length):
            return name
        place = (place + np.uint64(1)) & mask
    return np.int64(-1)


@kernel
def string_number(
    text: NDArray[np.uint8],
    i: int,
    end: int,
    key_hash: int,
    places: NDArray[np.int32],
    strings: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """The number of the string text[i:end] in the block's dictionary, a new one if need be."""
    mask = np.uint64(len(places) - 1)
    place = (key_hash ^ (key_hash >> np.uint64(32))) & mask
    while places[place] >= 0:
        number = np.int64(places[place])
        start = strings[number, 0]
        if strings[number, 1] - start == end - i and _same(text, i, text, start, end - i):
            return number
        place = (place + np.uint64(1)) & mask
    number = counts[STRINGS]
    places[place] = number
    strings[number, 0] = i
    strings[number, 1] = end
    counts[STRINGS] = number + 1
    return number


@kernel
def read_list(
    text: NDArray[np.uint8],
    i: int,
    stop: int,
    elements: NDArray[np.int64],
    pending: NDArray[np.int64],
    places: NDArray[np.int32],
    strings: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Append the elements of a flat list of scalars; returns the place behind it, or SLOW."""
    i = blanks(text, i, stop)
    if i < stop and text[i] == 93:  # ]
        return i + 1
    while True:
        element = counts[ELEMENTS]
        end, kind, payload, state = read_scalar(text, i, stop)
        if end < 0:
            return SLOW
        if kind == codes.STRING:
            payload = string_number(text, i + 1, end - 1, np.uint64(payload), places, strings, counts)
        if state == _LATER:
            _put_off(pending, counts, -1 - element, i, end)
        elements[element, 0] = kind
        elements[element, 1] = payload
        counts[ELEMENTS] = element + (state != _ABSENT)
        i = blanks(text, end, stop)
        if i >= stop:
            return SLOW
        if text[i] == 93:
            return i + 1
        if text[i] != 44:  # ,
            return SLOW
        i = blanks(text, i + 1, stop)


@kernel
def _put_off(pending: NDArray[np.int64], counts: NDArray[np.int64], where: int, start: int, stop: int) -> None:
    """Leave a number to Python's own conversion."""
    number = counts[PENDING]
    pending[number, 0] = where
    pending[number, 1] = start
    pending[number, 2] = stop
    counts[PENDING] = number + 1


_KNOWN, _ABSENT, _LATER = 0, 1, 2


@kernel
def read_scalar(text: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int, int, int]:
    """The place behind a scalar (or SLOW), its type and payload, and whether these are known, absent or for later.

    The payload of a string is its hash.
    """
    zero = np.int64(0)
    if i >= stop:
        return SLOW, zero, zero, zero
    byte = text[i]
    if byte == 34:  # "
        end, key_hash = string_end(text, i + 1, stop)
        return (end + 1 if end >= 0 else SLOW), np.int64(codes.STRING), np.int64(key_hash), np.int64(_KNOWN)
    if byte == 45 or 48 <= byte <= 57:  # - or a digit
        end, key, exact = read_number(text, i, stop)
        return end, np.int64(codes.NUMBER), key, np.int64(_KNOWN if exact or end < 0 else _LATER)
    end = literal_end(text, i, stop)
    if byte == 110:  # null
        return end, np.int64(codes.UNTYPED), zero, np.int64(_ABSENT)
    return end, np.int64(codes.BOOLEAN), np.int64(byte == 116), np.int64(_KNOWN)


@kernel
def literal_end(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The place behind `true`, `false` or `null`, or SLOW."""
    if i + 4 <= stop and text[i] == 116 and text[i + 1] == 114 and text[i + 2] == 117 and text[i + 3] == 101:
        return i + 4
    if i + 4 <= stop and text[i] == 110 and text[i + 1] == 117 and text[i + 2] == 108 and text[i + 3] == 108:
        return i + 4
    if i + 5 <= stop and text[i] == 102 and text[i + 1] == 97 and text[i + 2] == 108:
        if text[i + 3] == 115 and text[i + 4] == 101:
            return i + 5
    return SLOW


@kernel
def _digits(text: NDArray[np.uint8], i: int, stop: int) -> int:
    while i < stop and 48 <= text[i] <= 57:
        i += 1
    return i


@kernel
def number_end(text: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int, int]:
    """The place behind a number (or SLOW), the place behind its whole part, and that behind its fraction."""
    start = i
    if text[i] == 45:
        i += 1
    whole = i
    i = _digits(text, i, stop)
    if i == whole or (text[whole] == 48 and i > whole + 1):  # no digit, or 01
        return SLOW, SLOW, SLOW
    point = i
    if i < stop and text[i] == 46:  # .
        i = _digits(text, i + 1, stop)
        if i == point + 1:
            return SLOW, SLOW, SLOW
    last = i
    if i < stop and (text[i] == 101 or text[i] == 69):  # e
        i += 1
        if i < stop and (text[i] == 45 or text[i] == 43):
            i += 1
        first = i
        i = _digits(text, i, stop)
        if i == first:
            return SLOW, SLOW, SLOW
    return (i if i - start <= _LONGEST_NUMBER else SLOW), point, last


@kernel
def read_number(text: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int, bool]:
    """The place behind a number (or SLOW), its payload, and whether that is exact.

    A mantissa up to 2**53 times or over a power of ten up to 10**22 is one correctly rounded operation (Clinger 1990).
    Other fractions are left to Python; an integer beyond 2**53, or what may overflow, makes the line SLOW.
    """
    zero = np.int64(0)
    end, point, last = number_end(text, start, stop)
    if end < 0:
        return SLOW, zero, False
    whole = start + np.int64(text[start] == 45)
    mantissa = np.int64(0)
    for k in range(whole, last):
        if k != point and mantissa <= _EXACT:
            mantissa = mantissa * 10 + np.int64(text[k]) - 48
    exponent = _exponent(text, last, end) - max(last - point - 1, 0)
    if mantissa > _EXACT and end == point:
        return SLOW, zero, False
    if mantissa > _EXACT or exponent < -22 or exponent > 22:
        return (end, zero, False) if exponent + last - whole < 300 else (SLOW, zero, False)
    number = np.float64(mantissa)
    number = number / _POWERS[-exponent] if exponent < 0 else number * _POWERS[exponent]
    return end, key_of_number(-number if text[start] == 45 else number), True


@kernel
def _exponent(text: NDArray[np.uint8], last: int, end: int) -> int:
    """The exponent written at text[last:end], capped; 0 for none."""
    value = np.int64(0)
    for k in range(last + 1, end):
        if 48 <= text[k] <= 57 and value < 10_000:
            value = value * 10 + np.int64(text[k]) - 48
    return -value if end > last and text[last + 1] == 45 else value


@kernel
def skip_value(text: NDArray[np.uint8], i: int, stop: int, any_value: bool) -> int:
    """The place behind a value that nobody wants, or SLOW where it is not plainly valid.

    Without `any_value` an object or a list is SLOW too: something in it is wanted.
    """
    opened = np.uint64(0)  # one bit a level: 1 for an object
    depth = 0
    while True:
        if i >= stop:
            return SLOW
        byte = text[i]
        if byte == 123 or byte == 91:  # { or [
            if not any_value or depth == _DEEPEST:
                return SLOW
            is_object = byte == 123
            i = blanks(text, i + 1, stop)
            if i < stop and text[i] == byte + 2:  # closed at once
                i += 1
            else:
                opened = (opened << np.uint64(1)) | np.uint64(is_object)
                depth += 1
                if is_object:
                    i = _skip_key(text, i, stop)
                if i < 0:
                    return SLOW
                continue
        elif byte == 34:
            i = string_end(text, i + 1, stop)[0] + 1
        elif byte == 45 or 48 <= byte <= 57:
            i = number_end(text, i, stop)[0]
        else:
            i = literal_end(text, i, stop)
        if i <= 0:
            return SLOW
        while depth > 0:  # behind a value: close what ends here, then go on to the next one
            i = blanks(text, i, stop)
            if i >= stop:
                return SLOW
            in_object = opened & np.uint64(1) != 0
            if text[i] == (125 if in_object else 93):
                opened >>= np.uint64(1)
                depth -= 1
                i += 1
            elif text[i] == 44:
                i = blanks(text, i + 1, stop)
                if in_object:
                    i = _skip_key(text, i, stop)
                if i < 0:
                    return SLOW
                break
            else:
                return SLOW
        else:
            return i


@kernel
def _skip_key(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The place of the value behind a key and its colon, or SLOW."""
    if i >= stop or text[i] != 34:
        return SLOW
    end = string_end(text, i + 1, stop)[0]
    if end < 0:
        return SLOW
    i = blanks(text, end + 1, stop)
    if i >= stop or text[i] != 58:
        return SLOW
    return blanks(text, i + 1, stop)

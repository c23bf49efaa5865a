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
from tocsin.kernels.reading.json_tokens import (
    ABSENT,
    KNOWN,
    LATER,
    SLOW,
    blanks,
    read_scalar,
    same_bytes,
    skip_value,
    string_end,
)


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
    dotted = False  # a name with a dot beside an object may give one attribute twice: not plain
    nested = False
    i = blanks(text, i, stop)
    if i >= stop or text[i] != 123:  # {
        return False
    i = blanks(text, i + 1, stop)
    if i < stop and text[i] == 125:  # }
        return blanks(text, i + 1, stop) == stop
    while True:
        if i >= stop or text[i] != 34:  # "
            return False
        end, key_hash, with_dot = string_end(text, i + 1, stop)
        if end < 0:
            return False
        name = find_name(text, i + 1, end, key_hash, name_places, name_starts, name_data)
        dotted |= with_dot
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
                state = KNOWN
            else:
                start = i
                i, kind, payload, state = read_scalar(text, i, stop)
                if kind == codes.STRING and i > 0:
                    payload = string_number(text, start + 1, i - 1, np.uint64(payload), places, strings, counts)
                if state == LATER:
                    _put_off(pending, counts, number, start, i)
                values[number, 1] = kind
                values[number, 2] = payload
            values[number, 0] = name
            counts[ENTRIES] = number + (state != ABSENT)
        else:
            nested |= i < stop and (text[i] == 123 or text[i] == 91)
            i = skip_value(text, i, stop, name < 0)
        if i < 0 or (dotted and nested):
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
        if length == end - i and same_bytes(text, i, data, starts[name], length):
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
        if strings[number, 1] - start == end - i and same_bytes(text, i, text, start, end - i):
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
        if state == LATER:
            _put_off(pending, counts, -1 - element, i, end)
        elements[element, 0] = kind
        elements[element, 1] = payload
        counts[ELEMENTS] = element + (state != ABSENT)
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

"""Reads plain JSON lines into columns, without a Python object per value.

Nearly all lines are plain: an object whose wanted values are numbers, strings without escapes, booleans, null, or flat
lists of these. Any other line, valid or not, is SLOW and left to the standard parser. So these kernels never decide
what is an error: they accept nothing that the standard parser refuses, and read the same values.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.reading.decimals import SLOW
from tocsin.kernels.reading.json_tokens import (
    ABSENT,
    KNOWN,
    LATER,
    blanks,
    is_new_key,
    read_scalar,
    same_bytes,
    skip_value,
    string_end,
)


class Names(NamedTuple):
    """A hash table of the wanted attributes. A attributes, H places (a power of two), at most half of them occupied."""

    places: NDArray[np.int32]  # (H,) number of a name, or -1
    starts: NDArray[np.int64]  # (A + 1,)
    data: NDArray[np.uint8]  # names as UTF-8; those from `wanted` on are mere prefixes of wanted ones
    nulls: NDArray[np.int32]  # (A,) number of what is TRUE where a null was given; -1 if nobody asks
    apart: NDArray[np.uint8]  # (A,) 1 if a list under that name is not plain, because its elements are asked for
    wanted: int


class Lines(NamedTuple):
    """Line i is text[starts[i]:stops[i]]. L lines."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]  # (L,)
    stops: NDArray[np.int64]  # (L,)


class Entries(NamedTuple):
    """Room for the entries of a block of lines. N entries, M list elements, S strings, H places (a power of two)."""

    attributes: NDArray[np.int32]  # (N,)
    types: NDArray[np.uint8]  # (N,)
    payloads: NDArray[np.int64]  # (N,) for a list, its number
    ends: NDArray[np.int64]  # (L,) entries up to the end of each line
    list_ends: NDArray[np.int64]  # (N,) elements up to the end of each list
    element_types: NDArray[np.uint8]  # (M,) in order, including duplicates
    element_payloads: NDArray[np.int64]  # (M,)
    string_places: NDArray[np.int32]  # (H,) number of a string, or -1
    string_starts: NDArray[np.int64]  # (S,) in the text
    string_stops: NDArray[np.int64]  # (S,)
    pending: Annotated[NDArray[np.int64], 2]  # (N + M, 3) numbers for Python: entry (or -1 - element), start, stop
    counts: NDArray[np.int64]  # (5,) entries, lists, elements, strings, pending
    seen: NDArray[np.int32]  # (A,) the line in which each attribute was last seen, -1 at first
    keys: NDArray[np.int64]  # (2 K,) a hash table of other keys: each key's hash and its object's stamp; 0 at first
    objects: NDArray[np.int64]  # (64,) the last stamp given, then those of the line's object and of open nested ones


ENTRIES, LISTS, ELEMENTS, STRINGS, PENDING = 0, 1, 2, 3, 4


@kernel
def count_marks(text: NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """The numbers of colons, opening brackets, commas and quotes in a text."""
    colons, brackets, commas, quotes = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(text)):
        colons += text[i] == 58
        brackets += text[i] == 91
        commas += text[i] == 44
        quotes += text[i] == 34
    return colons, brackets, commas, quotes


@kernel
def read_lines(lines: Lines, valid_utf8: bool, names: Names, entries: Entries, slow: NDArray[np.uint8]) -> None:
    """Read the entries of each plain line; mark the other lines in `slow`."""
    lines, names, entries = viewed(lines), viewed(names), viewed(entries)
    text, starts, stops, counts, ends = lines.text, lines.starts, lines.stops, entries.counts, entries.ends
    for line in range(len(starts)):
        before_entries, before_lists, before_elements = counts[ENTRIES], counts[LISTS], counts[ELEMENTS]
        before_pending = counts[PENDING]
        plain = valid_utf8 or _is_ascii(text, starts[line], stops[line])
        if not plain or not read_object(lines, line, names, entries):
            slow[line] = 1
            counts[ENTRIES] = before_entries
            counts[LISTS] = before_lists
            counts[ELEMENTS] = before_elements
            counts[PENDING] = before_pending
        ends[line] = counts[ENTRIES]


@inlined
def _is_ascii(text: NDArray[np.uint8], i: int, stop: int) -> bool:
    for at in range(i, stop):
        if text[at] >= 128:
            return False
    return True


@inner
def read_object(lines: Lines, line: int, names: Names, entries: Entries) -> bool:
    """Read the object of one line; False if it is not plain."""
    text, i, stop = lines.text, lines.starts[line], lines.stops[line]
    attributes, types, payloads = entries.attributes, entries.types, entries.payloads
    counts, seen, wanted = entries.counts, entries.seen, names.wanted
    dotted = False  # a dotted name and a nested object may give the same attribute twice: not plain
    nested = False
    keys, objects = entries.keys, entries.objects
    objects[0] += 1
    objects[1] = objects[0]
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
        name = find_name(text, i + 1, end, key_hash, names)
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
                if names.apart[name]:
                    return False
                i = read_list(lines, i + 1, stop, entries)
                types[number], payloads[number] = codes.LIST, counts[LISTS]
                entries.list_ends[counts[LISTS]] = counts[ELEMENTS]
                counts[LISTS] += 1
                state = KNOWN
            else:
                start = i
                i, kind, payload, state = read_scalar(text, i, stop)
                if kind == codes.STRING and i > 0:
                    payload = string_number(text, start + 1, i - 1, np.uint64(payload), entries)
                if state == LATER:
                    _put_off(entries, number, start, i)
                types[number], payloads[number] = kind, payload
            attributes[number] = name
            if state == ABSENT and names.nulls[name] >= 0:
                attributes[number], types[number], payloads[number] = names.nulls[name], codes.BOOLEAN, 1
                state = KNOWN
            counts[ENTRIES] = number + (state != ABSENT)
        else:
            if not is_new_key(np.int64(key_hash), objects[1], objects[1], keys):
                return False
            nested |= i < stop and (text[i] == 123 or text[i] == 91)
            i = skip_value(text, i, stop, name < 0, keys, objects)
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


@inlined
def find_name(text: NDArray[np.uint8], i: int, end: int, key_hash: int, names: Names) -> int:
    """The number of the name text[i:end], or -1."""
    places, starts, data = names.places, names.starts, names.data
    mask = np.uint64(len(places) - 1)
    place = (key_hash ^ (key_hash >> np.uint64(32))) & mask
    while places[place] >= 0:
        name = np.int64(places[place])
        start, length = starts[np.uint64(name)], starts[np.uint64(name + 1)]
        length -= start
        if length == end - i and same_bytes(text, i, data, start, length):
            return name
        place = (place + np.uint64(1)) & mask
    return np.int64(-1)


@inner
def string_number(text: NDArray[np.uint8], i: int, end: int, key_hash: int, entries: Entries) -> int:
    """The number of the string text[i:end] in the block's dictionary, which gets it if it is new."""
    places, starts, stops, counts = entries.string_places, entries.string_starts, entries.string_stops, entries.counts
    mask = np.uint64(len(places) - 1)
    place = (key_hash ^ (key_hash >> np.uint64(32))) & mask
    while places[place] >= 0:
        number = np.int64(places[place])
        start = starts[number]
        if stops[number] - start == end - i and same_bytes(text, i, text, start, end - i):
            return number
        place = (place + np.uint64(1)) & mask
    number = counts[STRINGS]
    places[place] = number
    starts[number], stops[number] = i, end
    counts[STRINGS] = number + 1
    return number


@inner
def read_list(lines: Lines, i: int, stop: int, entries: Entries) -> int:
    """Append the elements of a flat list of scalars; returns the place after it, or SLOW."""
    text, types, payloads, counts = lines.text, entries.element_types, entries.element_payloads, entries.counts
    i = blanks(text, i, stop)
    if i < stop and text[i] == 93:  # ]
        return i + 1
    while True:
        element = counts[ELEMENTS]
        end, kind, payload, state = read_scalar(text, i, stop)
        if end < 0:
            return SLOW
        if kind == codes.STRING:
            payload = string_number(text, i + 1, end - 1, np.uint64(payload), entries)
        if state == LATER:
            _put_off(entries, -1 - element, i, end)
        types[element], payloads[element] = kind, payload
        counts[ELEMENTS] = element + (state != ABSENT)
        i = blanks(text, end, stop)
        if i >= stop:
            return SLOW
        if text[i] == 93:
            return i + 1
        if text[i] != 44:  # ,
            return SLOW
        i = blanks(text, i + 1, stop)


@inner
def _put_off(entries: Entries, where: int, start: int, stop: int) -> None:
    """Leave a number to Python's own conversion."""
    pending, counts = entries.pending, entries.counts
    number = counts[PENDING]
    pending[number, 0], pending[number, 1], pending[number, 2] = where, start, stop
    counts[PENDING] = number + 1


@kernel
def name_hashes(starts: NDArray[np.int64], text: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The hash of each name text[starts[n]:starts[n + 1] - 1], folded. A quote follows each name."""
    hashes = np.empty(len(starts) - 1, np.uint64)
    for n in range(len(hashes)):
        _, value, _ = string_end(text, starts[n], starts[n + 1])
        hashes[n] = value ^ (value >> np.uint64(32))
    return hashes

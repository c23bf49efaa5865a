"""How do JSON lines become a batch? Bytes to columns in a kernel; what the kernel leaves aside goes the long way.

`encode_lines` never says what is wrong with a line: the lines that it leaves aside go through the standard parser and
`encode_objects`, which do.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.events.batch import EventBatch, ValueStore, Wanted, build_events
from tocsin.columns.events.vectors import add_lists
from tocsin.columns.numbers import key_of
from tocsin.kernels.reading.json_lines import ELEMENTS, LISTS, PENDING, STRINGS, Entries, Names, read_lines
from tocsin.kernels.reading.json_tokens import string_end


def encode_lines(
    text: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], rows: NDArray[np.int64], wanted: Wanted
) -> tuple[EventBatch, NDArray[np.int64]]:
    """Encode the lines text[starts[i]:stops[i]]; returns the batch, and the lines that it does not hold.

    Cost: some 10 ns a byte that is looked at, nothing for each value in Python.
    """
    slow = np.zeros(len(starts), np.uint8)
    if wanted.names is None:
        return _empty(), np.arange(len(starts))
    table, names = _names(frozenset(wanted.names))
    entries = _room(text, len(starts))
    seen = np.full(table.wanted, -1, np.int64)
    data = np.frombuffer(text, np.uint8)
    read_lines(data, starts, stops, _is_utf8(text), table, entries, seen, slow)
    _convert_pending(text, entries)
    return _batch(text, entries, slow, rows, names), np.flatnonzero(slow)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@lru_cache(maxsize=8)
def _names(wanted: frozenset[str]) -> tuple[Names, list[str]]:
    """The hash table of the wanted names and, behind them, of those within which wanted ones may lie; the wanted."""
    prefixes = {name[:at] for name in wanted for at, letter in enumerate(name) if letter == "."} - wanted
    ordered = sorted(wanted) + sorted(prefixes)
    places = np.full(_power_of_two(2 * len(ordered)), -1, np.int32)
    for number, name in enumerate(ordered):
        place = _hash(name.encode()) % len(places)
        while places[place] >= 0:
            place = (place + 1) % len(places)
        places[place] = number
    texts = Texts.of(ordered)
    return Names(places, texts.starts, texts.data, len(wanted)), ordered[: len(wanted)]


def _power_of_two(least: int) -> int:
    return 1 << max(3, (least - 1).bit_length())


def _hash(name: bytes) -> int:
    """The hash that the kernel computes while it looks for a closing quote, folded."""
    quoted = np.frombuffer(name + b'"', np.uint8)
    value = int(string_end(quoted, 0, len(quoted))[1])
    return value ^ (value >> 32)


def _room(text: bytes, lines: int) -> Entries:
    """Room for whatever the text can hold, by counting its punctuation."""
    data = np.frombuffer(text, np.uint8)
    values, lists, commas, quotes = (int(np.count_nonzero(data == ord(mark))) for mark in ':[,"')
    elements, strings = commas + lists, quotes // 2
    return Entries(
        np.empty((values + 1, 3), np.int64),
        np.empty(lines, np.int64),
        np.empty(lists + 1, np.int64),
        np.empty((elements + 1, 2), np.int64),
        np.full(_power_of_two(2 * strings), -1, np.int32),
        np.empty((strings + 1, 2), np.int64),
        np.empty((values + elements + 1, 3), np.int64),
        np.zeros(5, np.int64),
    )


def _convert_pending(text: bytes, entries: Entries) -> None:
    """Numbers whose exact value takes more than one operation: Python converts them."""
    for where, start, stop in entries.pending[: entries.counts[PENDING]].tolist():
        key = key_of(float(text[start:stop]))
        if where >= 0:
            entries.values[where, 2] = key
        else:
            entries.elements[-1 - where, 1] = key


def _batch(
    text: bytes, entries: Entries, slow: NDArray[np.uint8], rows: NDArray[np.int64], names: list[str]
) -> EventBatch:
    store = ValueStore()
    count = int(entries.ends[-1]) if len(entries.ends) else 0
    strings = entries.strings[: entries.counts[STRINGS]].tolist()
    lists, elements = int(entries.counts[LISTS]), int(entries.counts[ELEMENTS])
    lengths = np.diff(entries.list_ends[:lists], prepend=0)
    add_lists(
        np.ones(lists, bool),
        np.repeat(np.arange(lists), lengths),
        entries.elements[:elements, 0].astype(np.uint8),
        entries.elements[:elements, 1],
        store,
    )
    plain = slow == 0
    arrays = build_events(
        np.append(0, entries.ends[plain]),
        entries.values[:count, 0],
        entries.values[:count, 1],
        entries.values[:count, 2],
        store,
    )
    # A string of a line that was left aside may be no valid UTF-8; nothing refers to it.
    texts = [text[start:stop].decode(errors="replace") for start, stop in strings]
    return EventBatch(arrays, names, texts, rows[plain], [])


def _empty() -> EventBatch:
    none = np.empty(0, np.int64)
    arrays = build_events(np.zeros(1, np.int64), none.astype(np.int32), none.astype(np.uint8), none, ValueStore())
    return EventBatch(arrays, [], [], frozen(none, np.int64), [])

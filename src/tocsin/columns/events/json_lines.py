"""Encoding of JSON lines: a kernel turns bytes into columns, and skips the lines that it cannot handle.

`encode_lines` does not report errors. The lines that it skips go through the standard parser and `encode_objects`,
which do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import DecodedTexts, Texts, frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.readings import with_readings
from tocsin.columns.events.store import ValueStore, build_events
from tocsin.columns.events.vectors import add_lists
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.payloads import key_of
from tocsin.kernels.reading.json_lines import (
    ELEMENTS,
    LISTS,
    PENDING,
    STRINGS,
    Entries,
    Lines,
    Names,
    count_marks,
    name_hashes,
    read_lines,
)
from tocsin.model.expression import EVERYTHING
from tocsin.model.readings import is_reading

_MOST_KEYS = 2048
"""A line with more unwanted keys than this may be skipped."""


def encode_lines(
    text: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], rows: NDArray[np.int64], wanted: Wanted
) -> tuple[EventBatch, NDArray[np.int64]]:
    """Encode the lines text[starts[i]:stops[i]]. Returns the batch and the numbers of the skipped lines.

    Cost: about 10 ns a byte that is looked at, and no Python work for each value.
    """
    slow = np.zeros(len(starts), np.uint8)
    # A feature's properties are the record's attributes. The kernel reads wanted values, not all of them.
    if wanted.names is None or _FEATURE in text or EVERYTHING in wanted.elements:
        return _empty(), np.arange(len(starts))
    table, names = _names(wanted)
    data = np.frombuffer(text, np.uint8)
    entries = _room(data, len(starts), table.wanted)
    is_utf8 = _is_utf8(text)
    read_lines(Lines(data, starts, stops), is_utf8, table, entries, slow)
    _convert_pending(text, entries)
    batch = _batch(entries, _strings(text, entries, is_utf8), slow, rows, names)
    return with_readings(batch, wanted) if wanted.readings else batch, np.flatnonzero(slow)


_FEATURE: Final = b'"Feature"'


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _names(wanted: Wanted) -> tuple[Names, list[str]]:
    """The hash table of the wanted names, followed by names that may contain wanted ones; and the wanted names."""
    count = len(wanted.ordered)
    known = wanted.kept.get("lines")
    if known is None or known[0].wanted != count:
        lists, nulls = set(wanted.elements.copy()), wanted.nulls.copy()
        known = wanted.kept["lines"] = _hashed(wanted.ordered[:count], wanted.outer(count), lists, nulls)
    return known


def _hashed(wanted: list[str], outer: set[str], lists: set[str], nulls: Mapping[str, int]) -> tuple[Names, list[str]]:
    ordered = wanted + sorted(outer)
    places = np.full(_power_of_two(2 * len(ordered)), -1, np.int32)
    quoted = Texts.of([name + '"' for name in ordered])
    for number, place in enumerate((name_hashes(quoted.starts, quoted.data) % np.uint64(len(places))).tolist()):
        if is_reading(ordered[number]):
            continue  # events never contain this name
        while places[place] >= 0:
            place = (place + 1) % len(places)
        places[place] = number
    texts = Texts.of(ordered)
    apart = np.array([name in lists for name in ordered], np.uint8)
    asked = np.array([nulls.get(name, -1) for name in ordered], np.int32)
    return Names(places, texts.starts, texts.data, asked, apart, len(wanted)), wanted


def _power_of_two(least: int) -> int:
    return 1 << max(3, (least - 1).bit_length())


def _room(text: NDArray[np.uint8], lines: int, names: int) -> Entries:
    """Allocate room for everything that the text can hold, estimated from its punctuation."""
    values, lists, commas, quotes = count_marks(text)
    elements, strings = commas + lists, quotes // 2
    return Entries(
        np.empty(values + 1, np.int32),
        np.empty(values + 1, np.uint8),
        np.empty(values + 1, np.int64),
        np.empty(lines, np.int64),
        np.empty(lists + 1, np.int64),
        np.empty(elements + 1, np.uint8),
        np.empty(elements + 1, np.int64),
        np.full(_power_of_two(2 * strings), -1, np.int32),
        np.empty(strings + 1, np.int64),
        np.empty(strings + 1, np.int64),
        np.empty((values + elements + 1, 3), np.int64),
        np.zeros(5, np.int64),
        np.full(names, -1, np.int32),
        np.zeros(2 * _power_of_two(2 * min(values + 1, _MOST_KEYS)), np.int64),
        np.zeros(64, np.int64),
    )


def _convert_pending(text: bytes, entries: Entries) -> None:
    """Let Python convert numbers whose exact value takes more than one operation."""
    for where, start, stop in entries.pending[: entries.counts[PENDING]].tolist():
        key = key_of(float(text[start:stop]))
        if where >= 0:
            entries.payloads[where] = key
        else:
            entries.element_payloads[-1 - where] = key


def _strings(text: bytes, entries: Entries, is_utf8: bool) -> Sequence[str]:
    count = int(entries.counts[STRINGS])
    starts, stops = entries.string_starts[:count], entries.string_stops[:count]
    if is_utf8:
        return DecodedTexts(Texts.within(text, starts, stops))
    # A string of a skipped line may be invalid UTF-8; nothing refers to it.
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    return [text[start:stop].decode(errors="replace") for start, stop in pairs]


def _batch(
    entries: Entries, strings: Sequence[str], slow: NDArray[np.uint8], rows: NDArray[np.int64], names: list[str]
) -> EventBatch:
    store = ValueStore()
    count = int(entries.ends[-1]) if len(entries.ends) else 0
    lists, elements = int(entries.counts[LISTS]), int(entries.counts[ELEMENTS])
    lengths = np.diff(entries.list_ends[:lists], prepend=0)
    add_lists(
        np.ones(lists, bool),
        np.repeat(np.arange(lists), lengths),
        entries.element_types[:elements],
        entries.element_payloads[:elements],
        store,
    )
    plain = slow == 0
    arrays = build_events(
        np.append(0, entries.ends[plain]),
        entries.attributes[:count],
        entries.types[:count],
        entries.payloads[:count],
        store,
    )
    return EventBatch(arrays, names, strings, rows[plain], [])


def _empty() -> EventBatch:
    none = np.empty(0, np.int64)
    arrays = build_events(np.zeros(1, np.int64), none.astype(np.int32), none.astype(np.uint8), none, ValueStore())
    return EventBatch(arrays, [], [], frozen(none, np.int64), [])

"""Words of the events' texts, computed for the attributes whose words are asked for.

The words of an attribute, in one way of making them, become a list under a name of their own (`model.readings`).
Subscriptions are compiled against that name. In their order the words also become a line, in which phrases are found.
An attribute typed as a text has its words as its value, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.few import FewEvents, is_few
from tocsin.columns.events.texts import Additions, Texts, texts_of
from tocsin.columns.events.wanted import Wanted
from tocsin.index.conditions import Entries, numbering_of, with_entries
from tocsin.kernels import codes
from tocsin.language.keywords import line_text
from tocsin.language.segmenting import words_of
from tocsin.model.readings import reading_of
from tocsin.model.texts import Text


def with_texts(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the words of its texts that are asked for. Cost: nothing if none are."""
    if not wanted.texts and not batch.texts:
        return batch
    for name in batch.present():
        if name in wanted.texts or name in batch.texts:
            batch = _with_words(batch, wanted, name)
    return replace(batch, texts={}) if batch.texts else batch


def _with_words(batch: EventBatch, wanted: Wanted, name: str) -> EventBatch:
    """The batch with the words of one attribute."""
    asked, typed = wanted.texts.get(name, [])[:], batch.texts.get(name)
    if is_few(batch):
        return _few_with_words(batch, wanted, name, asked, typed)
    readings = [_way(one) for one in asked]
    ways = {how for _, how in readings} | ({typed} if typed is not None else set())
    found = {how: texts for how in ways if (texts := texts_of(batch, name, how)) is not None}
    if not found:
        return batch
    added = Additions(batch)
    needs_list = {how for is_words, how in readings if is_words} | {typed}
    lists = {how: added.word_lists(texts) for how, texts in found.items() if how in needs_list}
    parts = []
    for number, (is_words, how) in enumerate(readings):
        payloads = lists[how] if is_words else added.strings(found[how].lines())
        kind = codes.LIST if is_words else codes.STRING
        parts.append(_entries(batch, found[how], number, kind, payloads))
    grown = added.batch()
    if typed is not None:
        grown = _retyped(grown, found[typed], lists[typed])
    if not parts:
        return grown
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(grown, wanted, _key(name), asked, entries)


@lru_cache(1024)
def _way(reading: str) -> tuple[bool, Text]:
    """Whether a reading is the list of a text's words, or else their line; and how the words are made."""
    parts = reading_of(reading)
    return parts.is_words, Text.of(parts.rest)


def _key(name: str) -> str:
    """What identifies the readings of an attribute's texts (`with_entries`)."""
    return f"texts of {name}"


def _few_with_words(batch: EventBatch, wanted: Wanted, name: str, asked: list[str], typed: Text | None) -> EventBatch:
    """`_with_words` for a few events, value by value."""
    own = batch.present().get(name)
    if own is None:
        return batch
    few, numbering = FewEvents(batch), numbering_of(batch, wanted)
    numbers = numbering.of(_key(name), asked).tolist()
    for event, place in few.values():
        kind = few.types[place]
        if few.attributes[place] != own or kind not in (codes.STRING, codes.LIST):
            continue
        words = _OfText(few.strings_of(kind, few.payloads[place]))
        for number, (is_words, how) in zip(numbers, map(_way, asked), strict=False):  # more may be asked by now
            if is_words:
                few.add(event, number, codes.LIST, few.string_list(words.of(how)))
            else:
                few.add(event, number, codes.STRING, few.string(words.line(how)))
        if typed is not None:
            few.change(place, codes.LIST, few.string_list(words.of(typed)))
    return few.batch(numbering.names)


class _OfText:
    """The words of one text, a string or a list of strings, made once for each way of making them."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = strings
        self._made: dict[Text, list[list[str]]] = {}

    def _lines(self, how: Text) -> list[list[str]]:
        if how not in self._made:
            self._made[how] = [words_of(one, how) for one in self._strings]
        return self._made[how]

    def of(self, how: Text) -> Iterable[str]:
        return chain.from_iterable(self._lines(how))

    def line(self, how: Text) -> str:
        return line_text(self._lines(how))


def _entries(batch: EventBatch, texts: Texts, number: int, kind: int, payloads: NDArray[np.int64]) -> Entries:
    """The values of one reading, for each event that has a text."""
    owners = np.searchsorted(batch.arrays.starts, texts.entries, side="right") - 1
    count = len(owners)
    return Entries(owners, np.full(count, number), np.full(count, kind, np.uint8), payloads[texts.which])


def _retyped(batch: EventBatch, texts: Texts, lists: NDArray[np.int64]) -> EventBatch:
    """The batch with lists of words in place of an attribute's own values."""
    types, payloads = batch.arrays.types.copy(), batch.arrays.payloads.copy()
    types[texts.entries], payloads[texts.entries] = codes.LIST, lists[texts.which]
    arrays = batch.arrays._replace(types=frozen(types, np.uint8), payloads=frozen(payloads, np.int64))
    return replace(batch, arrays=arrays)

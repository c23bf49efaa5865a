"""Words of the events' texts, computed for the attributes whose words are asked for.

The words of an attribute, in one way of making them, become a list under a name of their own (`model.readings`).
Subscriptions are compiled against that name. In their order the words also become a line, in which phrases are found.
An attribute typed as a text has its words as its value, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.texts import Additions, Texts, texts_of
from tocsin.columns.events.wanted import Wanted
from tocsin.index.conditions import Entries, with_entries
from tocsin.kernels import codes
from tocsin.model.readings import reading_of
from tocsin.model.texts import Text


def with_texts(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch with the words of its texts that are asked for. Cost: nothing if none are."""
    for name in {**wanted.texts, **batch.texts}:
        batch = _with_words(batch, wanted, name)
    return replace(batch, texts={}) if batch.texts else batch


def _with_words(batch: EventBatch, wanted: Wanted, name: str) -> EventBatch:
    """The batch with the words of one attribute."""
    asked, typed = wanted.texts.get(name, [])[:], batch.texts.get(name)
    readings = [(reading_of(one), Text.of(reading_of(one).rest)) for one in asked]
    ways = {how for _, how in readings} | ({typed} if typed is not None else set())
    found = {how: texts for how in ways if (texts := texts_of(batch, name, how)) is not None}
    if not found:
        return batch
    added = Additions(batch)
    needs_list = {how for reading, how in readings if reading.is_words} | {typed}
    lists = {how: added.word_lists(texts) for how, texts in found.items() if how in needs_list}
    parts = []
    for number, (reading, how) in enumerate(readings):
        payloads = lists[how] if reading.is_words else added.strings(found[how].lines())
        kind = codes.LIST if reading.is_words else codes.STRING
        parts.append(_entries(batch, found[how], number, kind, payloads))
    grown = added.batch()
    if typed is not None:
        grown = _retyped(grown, found[typed], lists[typed])
    if not parts:
        return grown
    entries = Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return with_entries(grown, wanted, f"texts of {name}", asked, entries)


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

"""The words of a batch's texts, as lists of words and as lines, which become further values of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.kernels import codes
from tocsin.language.keywords import line_text
from tocsin.language.segmenting import Words, words_of_all
from tocsin.model.texts import Text


class Texts(NamedTuple):
    """The distinct texts of an attribute: strings, and lists. T texts, U strings in all."""

    entries: NDArray[np.int64]  # (N,) the entries of the batch with such a value
    which: NDArray[np.int64]  # (N,) the index of each among the texts
    starts: NDArray[np.int64]  # (T + 1,) offsets of their strings
    units: NDArray[np.int64]  # (U,) the strings, by number in `words`
    words: Words

    def lines(self) -> list[str]:
        """The words of each text in order, as one string."""
        words, starts = self.words, self.words.starts.tolist()
        own = [words.distinct[number] for number in words.numbers.tolist()]
        units = [own[first:stop] for first, stop in pairwise(starts)]
        of_texts = pairwise(self.starts.tolist())
        return [line_text([units[unit] for unit in self.units[first:stop].tolist()]) for first, stop in of_texts]


def texts_of(batch: EventBatch, attribute: str, how: Text) -> Texts | None:
    """The texts under an attribute; None if there are none. Each distinct string is segmented once."""
    arrays = batch.arrays
    number = batch.present().get(attribute)
    if number is None:
        return None
    own = np.flatnonzero(arrays.attributes == number)
    entries = own[np.isin(arrays.types[own], (codes.STRING, codes.LIST))]
    if not len(entries):
        return None
    is_list = arrays.types[entries] == codes.LIST
    keys = 2 * arrays.payloads[entries] + is_list
    distinct, which = np.unique(keys, return_inverse=True)
    in_lists = np.flatnonzero(distinct & 1)
    members, lists = gathered(arrays.list_starts, distinct[in_lists] >> 1)
    is_string = arrays.list_types[members] == codes.STRING
    plain = np.flatnonzero(distinct & 1 == 0)
    owners = np.concatenate([plain, in_lists[lists[is_string]]])
    strings = np.concatenate([distinct[plain] >> 1, arrays.list_payloads[members[is_string]]])
    order = np.argsort(owners, kind="stable")
    numbers, units = np.unique(strings[order], return_inverse=True)
    words = words_of_all([batch.strings[number] for number in numbers.tolist()], how)
    starts = starts_of(np.bincount(owners, minlength=len(distinct)), len(distinct))
    return Texts(entries, which, starts, units, words)


class Additions:
    """Strings and lists to add to a batch."""

    def __init__(self, batch: EventBatch) -> None:
        self._batch = batch
        self._numbers = {text: number for number, text in enumerate(batch.strings)}
        self._lengths: list[NDArray[Any]] = []
        self._types: list[NDArray[np.uint8]] = []
        self._members: list[NDArray[Any]] = []
        self._count = len(batch.arrays.list_starts) - 1

    def strings(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The numbers of some strings, added if necessary."""
        numbers = self._numbers
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)

    def word_lists(self, texts: Texts) -> NDArray[np.int64]:
        """The numbers of lists with the words of texts, each a set."""
        count = len(texts.starts) - 1
        at, units = gathered(texts.words.starts, texts.units)
        owners = np.repeat(np.arange(count), np.diff(texts.starts))[units]
        members = self.strings(texts.words.distinct)[texts.words.numbers[at]]
        width = max(len(self._numbers), 1)
        pairs = np.sort(owners * width + members)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # np.unique takes four times as long
        types = np.full(len(pairs), codes.STRING, np.uint8)
        return self.lists(np.bincount(pairs // width, minlength=count), types, pairs % width)

    def lists(
        self, lengths: NDArray[np.int64], types: NDArray[np.uint8], members: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The numbers of new lists; members are given by type and payload, distinct and sorted in each list."""
        self._lengths.append(lengths)
        self._types.append(types)
        self._members.append(members)
        self._count += len(lengths)
        return np.arange(self._count - len(lengths), self._count)

    def batch(self) -> EventBatch:
        """The batch with everything that was added."""
        arrays = self._batch.arrays
        lengths = np.concatenate([np.diff(arrays.list_starts), *self._lengths])
        members = np.concatenate([arrays.list_payloads, *self._members])
        types = np.concatenate([arrays.list_types, *self._types])
        boxes = np.full(self._count, -1, np.int32)
        boxes[: len(arrays.list_boxes)] = arrays.list_boxes
        grown = arrays._replace(
            list_starts=starts_of(lengths, self._count),
            list_types=frozen(types, np.uint8),
            list_payloads=frozen(members, np.int64),
            list_boxes=frozen(boxes, np.int32),
        )
        return replace(self._batch, arrays=grown, strings=list(self._numbers))

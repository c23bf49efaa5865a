"""Routing messages to partitions: to those of the message's words.

This is exact: a message can only be a result of subscriptions that share a word with it. The partitions with copies of
a subscription receive, together, all messages with one of its words. Other subscriptions need nothing of a message but
its number, and all partitions receive that.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.placement import Homes
from tocsin.placement.hashing import Hashes, hashes_of
from tocsin.window.fields import WordLists

MOST: Final = 64
"""The maximum number of partitions: one bit each."""


class Routes(NamedTuple):
    """The partitions that each of W words routes to; without words, every message goes everywhere.

    With `owners`, each word also routes to the partitions that own it, so that later subscriptions find its messages.
    """

    words: Hashes | None  # (W,) ascending
    masks: Hashes  # (W,) one bit per partition
    owners: Homes | None = None

    @classmethod
    def everywhere(cls, partitions: int) -> Routes:
        """Routes that send every message to every partition."""
        return cls(None, np.array([(1 << partitions) - 1], np.uint64))

    @classmethod
    def owned(cls, words: Hashes, masks: Hashes, owners: Homes) -> Routes:
        """Routes to the partitions of some words, and to the owners of all words."""
        listed, starts = owners.keys, owners.starts
        known = np.union1d(words, listed)
        masks_of_known = np.zeros(len(known), np.uint64)
        masks_of_known[np.searchsorted(known, words)] = masks
        bits = np.bitwise_or.reduceat(bits_of(owners.partitions), starts[:-1]) if len(listed) else listed
        masks_of_known[np.searchsorted(known, listed)] |= bits
        return cls(
            known, masks_of_known | np.where(np.isin(known, listed), np.uint64(0), _spread(owners, known)), owners
        )

    def of_words(self, words: Sequence[str]) -> Hashes:
        """The partitions of each word, one bit each. Words with equal hashes share their partitions."""
        if self.words is None:
            return np.full(len(words), self.masks[0])
        hashes = hashes_of(words)
        masks = np.zeros(len(words), np.uint64) if self.owners is None else _spread(self.owners, hashes)
        if len(self.words) and len(hashes):
            places = np.minimum(np.searchsorted(self.words, hashes), len(self.words) - 1)
            masks = np.where(self.words[places] == hashes, self.masks[places], masks)
        return masks

    def visited(self, lists: WordLists) -> Hashes:
        """The partitions of each message, one bit each."""
        if self.words is None:
            return np.full(len(lists.starts) - 1, self.masks[0])
        return _ored(self.of_words(lists.distinct), lists.starts, lists.numbers)

    def digest(self) -> str:
        """A digest that identifies these routes."""
        words = b"" if self.words is None else self.words.tobytes()
        owners = b"" if self.owners is None else b"".join(array.tobytes() for array in self.owners)
        return blake2b(words + self.masks.tobytes() + owners, digest_size=8).hexdigest()


def bits_of(partitions: NDArray[np.int64]) -> Hashes:
    """A mask for each partition number."""
    return np.uint64(1) << partitions.astype(np.uint64)


def _spread(owners: Homes, hashes: Hashes) -> Hashes:
    """The owner of each word that is not split over several."""
    return bits_of(owners.of(hashes, np.zeros(len(hashes), np.uint64)))


def _ored(masks: Hashes, starts: NDArray[np.int64], numbers: NDArray[np.int64]) -> Hashes:
    """The union of the masks of each record's words."""
    out = np.zeros(len(starts) - 1, np.uint64)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        out[filled] = np.bitwise_or.reduceat(masks[numbers], starts[filled])
    return out

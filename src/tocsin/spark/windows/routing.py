"""Routing messages to partitions: to those that have a subscription with one of the message's words.

This is exact: a message can only be a result of subscriptions that share a word with it. Other subscriptions need
nothing of it but its number, and all partitions receive that.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.placement.hashing import Hashes, hashes_of
from tocsin.window.fields import WordLists

MOST: Final = 64
"""The maximum number of partitions: one bit each."""


class Routes(NamedTuple):
    """The partitions that each of W words routes to; without words, every message goes everywhere."""

    words: Hashes | None  # (W,) ascending
    masks: Hashes  # (W,) one bit per partition

    @classmethod
    def everywhere(cls, partitions: int) -> Routes:
        """Routes that send every message to every partition."""
        return cls(None, np.array([(1 << partitions) - 1], np.uint64))

    def visited(self, lists: WordLists) -> Hashes:
        """The partitions of each message, one bit each. Words with equal hashes share their partitions."""
        count = len(lists.starts) - 1
        if self.words is None:
            return np.full(count, self.masks[0])
        masks = np.zeros(len(lists.distinct) + 1, np.uint64)
        if len(lists.distinct) and len(self.words):
            hashes = hashes_of(lists.distinct)
            at = np.minimum(np.searchsorted(self.words, hashes), len(self.words) - 1)
            masks[:-1] = np.where(self.words[at] == hashes, self.masks[at], np.uint64(0))
        return _ored(masks, lists.starts, lists.numbers)

    def copies(self, dice: Hashes) -> Hashes:
        """The partitions that get a copy of each subscription, one bit each, by a hash of its id."""
        count = int(self.masks[0]).bit_count()
        return np.uint64(1) << (dice.view(np.int64) % count).astype(np.uint64)

    def digest(self) -> str:
        """A digest that identifies these routes."""
        own = b"" if self.words is None else self.words.tobytes()
        return blake2b(own + self.masks.tobytes(), digest_size=8).hexdigest()


def _ored(masks: Hashes, starts: NDArray[np.int64], numbers: NDArray[np.int64]) -> Hashes:
    """The union of the masks of each record's words."""
    out = np.zeros(len(starts) - 1, np.uint64)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        out[filled] = np.bitwise_or.reduceat(masks[numbers], starts[filled])
    return out

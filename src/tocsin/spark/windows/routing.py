"""To which partitions does a message go? To those that have a subscription with one of its words.

Safe: a message is a result of those alone that share a word with it, now or when the window is searched again; who
shares none has nothing of it but its number, which all partitions are told.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.placement.hashing import Hashes, hashes_of
from tocsin.window.fields import WordLists

MOST: Final = 64
"""So many partitions there are at most: one bit each."""


class Routes(NamedTuple):
    """Which words lead where, of W words; without any, every message goes everywhere."""

    words: Hashes | None  # (W,) ascending
    masks: Hashes  # (W,) a bit a partition

    @classmethod
    def everywhere(cls, partitions: int) -> Routes:
        """Every message goes to every partition."""
        return cls(None, np.array([(1 << partitions) - 1], np.uint64))

    def visited(self, lists: WordLists) -> Hashes:
        """The partitions, a bit each, that each of some messages goes to. Two words of one hash lead to both's."""
        count = len(lists.starts) - 1
        if self.words is None:
            return np.full(count, self.masks[0])
        masks = np.zeros(len(lists.distinct) + 1, np.uint64)
        if len(lists.distinct) and len(self.words):
            hashes = hashes_of(lists.distinct)
            at = np.minimum(np.searchsorted(self.words, hashes), len(self.words) - 1)
            masks[:-1] = np.where(self.words[at] == hashes, self.masks[at], np.uint64(0))
        return _ored(masks, lists.starts, lists.numbers)

    def digest(self) -> str:
        """What tells these routes from others."""
        own = b"" if self.words is None else self.words.tobytes()
        return blake2b(own + self.masks.tobytes(), digest_size=8).hexdigest()


def _ored(masks: Hashes, starts: NDArray[np.int64], numbers: NDArray[np.int64]) -> Hashes:
    """The masks of each record's words together."""
    out = np.zeros(len(starts) - 1, np.uint64)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        out[filled] = np.bitwise_or.reduceat(masks[numbers], starts[filled])
    return out

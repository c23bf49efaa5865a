"""A plain inverted file for windows, a baseline that scores every subscription that shares a word.

Cost: O(subscriptions that share a word), a few nanoseconds each; at least 4 bytes for each word of each subscription.
`candidates_examined` counts the subscriptions that share a word.

Source: term at a time over an inverted file (Buckley and Lewit 1985), without a bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.tables import bytes_of_table, grown
from tocsin.index.window.growing import no_lists, put_behind_all
from tocsin.index.window.kernels.layouts import Interests, Words
from tocsin.papers.skype.inverted_file.kernels import InvertedFile


class InvertedFileIndex:
    """The Disseminator over an inverted file."""

    def __init__(self, diagonal: float) -> None:
        self.table = InvertedFile(no_lists(1))

    def know_words(self, count: int) -> None:
        self.table = InvertedFile(grown(self.table.lists, words=count))

    def know_length(self, words: int) -> None:
        """Does nothing, because long messages need no extra memory."""

    def add(
        self, slots: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32], interests: Interests
    ) -> None:
        self.table = InvertedFile(put_behind_all(self.table.lists, slots, starts, words))

    def is_due(self, living: int, taken: int) -> bool:
        return False

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Interests,
        table: Words,
        taken: int,
    ) -> None:
        self.table = InvertedFile(put_behind_all(no_lists(len(table.squares)), slots, starts, words))

    def bytes(self) -> int:
        return bytes_of_table(self.table)

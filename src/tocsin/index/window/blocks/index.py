"""Whom does a message reach? Each word's subscriptions in blocks of what is alike, whose bytes say whom it cannot.

A message looks at the headers of its words' blocks, at eight bytes of each posting in those that may matter, and at the
records of what is left. Who came since the blocks were made is scored as by an inverted file; blocks are made anew when
these are many, and as a window fills, for thresholds rise then.

Cost: O(headers of the message's words + blocks that pass), some nanoseconds a header and some fifteen a block; 20 bytes
and more for each word of a subscription. Built in O(n log n), a second and more a million.
`candidates_examined` counts those whose bytes let them through, once for each common word.

Source: ours. Thresholds and bounds are those of Wang et al. 2016, section 5.1 and Theorem 5.2, by Cauchy-Schwarz
instead of sums and maxima; instead of a quadtree with groups there are lists that are split wherever it helps most.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.blocks.kernels.building import order_postings, write_blocks, write_postings
from tocsin.index.window.blocks.kernels.layouts import (
    BLOCK,
    FEATURES,
    NO_RANK,
    Blocks,
    BlocksAndLate,
    Postings,
    Scratch,
)
from tocsin.index.window.blocks.kernels.searching import AT_ONCE
from tocsin.index.window.growing import bytes_of, longer, no_lists, with_words
from tocsin.index.window.kernels.layouts import Interests, Words, X, Y
from tocsin.index.window.pace import FIRST, LATE, BuiltAnew

_OWN_BITS: Final = 8
"""So many of the most frequent words have a bit of a signature for themselves."""


class BlocksIndex(BuiltAnew):
    """The Disseminator over blocks; `diagonal` is the longest distance.

    Blocks are made when more than `late` subscriptions came since, and when there were `first` messages.
    """

    table: BlocksAndLate

    def __init__(self, diagonal: float, late: int = LATE, first: int = FIRST) -> None:
        super().__init__(diagonal, late, first)
        self.table = BlocksAndLate(_no_blocks(1, 0), no_lists(1), _scratch(0, 0))

    def know_words(self, count: int) -> None:
        blocks = self.table.blocks
        grown = blocks._replace(
            ranks=longer(blocks.ranks, count, NO_RANK),
            bits=longer(blocks.bits, count),
            firsts=longer(blocks.firsts, count),
            stops=longer(blocks.stops, count),
        )
        self.table = self.table._replace(blocks=grown, late=with_words(self.table.late, count))

    def know_length(self, words: int) -> None:
        scratch = self.table.scratch
        if len(scratch.order) < words:
            scratch = scratch._replace(
                order=np.empty(words, np.int32), rests=np.empty(words, np.float32), gains=np.empty(words, np.float32)
            )
            self.table = self.table._replace(scratch=scratch)

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Interests,
        table: Words,
        taken: int,
    ) -> None:
        self._pace.begin_anew(taken)
        blocks, by_rank = _empty_blocks(words, len(table.squares))
        starts_by_rank = np.concatenate([[0], np.cumsum(by_rank, dtype=np.int64)])
        count = len(words)
        features = np.empty((FEATURES, count), np.float32)
        owners, signs = np.empty(count, np.int32), np.empty(count, np.uint16)
        postings = Postings(starts_by_rank, owners, features, signs)
        words = words.copy()
        if len(slots):
            blocks.origin[:] = interests.records[slots[0], [X, Y]]
        write_postings(blocks, interests, table.squares, slots, starts, words, self._diagonal, postings)
        order = np.arange(count)
        order_postings(postings, order)
        place_starts = np.zeros(len(interests.ks), np.int64)
        place_starts[slots] = starts[:-1]
        place_counts = np.zeros(len(interests.ks), np.int32)
        blocks = blocks._replace(place_starts=place_starts, place_counts=place_counts, places=np.empty(count, np.int32))
        write_blocks(blocks, postings, order)
        most = int((blocks.stops - blocks.firsts).max(initial=0))
        scratch = _scratch(most, len(blocks.scales))
        old = self.table.scratch
        scratch = scratch._replace(order=old.order, rests=old.rests, gains=old.gains)
        self.table = BlocksAndLate(blocks, no_lists(len(table.squares)), scratch)

    def bytes(self) -> int:
        return bytes_of(self.table) - self.table.blocks.signatures.nbytes


def _empty_blocks(words: NDArray[np.int32], count: int) -> tuple[Blocks, NDArray[np.int64]]:
    """Room for the blocks of all words, and how many postings the word of each rank has: the rarest has rank 0."""
    frequencies = np.bincount(words, minlength=count)
    used = np.flatnonzero(frequencies)
    used = used[np.argsort(frequencies[used], kind="stable")]
    of_word = (frequencies[used] + BLOCK - 1) // BLOCK
    stops = np.cumsum(of_word)
    blocks = _no_blocks(count, int(of_word.sum()))
    blocks.ranks[used] = np.arange(len(used))
    blocks.bits[used] = _bits(len(used))
    blocks.firsts[used], blocks.stops[used] = stops - of_word, stops
    return blocks, frequencies[used]


def _bits(ranks: int) -> NDArray[np.uint16]:
    """The bit of a signature that stands for the word of each rank."""
    place = np.arange(ranks)[::-1]
    hashed = _OWN_BITS + ((place * 2654435761 >> 20) & 7)
    return (1 << np.where(place < _OWN_BITS, place, hashed)).astype(np.uint16)


def _no_blocks(words: int, count: int) -> Blocks:
    codes = np.zeros((count, 8 * BLOCK), np.uint8)
    empty = np.zeros(0, np.int64)
    return Blocks(
        np.full(words, NO_RANK, np.int32),
        np.zeros(words, np.uint16),
        np.zeros(words, np.int64),
        np.zeros(words, np.int64),
        np.zeros((8, count), np.float32),
        np.zeros((count, 16), np.float32),
        codes,
        codes.view(np.uint16),
        np.zeros((count, BLOCK), np.int32),
        empty,
        np.zeros(0, np.int32),
        np.zeros(0, np.int32),
        np.zeros(2),
    )


def _scratch(most: int, blocks: int) -> Scratch:
    numbers = [np.empty(size, np.int32) for size in (blocks + 1, blocks + 1, AT_ONCE + BLOCK, AT_ONCE + BLOCK)]
    none, shared = np.empty(0, np.float32), np.empty(BLOCK, np.float32)
    return Scratch(np.empty(max(most, BLOCK), np.float32), none.astype(np.int32), none, none, shared, *numbers)

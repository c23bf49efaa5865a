"""The Disseminator over blocks: each word's subscriptions in blocks of similar ones, ruled out by bytes.

A message reads the headers of its words' blocks, and eight bytes of each posting in blocks that pass. For the postings
that are left it reads the records. Subscriptions added since the last build are scored through an inverted file. Blocks
are rebuilt when these are many, and while a window fills, because thresholds then rise.

Cost: O(headers of the message's words + blocks that pass), some nanoseconds a header and some fifteen a block. At least
20 bytes for each word of a subscription. Built in O(n log n), over a second a million. `candidates_examined` counts the
postings whose bytes pass, once for each common word.

Source: ours. Thresholds and bounds are those of Wang et al. 2016, section 5.1 and Theorem 5.2, by Cauchy-Schwarz
instead of sums and maxima. Instead of a quadtree with groups, lists are split wherever it helps most.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tocsin.index.tables import bytes_of_table, grown, new_table
from tocsin.index.window.blocks.kernels.building import order_postings, write_blocks, write_postings
from tocsin.index.window.blocks.kernels.layouts import (
    BLOCK,
    FEATURES,
    Blocks,
    BlocksAndLate,
    Postings,
    Scratch,
)
from tocsin.index.window.blocks.kernels.searching import AT_ONCE
from tocsin.index.window.growing import no_lists
from tocsin.index.window.kernels.layouts import Interests, Words, X, Y
from tocsin.index.window.pace import FIRST, LATE, BuiltAnew
from tocsin.kernels.numbers import GOLDEN_32

_OWN_BITS: Final = 8
"""This many of the most frequent words have a bit of a signature to themselves."""


class BlocksIndex(BuiltAnew):
    """The Disseminator over blocks; `diagonal` is the longest distance.

    Blocks are rebuilt after more than `late` new subscriptions, and after `first` messages (`pace`).
    """

    table: BlocksAndLate

    def __init__(self, diagonal: float, late: int = LATE, first: int = FIRST) -> None:
        super().__init__(diagonal, late, first)
        self.table = BlocksAndLate(_no_blocks(1, 0), no_lists(1), _scratch(0, 0))

    def know_words(self, count: int) -> None:
        blocks, late = grown(self.table.blocks, words=count), grown(self.table.late, words=count)
        self.table = self.table._replace(blocks=blocks, late=late)

    def know_length(self, words: int) -> None:
        scratch = self.table.scratch
        if len(scratch.order) < words:
            self.table = self.table._replace(scratch=grown(scratch, words=words))

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Interests,
        table: Words,
        taken: int,
    ) -> None:
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
        self._pace.begin_anew(taken)

    def bytes(self) -> int:
        return bytes_of_table(self.table) - self.table.blocks.signatures.nbytes


def _empty_blocks(words: NDArray[np.int32], count: int) -> tuple[Blocks, NDArray[np.int64]]:
    """Room for the blocks of all words, and how many postings the word of each rank has; the rarest has rank 0."""
    frequencies = np.bincount(words, minlength=count)
    used = np.flatnonzero(frequencies)
    used = used[np.argsort(frequencies[used], kind="stable")]
    of_word = (frequencies[used] + BLOCK - 1) // BLOCK
    stops = np.cumsum(of_word)
    blocks = _no_blocks(count, int(of_word.sum()))
    blocks.ranks[used] = np.arange(len(used))
    blocks.bits[used] = signature_bits(len(used), _OWN_BITS, np.uint16)
    blocks.firsts[used], blocks.stops[used] = stops - of_word, stops
    return blocks, frequencies[used]


def signature_bits(ranks: int, own: int, dtype: DTypeLike) -> NDArray[Any]:
    """The signature bit of the word of each rank. Each of the `own` most frequent has one to itself."""
    place = np.arange(ranks)[::-1]
    hashed = own + ((place * GOLDEN_32 >> 20) & (own - 1))
    return (np.uint64(1) << np.where(place < own, place, hashed).astype(np.uint64)).astype(dtype)


def _no_blocks(words: int, count: int) -> Blocks:
    blocks = new_table(Blocks, words=words, blocks=count, slots=0, places=0)
    return blocks._replace(signatures=blocks.codes.view(np.uint16))


def _scratch(most: int, blocks: int) -> Scratch:
    return new_table(Scratch, widest=most, words=0, blocks=blocks, candidates=AT_ONCE)

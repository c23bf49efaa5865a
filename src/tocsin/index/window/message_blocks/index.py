"""Search for many subscriptions at once: a window's messages in blocks, the most promising first.

A search from scratch examines every message that shares a word. This one examines the headers of blocks, and the blocks
that may hold one of the best. It pays when many search at once: while a window is filled in bulk or loaded, and when
many subscriptions are added to a window with messages. Built in a microsecond a word of a message; some 32 bytes each.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.tables import new_table
from tocsin.index.window.blocks.index import signature_bits
from tocsin.index.window.blocks.kernels.building import order_postings
from tocsin.index.window.blocks.kernels.layouts import BLOCK, FEATURES, Postings
from tocsin.index.window.kernels.layouts import FIRST_WORD, WITHIN, Interests, Messages, State, Words, X, Y
from tocsin.index.window.kernels.searching import evaluate_all
from tocsin.index.window.message_blocks.kernels.building import write_message_blocks, write_message_postings
from tocsin.index.window.message_blocks.kernels.layouts import NO_RANK, MessageBlocks, Scratch
from tocsin.index.window.message_blocks.kernels.searching import evaluate_by_blocks
from tocsin.index.window.stored import words_of_messages

_OWN_BITS: Final = 32
"""This many of the most frequent words have a bit of a signature to themselves."""


_CELLS: Final = 16
"""Columns and rows of a grid; subscriptions in the same cell are searched one after another."""
MANY: Final = 512
"""With at least this many subscriptions and messages, blocks are searched; with fewer, lists."""


class BatchSearch:
    """Searches for many subscriptions. The blocks are kept as long as the window has the same messages."""

    def __init__(self, many: int = MANY) -> None:
        self.many = many  # the fewest that are searched in blocks
        self.forget()

    def forget(self) -> None:
        """Free the blocks, because messages are about to arrive."""
        self._blocks: MessageBlocks | None = None
        self._of: tuple[int, ...] = ()

    def fill(self, state: State, slots: NDArray[np.int32]) -> None:
        """Fill the buffers of subscriptions that wait for no message with their best of the window."""
        first, stop, _ = state.messages.ends.tolist()
        if min(len(slots), stop - first) < self.many:
            evaluate_all(state, slots)
            return
        of = (first, stop, len(state.words.squares))
        if self._blocks is None or self._of != of:
            self._blocks, self._of = messages_in_blocks(state.messages, state.words, state.rules.diagonal), of
        slots = slots[_alike(self._blocks, state.interests, slots)]
        evaluate_by_blocks(self._blocks, scratch_for(self._blocks, len(state.work.words)), state, slots)


def _alike(blocks: MessageBlocks, interests: Interests, slots: NDArray[np.int32]) -> NDArray[np.int64]:
    """An order that puts subscriptions with the same blocks together: by most frequent word, then place."""
    ranks = blocks.ranks[np.maximum(interests.words[slots, FIRST_WORD : FIRST_WORD + WITHIN], 0)]
    places = interests.records[slots][:, [X, Y]]
    low, high = places.min(0), places.max(0)
    cells = (_CELLS * (places - low) / np.maximum(high - low, np.finfo(float).tiny)).astype(np.int64)
    return np.lexsort((cells[:, 0], cells[:, 1], np.where(ranks == NO_RANK, -1, ranks).max(1)))


def messages_in_blocks(messages: Messages, table: Words, diagonal: float) -> MessageBlocks:
    """The present messages of the window in blocks."""
    starts, words, factors = words_of_messages(messages)
    blocks, by_rank = _empty_blocks(messages, words, len(table.squares))
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((blocks.ranks[words], owners))
    words, factors, count = words[order], factors[order] if len(factors) else factors, len(words)
    postings = Postings(
        np.concatenate([[0], np.cumsum(by_rank, dtype=np.int64)]),
        np.empty(count, np.int32),
        np.empty((FEATURES, count), np.float32),
        np.empty(0, np.uint16),
    )
    signs, order = np.empty(count, np.uint64), np.arange(count)
    write_message_postings(blocks, messages, table.squares, starts, words, factors, diagonal, postings, signs)
    order_postings(postings, order)
    write_message_blocks(blocks, messages, postings, signs, order)
    return blocks


def scratch_for(blocks: MessageBlocks, words: int) -> Scratch:
    """Memory for subscriptions of at most that many words."""
    most = int(np.sort(blocks.stops - blocks.firsts)[-words:].sum()) if words else 0
    return new_table(Scratch, words=words, blocks=most)


def _empty_blocks(messages: Messages, words: NDArray[np.int32], count: int) -> tuple[MessageBlocks, NDArray[np.int64]]:
    """Room for the blocks of all words, and how many postings the word of each rank has; the rarest has rank 0."""
    frequencies = np.bincount(words, minlength=count)
    used = np.flatnonzero(frequencies)
    used = used[np.argsort(frequencies[used], kind="stable")]
    of_word = (frequencies[used] + BLOCK - 1) // BLOCK
    stops = np.cumsum(of_word)
    room = int(of_word.sum())
    headers = np.zeros((6, room), np.float32)
    headers[[0, 2]], headers[[1, 3]] = np.inf, -np.inf
    first, stop = messages.ends[:2].tolist()
    places = messages.records[np.arange(first, stop) & (len(messages.word_starts) - 1)][:, [X, Y]]
    ranks, bits = np.full(count, NO_RANK, np.int32), np.zeros(count, np.uint64)
    firsts, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
    ranks[used], bits[used] = np.arange(len(used)), signature_bits(len(used), _OWN_BITS, np.uint64)
    firsts[used], ends[used] = stops - of_word, stops
    blocks = MessageBlocks(
        origin=places.min(0, initial=np.inf) if len(places) else np.zeros(2),
        ranks=ranks,
        bits=bits,
        firsts=firsts,
        stops=ends,
        headers=headers,
        postings=np.zeros((3, BLOCK * room), np.float32),
        signs=np.zeros(BLOCK * room, np.uint64),
        owners=np.zeros(BLOCK * room, np.int32),
        word_places=np.zeros(BLOCK * room, np.int64),
        counts=np.zeros(room, np.int32),
    )
    return blocks, frequencies[used]

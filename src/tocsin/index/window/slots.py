"""The slots of a window's subscriptions: each has a record of one cache line, and a buffer.

No message reaches a slot once its subscription is removed. The slot is free again when the structure has dropped it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.errors import InvalidInput
from tocsin.index.tables import bytes_of_table
from tocsin.index.window.buffering import Buffering
from tocsin.index.window.growing import longer, power_of_two
from tocsin.index.window.kernels.layouts import (
    ALPHA,
    CAPACITY,
    COUNT,
    EMPTY,
    FIRST_WORD,
    GONE,
    HEAD,
    KTH,
    KTH_SCORE,
    LIMIT,
    NO_SCORE,
    NOBODY,
    NORM,
    RANK,
    SEARCHED,
    START,
    THETA,
    TOUCHED_AT,
    TOUCHED_BITS,
    WANTED,
    WITHIN,
    Buffers,
    Interests,
    X,
    Y,
)


class Coming(NamedTuple):
    """New subscriptions. C of them with N words."""

    starts: NDArray[np.int64]  # (C + 1,)
    words: NDArray[np.int32]  # (N,) distinct within a subscription, the lightest first
    places: NDArray[np.float64]  # (C, 2)
    ks: NDArray[np.int32]  # (C,)
    alphas: NDArray[np.float64]  # (C,)
    norms: NDArray[np.float64]  # (C,)

    def part(self, places: NDArray[np.int64]) -> Coming:
        """Some of them, by position."""
        own, owners = gathered(self.starts, places)
        starts = np.searchsorted(owners, np.arange(len(places) + 1))
        return Coming._make([starts, self.words[own], *(array[places] for array in self[2:])])


class Held(NamedTuple):
    """The parameters of subscriptions. C of them with N words."""

    records: NDArray[np.float64]  # (C, 8) columns X, Y, ALPHA and others
    ks: NDArray[np.int32]  # (C,)
    starts: NDArray[np.int64]  # (C + 1,)
    words: NDArray[np.int32]  # (N,)


class Slots:
    """The tables of all subscriptions, which grow, and the free slots."""

    def __init__(self, buffering: Buffering, size: int) -> None:
        self.buffering, self._size = buffering, size
        self.living = 0
        self.largest_buffer = 8
        self._end = 0
        self._free: list[int] = []
        self._gone: list[int] = []
        self._longer_end = 0
        self._entries_end = 0
        self._free_entries: dict[int, list[int]] = defaultdict(list)
        self.interests = _no_interests()
        self.buffers = _no_buffers()

    @property
    def capacity(self) -> int:
        return len(self.interests.ks)

    @property
    def gone(self) -> int:
        """The number of removed slots that the structure still holds."""
        return len(self._gone)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The position of each slot's id in the order of the ids; writable."""
        return self.buffers.wide[:, RANK]

    def alive(self) -> NDArray[np.int32]:
        """The slots of all live subscriptions, ascending."""
        return np.flatnonzero(self.interests.records[: self._end, THETA] != GONE).astype(np.int32)

    def words_of(self, slots: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each slot's words begin, and the words of all, concatenated."""
        held, longer_words = self.interests.words, self.interests.longer
        rows = held[slots, FIRST_WORD : FIRST_WORD + WITHIN]
        if not (rows[:, -1] < 0).any():
            counts = (rows > 0).sum(1)
            return np.concatenate([[0], np.cumsum(counts)]), rows[rows > 0]
        parts = []
        for row in rows:
            at = ~int(row[-1])
            own = row[row > 0]
            parts.append(own if row[-1] >= 0 else np.append(own, longer_words[at + 1 : at + 1 + longer_words[at]]))
        return np.concatenate([[0], np.cumsum([len(part) for part in parts])]), np.concatenate(parts).astype(np.int32)

    # Adding and removing

    def add(self, coming: Coming) -> NDArray[np.int32]:
        """Assign slots to subscriptions. Their buffers are empty, and every message reaches their thresholds."""
        count = len(coming.ks)
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = range(self._end, self._end + count - len(reused))
        self._end += len(fresh)
        if self._end > 1 << TOUCHED_BITS:
            raise InvalidInput(f"a window holds {1 << TOUCHED_BITS:,} subscriptions at most; make another window")
        slots = np.array([*reused, *fresh], np.int32)
        if self._end > self.capacity:
            self._grow(power_of_two(self._end))
        self._write_records(slots, coming)
        self._give_buffers(slots, coming.ks)
        self.living += count
        return slots

    def remove(self, slot: int) -> None:
        """Remove a slot's subscription, so that no message reaches it, and free its buffer.

        No message may await the slot.
        """
        self.interests.records[slot, THETA] = GONE
        small = self.buffers.small
        self._free_entries[int(small[slot, CAPACITY])].append(int(self.buffers.wide[slot, START]))
        small[slot, COUNT] = 0
        self._gone.append(slot)
        self.living -= 1

    def reuse(self) -> NDArray[np.int32]:
        """Make removed slots available again; returns them."""
        gone = np.array(self._gone, np.int32)
        self._free += self._gone
        self._gone = []
        return gone

    def _write_records(self, slots: NDArray[np.int32], coming: Coming) -> None:
        records, words = self.interests.records, self.interests.words
        records[slots, X], records[slots, Y] = coming.places[:, 0], coming.places[:, 1]
        records[slots, ALPHA], records[slots, THETA], records[slots, NORM] = coming.alphas, NO_SCORE, coming.norms
        counts = np.diff(coming.starts)
        own = np.arange(WITHIN)
        at = np.minimum(coming.starts[:-1, None] + own, max(len(coming.words) - 1, 0))
        words[slots, FIRST_WORD:] = np.where(own < counts[:, None], coming.words[at], 0)
        for i in np.flatnonzero(counts > WITHIN):
            rest = coming.words[coming.starts[i] + WITHIN - 1 : coming.starts[i + 1]]
            words[slots[i], FIRST_WORD + WITHIN - 1] = ~self._put_longer(rest)
        self.interests.ks[slots] = coming.ks

    def _put_longer(self, words: NDArray[np.int32]) -> int:
        """Write the words that exceed a record; returns where."""
        at, stop = self._longer_end, self._longer_end + 1 + len(words)
        if stop > len(self.interests.longer):
            self.interests = self.interests._replace(longer=longer(self.interests.longer, power_of_two(stop)))
        self.interests.longer[at] = len(words)
        self.interests.longer[at + 1 : stop] = words
        self._longer_end = stop
        return at

    def _give_buffers(self, slots: NDArray[np.int32], ks: NDArray[np.int32]) -> None:
        buffers, small = self.buffers, self.buffers.small
        for k in np.unique(ks).tolist():
            searched, limit, capacity = self.buffering.room_within(k, self._size)
            self.largest_buffer = max(self.largest_buffer, capacity)
            wanting = slots[ks == k]
            free = self._free_entries[capacity]
            starts = [free.pop() for _ in range(min(len(free), len(wanting)))]
            fresh = self._entries_end + capacity * np.arange(len(wanting) - len(starts))
            self._entries_end += capacity * len(fresh)
            buffers.wide[wanting, START] = np.concatenate([np.array(starts, np.int64), fresh])
            for start in starts:
                buffers.scores[start : start + capacity] = EMPTY
            small[wanting, CAPACITY], small[wanting, SEARCHED], small[wanting, LIMIT] = capacity, searched, limit
        small[slots, WANTED] = ks
        if self._entries_end > len(buffers.scores):
            room = max(self._entries_end, min(2 * len(buffers.scores), self._entries_end + (1 << 24)))
            scores, numbers = longer(buffers.scores, room, EMPTY), longer(buffers.numbers, room)
            above = longer(buffers.above, room if self.buffering.is_skyband else 0)
            self.buffers = buffers._replace(scores=scores, bits=scores.view(np.int64), numbers=numbers, above=above)
        small[slots, HEAD] = small[slots, COUNT] = small[slots, TOUCHED_AT] = 0
        buffers.real[slots, KTH_SCORE] = NO_SCORE
        buffers.wide[slots, KTH] = NOBODY

    def _grow(self, capacity: int) -> None:
        records = longer(self.interests.records, capacity)
        records[len(self.interests.ks) :, THETA] = GONE
        self.interests = Interests(
            records,
            records.view(np.int32),
            self.interests.longer,
            longer(self.interests.ks, capacity),
        )
        wide = longer(self.buffers.wide, capacity)
        views = wide.view(np.float64), wide.view(np.int32)
        self.buffers = Buffers._make([wide, *views, *self.buffers[3:]])

    def pack_longer(self) -> None:
        """Drop the longer word lists of removed subscriptions."""
        alive = self.alive()
        column = FIRST_WORD + WITHIN - 1
        old, words = self.interests.longer, self.interests.words
        self.interests = self.interests._replace(longer=np.zeros(64, np.int32))
        self._longer_end = 0
        for slot in alive[words[alive, column] < 0].tolist():
            at = ~int(words[slot, column])
            words[slot, column] = ~self._put_longer(old[at + 1 : at + 1 + old[at]])

    def bytes(self) -> dict[str, int]:
        """Bytes by purpose."""
        interests = self.interests
        return {
            "records": interests.records.nbytes + bytes_of_table(interests[2:]),
            "buffers": bytes_of_table((self.buffers.wide, self.buffers.scores, *self.buffers[5:])),
        }


def _no_interests() -> Interests:
    records = np.empty((0, 8), np.float64)
    longer_words = np.zeros(64, np.int32)
    return Interests(records, records.view(np.int32), longer_words, np.empty(0, np.int32))


def _no_buffers() -> Buffers:
    wide, scores = np.empty((0, 8), np.int64), np.empty(0)
    views = wide.view(np.float64), wide.view(np.int32)
    return Buffers(wide, *views, scores, scores.view(np.int64), np.empty(0, np.int32), np.empty(0, np.int32))

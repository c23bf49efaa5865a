"""The slots of a window's subscriptions: each has a record of one cache line, and a buffer.

No message reaches a slot once its subscription is removed. The slot is free again when the structure has dropped it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.errors import InvalidInput
from tocsin.index.tables import bytes_of_table
from tocsin.index.window.buffering import Buffering, Room
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

_BYTES: Final = 200
"""About how many bytes of all tables a slot takes, without the entries of its buffer."""


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


class Entries(NamedTuple):
    """The entries of buffers for all new subscriptions with one k."""

    k: int
    sizes: Room
    starts: NDArray[np.int64]  # (C,) where each buffer begins; the reused ones come first
    reused: int
    free: int  # how many free buffers of this size are left
    end: int  # of all entries


class Taking(NamedTuple):
    """New subscriptions in their slots, before these count."""

    slots: NDArray[np.int32]  # (C,)
    interests: Interests
    buffers: Buffers
    rooms: list[Entries]
    free: int  # how many free slots are left
    end: int  # of all slots
    longer_end: int
    living: int


class Joining(NamedTuple):
    """New subscriptions with their slots, and how many subscriptions will have each of their words."""

    taking: Taking
    coming: Coming
    words: NDArray[np.int32]
    uses: NDArray[np.int32]

    @property
    def slots(self) -> NDArray[np.int32]:
        return self.taking.slots


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

    def plan(self, coming: Coming) -> Taking:
        """Choose slots and buffers for subscriptions, and write there; nothing counts before `take`.

        Their buffers are empty.
        """
        count = len(coming.ks)
        free = max(len(self._free) - count, 0)
        reused = self._free[free:]
        end = self._end + count - len(reused)
        if end > 1 << TOUCHED_BITS:
            raise InvalidInput(f"a window holds {1 << TOUCHED_BITS:,} subscriptions at most; make another window")
        slots = np.array([*reversed(reused), *range(self._end, end)], np.int32)
        interests, wide = self.interests, self.buffers.wide
        if end > self.capacity:
            interests, wide = self._grown(power_of_two(end))
        interests, longer_end = self._write_records(interests, slots, coming)
        views = wide, wide.view(np.float64), wide.view(np.int32)
        rooms = self._rooms(coming.ks)
        buffers = self._write_buffers(Buffers._make([*views, *self.buffers[3:]]), slots, coming.ks, rooms)
        return Taking(
            slots=slots,
            interests=interests,
            buffers=buffers,
            rooms=rooms,
            free=free,
            end=end,
            longer_end=longer_end,
            living=self.living + count,
        )

    def take(self, taking: Taking) -> None:
        """Make planned subscriptions live: every message reaches their thresholds. May be repeated."""
        self.interests, self.buffers = taking.interests, taking.buffers
        self.interests.records[taking.slots, THETA] = NO_SCORE
        self._end, self._longer_end, self.living = taking.end, taking.longer_end, taking.living
        del self._free[taking.free :]
        for room in taking.rooms:
            del self._free_entries[room.sizes.capacity][room.free :]
            self._entries_end = room.end
            self.largest_buffer = max(self.largest_buffer, room.sizes.capacity)

    def leaving(self, slot: int) -> Callable[[], None]:
        """A step that removes a slot's subscription, so that no message reaches it, and frees its buffer.

        It may be repeated. No message may await the slot.
        """
        small, living, gone = self.buffers.small, self.living - 1, len(self._gone)
        entries = self._free_entries[int(small[slot, CAPACITY])]
        start, free = int(self.buffers.wide[slot, START]), len(entries)

        def step() -> None:
            self.interests.records[slot, THETA] = GONE
            small[slot, COUNT] = 0
            entries[free:], self._gone[gone:], self.living = [start], [slot], living

        return step

    def gone_slots(self) -> NDArray[np.int32]:
        """The removed slots that the structure still holds."""
        return np.array(self._gone, np.int32)

    def reusing(self) -> Callable[[], None]:
        """A step that makes removed slots available again, and drops their longer word lists. It may be repeated."""
        alive = self.alive()
        column = FIRST_WORD + WITHIN - 1
        old, words = self.interests.longer, self.interests.words
        slots = alive[words[alive, column] < 0]
        firsts = ~words[slots, column].astype(np.int64)
        places, _ = gathered(np.stack([firsts, firsts + 1 + old[firsts]]).T.reshape(-1), 2 * np.arange(len(slots)))
        packed = longer(old[places], power_of_two(len(places)))
        starts = ~(np.cumsum(1 + old[firsts]) - 1 - old[firsts]).astype(np.int32)
        interests, free = self.interests._replace(longer=packed), [*self._free, *self._gone]

        def step() -> None:
            words[slots, column] = starts
            self.interests, self._longer_end, self._free, self._gone = interests, len(places), free, []

        return step

    def _write_records(self, interests: Interests, slots: NDArray[np.int32], coming: Coming) -> tuple[Interests, int]:
        """Write the records of slots that nobody has; returns the tables and the end of the longer word lists."""
        counts = np.diff(coming.starts)
        records, words = interests.records, interests.words
        records[slots, X], records[slots, Y] = coming.places[:, 0], coming.places[:, 1]
        records[slots, ALPHA], records[slots, NORM] = coming.alphas, coming.norms
        own = np.arange(WITHIN)
        at = np.minimum(coming.starts[:-1, None] + own, max(len(coming.words) - 1, 0))
        words[slots, FIRST_WORD:] = np.where(own < counts[:, None], coming.words[at], 0)
        interests.ks[slots] = coming.ks
        if not (counts > WITHIN).any():
            return interests, self._longer_end
        return self._write_longer(interests, slots, coming, counts)

    def _write_longer(
        self, interests: Interests, slots: NDArray[np.int32], coming: Coming, counts: NDArray[np.int64]
    ) -> tuple[Interests, int]:
        """Write the words that exceed a record behind those that count."""
        long = np.flatnonzero(counts > WITHIN)
        lengths = counts[long] - (WITHIN - 1)
        stops = self._longer_end + np.cumsum(1 + lengths)
        end = int(stops[-1])
        if end > len(interests.longer):
            interests = interests._replace(longer=longer(interests.longer, power_of_two(end)))
        for i, length, stop in zip(long.tolist(), lengths.tolist(), stops.tolist(), strict=True):
            last, first = coming.starts[i + 1], stop - 1 - length
            interests.longer[first] = length
            interests.longer[first + 1 : stop] = coming.words[last - length : last]
            interests.words[slots[i], FIRST_WORD + WITHIN - 1] = ~first
        return interests, end

    def _rooms(self, ks: NDArray[np.int32]) -> list[Entries]:
        """The entries of buffers for each distinct k: free ones of the same size, and fresh ones."""
        rooms, left, end = list[Entries](), dict[int, int](), self._entries_end
        for k, count in sorted(Counter(ks.tolist()).items()):
            sizes = self.buffering.room_within(k, self._size)
            held = self._free_entries[sizes.capacity]
            before = left.get(sizes.capacity, len(held))
            free = left[sizes.capacity] = max(before - count, 0)
            reused = held[free:before]
            starts = end + sizes.capacity * np.arange(count - len(reused))
            end += sizes.capacity * len(starts)
            if reused:
                starts = np.concatenate([np.array(reused, np.int64), starts])
            rooms.append(Entries(k=k, sizes=sizes, starts=starts, reused=len(reused), free=free, end=end))
        return rooms

    def _write_buffers(
        self, buffers: Buffers, slots: NDArray[np.int32], ks: NDArray[np.int32], rooms: Sequence[Entries]
    ) -> Buffers:
        """Write the empty buffers of slots that nobody has; returns the tables."""
        end = rooms[-1].end if rooms else 0
        if end > len(buffers.scores):
            room = max(end, min(2 * len(buffers.scores), end + (1 << 24)))
            scores, numbers = longer(buffers.scores, room, EMPTY), longer(buffers.numbers, room)
            above = longer(buffers.above, room if self.buffering.is_skyband else 0)
            buffers = buffers._replace(scores=scores, bits=scores.view(np.int64), numbers=numbers, above=above)
        small = buffers.small
        for k, sizes, starts, reused, _, _ in rooms:
            wanting = slots if len(rooms) == 1 else slots[ks == k]
            buffers.wide[wanting, START] = starts
            for start in starts[:reused].tolist():
                buffers.scores[start : start + sizes.capacity] = EMPTY
            small[wanting, CAPACITY], small[wanting, SEARCHED], small[wanting, LIMIT] = (
                sizes.capacity,
                sizes.searched,
                sizes.limit,
            )
        small[slots, WANTED] = ks
        small[slots, HEAD] = small[slots, COUNT] = small[slots, TOUCHED_AT] = 0
        buffers.real[slots, KTH_SCORE] = NO_SCORE
        buffers.wide[slots, KTH] = NOBODY
        return buffers

    def _grown(self, capacity: int) -> tuple[Interests, NDArray[np.int64]]:
        """The records of subscriptions and of buffers with room for more slots; the new ones are nobody's."""
        records = longer(self.interests.records, capacity)
        records[self.capacity :, THETA] = GONE
        ks, wide = longer(self.interests.ks, capacity), longer(self.buffers.wide, capacity)
        return Interests(records, records.view(np.int32), self.interests.longer, ks), wide

    def bytes_for(self, ks: Sequence[int]) -> int:
        """About how many bytes new subscriptions take, by their k and before their words. Free buffers cost nothing."""
        entries = 0
        for k, count in Counter(ks).items():
            capacity = self.buffering.room_within(k, self._size).capacity
            entries += max(count - len(self._free_entries.get(capacity, ())), 0) * capacity
        return len(ks) * _BYTES + entries * (16 if self.buffering.is_skyband else 12)

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

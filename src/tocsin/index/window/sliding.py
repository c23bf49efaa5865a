"""A sliding window: messages, subscriptions and buffers, over any Disseminator.

Words, subscriptions and messages are numbers here; `tocsin.window` keeps their names.

Cost of a push: the structure's search, plus some hundred nanoseconds for each subscription that it reaches or whose
oldest buffered message expires. A subscription takes 64 bytes for its record, 52 more, and 12 for each entry of its
buffer, or 16 in a k-skyband. `buffering` gives the number of entries.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import starts_of
from tocsin.commits import Commit
from tocsin.index.protocols import Disseminator
from tocsin.index.tables import bytes_of_table, grown, new_table
from tocsin.index.window.buffering import Buffering
from tocsin.index.window.growing import no_lists, power_of_two, with_room
from tocsin.index.window.kernels.buffers import write_best
from tocsin.index.window.kernels.layouts import (
    CHUNK,
    COUNT,
    DONE,
    GONE,
    MORE_CHANGES,
    MORE_EXITS,
    MORE_LISTS,
    NOBODY,
    ROW,
    SPARE,
    THETA,
    UNFINISHED,
    WRITTEN,
    Batch,
    Changes,
    Rules,
    State,
    Waiting,
    Work,
)
from tocsin.index.window.kernels.layouts import Words as WordTable
from tocsin.index.window.kernels.searching import forget_slot
from tocsin.index.window.kernels.stream import STATE, pass_time, push_messages, take_messages
from tocsin.index.window.message_blocks import BatchSearch
from tocsin.index.window.slots import Coming, Held, Joining, Slots
from tocsin.index.window.stored import no_messages, no_waiting, with_message_room, with_waiting_room
from tocsin.jit.views import Packed

_AT_ONCE: Final = 1024
"""Messages between two checks whether the structure must be rebuilt."""
_MOST_KEPT: Final = 1 << 18
"""The most changes for which room is kept between calls."""
_ENDLESS: Final = 1 << 62
_GONE_AT_LEAST: Final = 1024
"""With fewer removed subscriptions a rebuild does not pay."""
_IN_BULK: Final = 8
"""A batch is taken in bulk if it has more messages than those held divided by this."""


class Sliding:
    """A window of `size` messages, or of `span` seconds, or both; `diagonal` is the longest distance."""

    def __init__(
        self,
        disseminator: Disseminator,
        buffering: Buffering,
        diagonal: float,
        size: int | None,
        span: float | None,
        has_factors: bool = False,
    ) -> None:
        self.disseminator = disseminator
        self.rules = Rules(_ENDLESS if size is None else size, math.inf if span is None else span, diagonal)
        self.slots = Slots(buffering, self.rules.size)
        self.messages = no_messages(has_factors)
        self._waiting = no_waiting()
        self.lists = no_lists(1)
        self.words = new_table(WordTable, words=1)
        self._work = new_table(Work, words=0, slots=0, exits=SPARE, messages=0, buffer=0)
        self._out = new_table(Changes, changes=1024, messages=0)
        self._packed = Packed(self._state(), STATE)
        self.batch_search = BatchSearch()
        self._fills = False
        self._commit = Commit()

    @property
    def is_whole(self) -> bool:
        """Whether no change has ended halfway. Nothing may be asked of a window that is not whole."""
        return not (self._commit.is_half or self._fills or self._work.progress[UNFINISHED])

    # Words

    def know_words(self, count: int, numbers: NDArray[np.int64], squares: NDArray[np.float64]) -> None:
        """Make room for words below `count`. `numbers` are new or reused words, with squared weights `squares`."""
        room = power_of_two(count)
        if room > len(self.words.squares):
            words, lists = grown(self.words, words=room), grown(self.lists, words=room)
            self.disseminator.know_words(room)
            self.words, self.lists = words, lists
        self.words.squares[numbers] = squares

    @property
    def squares(self) -> NDArray[np.float64]:
        """The squared weight of each word."""
        return self.words.squares

    @property
    def uses(self) -> NDArray[np.int32]:
        """The number of subscriptions with each word."""
        return self.words.uses

    # Subscriptions

    def plan(self, coming: Coming) -> Joining:
        """Choose slots for new subscriptions. Nothing changes before `add`."""
        words, uses = self._more_uses(coming)
        return Joining(self.slots.plan(coming), coming, words, uses)

    def add(self, joining: Joining) -> None:
        """Add subscriptions, and fill their buffers from the window. After an error, `remove_all` undoes it."""
        coming, slots = joining.coming, joining.slots

        def take() -> None:
            self.words.uses[joining.words] = joining.uses
            self.slots.take(joining.taking)

        self._commit.make(take)
        self._give_room_to_work(int(np.diff(coming.starts).max(initial=0)))
        if self.held:
            self.batch_search.fill(self._state(), slots)
        self.disseminator.add(slots, coming.starts, coming.words, self.slots.interests)

    def _more_uses(self, coming: Coming) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The words of new subscriptions, and how many subscriptions will have each."""
        words, counts = (coming.words, 1) if len(coming.ks) == 1 else np.unique(coming.words, return_counts=True)
        return words, (self.words.uses[words] + counts).astype(np.int32)

    def remove_all(self, slots: NDArray[np.int32]) -> None:
        """Remove the subscriptions that some slots have."""
        slots = slots[slots < self.slots.capacity]
        for slot in slots[self.slots.interests.records[slots, THETA] != GONE].tolist():
            self.remove(slot)

    def remove(self, slot: int) -> None:
        """Remove the subscription of a slot, if it has one. An interrupt is raised once it is removed."""
        if self.slots.interests.records[slot, THETA] == GONE:
            return
        leave, state = self.slots.leaving(slot), self._state()

        def step() -> None:
            forget_slot(state, slot)
            leave()

        self._commit.make(step)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The position of each slot's id in the order of the ids."""
        return self.slots.ranks

    def rank(self, slots: NDArray[np.int32], ranks: NDArray[np.int64]) -> None:
        """Set the order of slots in which changes are reported."""
        self.slots.ranks[slots] = ranks

    def held_at(self, slots: NDArray[np.int32]) -> Held:
        """The parameters of some subscriptions."""
        interests = self.slots.interests
        return Held(interests.records[slots], interests.ks[slots], *self.slots.words_of(slots))

    def settle(self) -> bool:
        """Drop removed subscriptions from the structure if they are many; returns whether words may now be unused."""
        gone = self.slots.gone
        drops = gone > max(_GONE_AT_LEAST, self.slots.living // 8)
        if drops:
            self.order()  # first, because the structure must not hold a slot that is used again
            words, counts = np.unique(self.slots.words_of(self.slots.gone_slots())[1], return_counts=True)
            uses, reuse = (self.words.uses[words] - counts).astype(np.int32), self.slots.reusing()

            def step() -> None:
                self.words.uses[words] = uses
                reuse()

            self._commit.make(step)
        return drops

    def order(self) -> None:
        """Rebuild the structure with the live subscriptions and their present thresholds.

        `push` does so itself if it pays.
        """
        self._build(self.disseminator)

    def _build(self, disseminator: Disseminator) -> None:
        alive = self.slots.alive()
        starts, words = self.slots.words_of(alive)
        disseminator.build(alive, starts, words, self.slots.interests, self.words, self.taken)

    def change_to(self, disseminator: Disseminator) -> None:
        """Use another Disseminator from now on."""
        disseminator.know_words(len(self.words.squares))
        disseminator.know_length(len(self._work.words))
        self._build(disseminator)
        self.disseminator = disseminator

    # Messages

    @property
    def held(self) -> int:
        """The number of messages in the window."""
        return int(self.messages.ends[1] - self.messages.ends[0])

    @property
    def taken(self) -> int:
        """The number of messages so far, which is the number of the next one."""
        return int(self.messages.ends[1])

    def start_at(self, number: int) -> None:
        """Number messages from here on; there must be none yet."""
        self.messages.ends[:2] = number

    def push(self, batch: Batch) -> Changes:
        """Push messages one after another; returns all changes."""
        self.batch_search.forget()
        rows = len(batch.times)
        self._give_room_to_work(len(batch.words) if rows == 1 else int(np.diff(batch.starts).max(initial=0)))
        if rows == 1:
            return self._push(batch)
        parts = [self._push(_rows_of(batch, at, at + _AT_ONCE)) for at in range(0, rows, _AT_ONCE)]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _push(self, batch: Batch) -> Changes:
        if self.disseminator.is_due(self.slots.living, self.taken):
            self.order()
        ends = np.zeros(len(batch.times), np.int64)
        large = len(self._out.slots) > _MOST_KEPT  # as while a window fills
        self._out = (new_table(Changes, changes=_MOST_KEPT, messages=0) if large else self._out)._replace(ends=ends)
        self._work.progress[[ROW, WRITTEN]] = 0
        while (wanted := push_messages(self.disseminator.table, self._places(), batch, self._out)) != DONE:
            self._give_room(wanted, batch)
        return self._written()

    def fill(self, batch: Batch) -> None:
        """Add messages without reporting changes; `end_fill` must be called after the last of them.

        If they are many, the first call empties the buffers, and `end_fill` fills them by one search for all.
        """
        if not self._fills and _IN_BULK * len(batch.times) <= self.held:
            self.push(batch)
            return
        self._give_room_to_work(int(np.diff(batch.starts).max(initial=0)))
        if not self._fills:
            self._fills = True
            self._empty_buffers()
        self._work.progress[ROW] = 0
        while (wanted := take_messages(self._places(), batch)) != DONE:
            self._give_room(wanted, batch)

    def end_fill(self) -> None:
        """Fill all buffers by a search, if messages were taken in bulk."""
        if self._fills:
            self._give_room_to_work(0)
            self._empty_buffers()  # again, because an interrupt may have come in the middle of that
            self.batch_search.fill(self._state(), self.slots.alive())
            self._fills = False
            self.order()

    def _empty_buffers(self) -> None:
        self.slots.buffers.small[:, COUNT] = 0
        self.messages.first_due[:] = NOBODY
        self._waiting.ends[:] = no_waiting().ends

    def advance(self, now: float) -> Changes:
        """Advance the time; returns the changes."""
        self._give_room_to_work(0)
        self._work.progress[[ROW, WRITTEN]] = 0
        while (wanted := pass_time(self.disseminator.table, self._places(), now, self._out)) != DONE:
            self._give_room(wanted, None)
        return self._written()

    def best(self, slot: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The numbers and scores of a subscription's best messages, best first."""
        _, numbers, scores = self.best_of_each(np.array([slot], np.int32))
        return numbers, scores

    def best_of_each(
        self, slots: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The best messages of some subscriptions: how many each has, then all numbers and scores, concatenated."""
        buffers = self.slots.buffers
        counts = np.minimum(buffers.small[slots, COUNT], self.slots.interests.ks[slots]).astype(np.int64)
        starts = starts_of(counts, len(slots))
        numbers, scores = np.empty(int(starts[-1]), np.int64), np.empty(int(starts[-1]))
        write_best(buffers, slots, self.taken - 1, starts, numbers, scores)
        return counts, numbers, scores

    def counts(self) -> NDArray[np.int64]:
        """How many subscriptions were compared, reached, evaluated anew and raised; columns of `Work.counts`."""
        return self._work.counts.copy()

    def bytes_for(self, ks: Sequence[int]) -> int:
        """About how many bytes new subscriptions take, by their k and before their words."""
        return self.slots.bytes_for(ks)

    def sizes(self) -> Mapping[str, int]:
        """Bytes by purpose."""
        own = {
            "messages": bytes_of_table((self.messages, self.lists, self._waiting)),
            "work": bytes_of_table((self._work, self._out, self.words)),
        }
        return {**self.slots.bytes(), "structure": self.disseminator.bytes(), **own}

    # Room

    def _state(self) -> State:
        slots = self.slots
        return State(
            self.rules, slots.interests, slots.buffers, self.messages, self._waiting, self.lists, self.words, self._work
        )

    def _places(self) -> NDArray[np.int64]:
        """The addresses of all tables, packed again if any was replaced."""
        state = self._state()
        if not all(map(operator.is_, state, self._packed.table)):
            self._packed = Packed(state, STATE)
        return self._packed.places

    def _written(self) -> Changes:
        out, stop = self._out, int(self._work.progress[WRITTEN])
        if len(out.slots) > _MOST_KEPT:  # the arrays themselves are returned, and the next push makes others
            return Changes._make([*(array[:stop] for array in out[:4]), out.ends])
        return Changes._make([*(array[:stop].copy() for array in out[:4]), out.ends])

    def _give_room(self, wanted: int, batch: Batch | None) -> None:
        """Double the room that a push waits for."""
        work, out = self._work, self._out
        if wanted == MORE_CHANGES:
            self._out = grown(out, changes=2 * len(out.slots))
        elif wanted == MORE_EXITS:
            self._work = grown(work, exits=2 * len(work.exit_numbers))
        elif wanted == MORE_LISTS:
            self.lists = with_room(self.lists, 4 * len(batch.words) if batch else 0)
        else:
            self._give_room_to_messages(batch)

    def _give_room_to_messages(self, batch: Batch | None) -> None:
        """Make room for messages: twice as much, but no more than a window and a batch need."""
        rows, words = (len(batch.times), len(batch.words)) if batch else (1, 1)
        held = self.held
        more = min(held + rows, self.rules.size - held + 1)
        messages = with_message_room(self.messages, max(more, 1), words)
        ring = len(messages.word_starts)
        # In one statement: a kernel masks a message's number by the length of one of them, and reads all.
        self.messages, self._waiting, self._work = messages, self._room_to_wait(ring), self._room_to_work(ring)

    def _give_room_to_work(self, words: int) -> None:
        """Make a call's memory large enough for the present tables, and for messages of so many words."""
        ring = len(self.messages.word_starts)
        waiting, work = self._room_to_wait(ring), self._room_to_work(ring)
        if len(work.words) < words:
            work = grown(work, words=power_of_two(words))
            self.disseminator.know_length(len(work.words))
        self._waiting, self._work = waiting, work

    def _room_to_wait(self, ring: int) -> Waiting:
        """The waiting slots, with room for so many messages and all slots."""
        slots = self.slots.capacity
        enough = len(self._waiting.chunks) >= ring + slots // CHUNK + 1
        return self._waiting if enough else with_waiting_room(self._waiting, slots, ring)

    def _room_to_work(self, ring: int) -> Work:
        """A call's memory, with room for so many messages and all subscriptions."""
        work, slots, largest = self._work, self.slots.capacity, self.slots.largest_buffer
        if len(work.shares) < slots:
            work = grown(work, slots=slots)
        if len(work.reached) < ring:
            work = grown(work, messages=ring)
        return grown(work, buffer=largest) if len(work.kept_scores) < largest else work


def _rows_of(batch: Batch, first: int, stop: int) -> Batch:
    """Some messages of a batch."""
    starts, places, times = batch.starts[first : stop + 1], batch.places[first:stop], batch.times[first:stop]
    return batch._replace(starts=starts, places=places, times=times)


def _joined(parts: Sequence[Changes]) -> Changes:
    """The changes of several batches, concatenated."""
    if not parts:
        return new_table(Changes, changes=0, messages=0)
    before = np.cumsum([0, *(len(part.slots) for part in parts)]).tolist()
    ends = [part.ends + written for part, written in zip(parts, before, strict=False)]
    columns = zip(*(part[:4] for part in parts), strict=True)
    return Changes._make([*(np.concatenate(arrays) for arrays in columns), np.concatenate(ends)])

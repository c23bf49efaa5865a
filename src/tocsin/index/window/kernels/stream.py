"""The stream: how a message passes through the window, from expiries to the subscriptions it reaches and the changes.

Paper: Wang et al. 2016, Algorithms 1 and 2. Departs: a push reports only the net difference between the best messages
before and after it. A message that enters and leaves a result within one push is not a change.

A push that lacks room stops between two steps, returns which room it needs, and continues there when called again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.buffers import (
    come_above,
    is_better,
    leave_out_dominated,
    next_above,
    next_below,
    number_of,
    place_in,
    put_in_buffer,
    raise_threshold,
    ranked,
)
from tocsin.index.window.kernels.disseminating import disseminate, retune
from tocsin.index.window.kernels.due import take_due, wait_for
from tocsin.index.window.kernels.layouts import (
    ARRIVAL,
    CAPACITY,
    COUNT,
    DONE,
    EMPTY,
    EXITS,
    EXPIRED,
    EXPIRING,
    HEAD,
    KTH,
    KTH_SCORE,
    LIMIT,
    MESSAGE_NORM,
    MORE_CHANGES,
    MORE_EXITS,
    MORE_LISTS,
    MORE_MESSAGES,
    NO_SCORE,
    NOBODY,
    ONE_EXIT,
    OTHERS,
    PHASE,
    REACHED,
    ROW,
    START,
    TELLING,
    THETA,
    TIME,
    TOUCHED,
    TOUCHED_AT,
    UNFINISHED,
    WANTED,
    WRITTEN,
    Batch,
    Buffers,
    Changes,
    State,
    X,
    Y,
)
from tocsin.index.window.kernels.lists import drop_first, has_room, put_behind
from tocsin.index.window.kernels.scoring import forget_words, read_words
from tocsin.index.window.kernels.searching import reevaluate
from tocsin.index.window.kernels.telling import most_changes, tell
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import prefetch
from tocsin.jit.views import kind_of, view, viewed

STATE: Final = kind_of(State)
"""The layout of a packed state."""

AHEAD = 8
"""Memory is prefetched this many subscriptions ahead, in two steps."""
_MOST_ASKED = np.int64(128)
"""The most scores of one buffer that are prefetched."""


@kernel
def push_messages(structure: Any, places: NDArray[np.int64], batch: Batch, changes: Changes) -> int:
    """Push the messages of a batch from `progress[ROW]` on; returns DONE, or which room is needed.

    `places` are those of a packed `State`.
    """
    held, all_, given, out = viewed(structure), view(places, STATE), viewed(batch), viewed(changes)
    progress = all_.work.progress
    progress[UNFINISHED] = 1
    while progress[ROW] < len(given.times):
        row = progress[ROW]
        if progress[PHASE] == EXPIRING:
            if not _has_list_room(all_, given, row):
                return MORE_LISTS
            if not _expire(all_, given.times[row], np.int64(1)):
                return MORE_EXITS
            if not _has_message_room(all_, given, row):
                return MORE_MESSAGES
            _refill(held, all_)
            _arrive(held, all_, given, row)
            progress[PHASE] = TELLING
        if progress[WRITTEN] + most_changes(all_) > len(out.slots):
            return MORE_CHANGES
        tell(all_, out, all_.messages.ends[1] - 1)
        out.ends[row] = progress[WRITTEN]
        progress[ROW] += 1
        progress[PHASE] = EXPIRING
    progress[UNFINISHED] = 0
    return DONE


@kernel
def take_messages(places: NDArray[np.int64], batch: Batch) -> int:
    """Add messages from `progress[ROW]` on and expire others, while buffers are empty; they are filled later.

    Returns DONE, or which room is needed.
    """
    all_, given = view(places, STATE), viewed(batch)
    progress = all_.work.progress
    while progress[ROW] < len(given.times):
        row = progress[ROW]
        if not _has_list_room(all_, given, row):
            return MORE_LISTS
        _expire(all_, given.times[row], np.int64(1))
        if not _has_message_room(all_, given, row):
            return MORE_MESSAGES
        norm = read_words(given, row, all_.words, all_.work.words)
        forget_words(all_.words, all_.work.words, np.int64(given.starts[row + 1] - given.starts[row]))
        _add_message(all_, given, row, norm)
        progress[ROW] += 1
    progress[EXPIRED] = 0
    return DONE


@kernel
def pass_time(structure: Any, places: NDArray[np.int64], now: float, changes: Changes) -> int:
    """Expire messages by time, without a new message; returns DONE, or which room is needed."""
    held, all_, out = viewed(structure), view(places, STATE), viewed(changes)
    progress = all_.work.progress
    progress[UNFINISHED] = 1
    if progress[PHASE] == EXPIRING:
        if not _expire(all_, now, np.int64(0)):
            return MORE_EXITS
        _refill(held, all_)
        progress[PHASE] = TELLING
    if progress[WRITTEN] + most_changes(all_) > len(out.slots):
        return MORE_CHANGES
    tell(all_, out, all_.messages.ends[1])
    progress[PHASE], progress[UNFINISHED] = EXPIRING, 0
    return DONE


@inlined
def _has_list_room(state: State, batch: Batch, row: int) -> bool:
    return has_room(state.lists, batch.words, batch.starts[row], batch.starts[row + 1])


@inlined
def _has_message_room(state: State, batch: Batch, row: int) -> bool:
    """Whether the message and its words fit in their rings."""
    messages = state.messages
    first, stop, word = messages.ends[0], messages.ends[1], messages.ends[2]
    if stop - first >= len(messages.word_starts):
        return False
    oldest = messages.word_starts[first & (len(messages.word_starts) - 1)] if first < stop else word
    return word + batch.starts[row + 1] - batch.starts[row] - oldest <= len(messages.words)


# Expiry


@inner
def _expire(state: State, now: float, coming: int) -> bool:
    """Expire messages that are too old or exceed the size; returns False if exits need more room."""
    rules, messages, progress = state.rules, state.messages, state.work.progress
    ring = len(messages.word_starts) - 1
    while messages.ends[0] < messages.ends[1]:
        number = messages.ends[0]
        is_old = now - messages.records[number & ring, TIME] >= rules.span
        if not is_old and messages.ends[1] - number + coming <= rules.size:
            return True
        if not _release(state, number):
            return False
        start = messages.word_starts[number & ring]
        for i in range(start, start + messages.word_counts[number & ring]):
            word = np.int64(messages.words[i & (len(messages.words) - 1)])
            drop_first(state.lists, word)
            state.words.uses[word] -= 1
        messages.ends[0] = number + 1
        progress[EXPIRED] += 1
    return True


@inlined
def _release(state: State, number: int) -> bool:
    """Remove a message from every buffer that has it; returns False and changes nothing if exits need more room."""
    buffers, work, those = state.buffers, state.work, state.work.hits
    due = take_due(state, number, len(work.exit_numbers) - work.progress[EXITS])
    for i in range(due):
        prefetch(buffers.wide, 8 * np.int64(those[np.int64(min(i + 2 * AHEAD, due - 1))]))
        _ask_for_oldest(buffers, np.int64(those[np.int64(min(i + AHEAD, due - 1))]))
        _release_from(state, np.int64(those[i]), number)
    return due >= 0


@inlined
def _release_from(state: State, slot: int, number: int) -> None:
    """Remove a message from one buffer, if it is still there, and make the slot due with its next one."""
    buffers, newest = state.buffers, state.messages.ends[1] - 1
    small = buffers.small
    count = np.int64(small[slot, COUNT])
    if count > 0:
        at = place_in(buffers, slot, np.int64(0))
        if number_of(buffers.numbers[at], newest) == number:
            score = buffers.scores[at]
            buffers.scores[at] = EMPTY
            count -= 1
            small[slot, COUNT] = count
            small[slot, HEAD] = (small[slot, HEAD] + 1) & (small[slot, CAPACITY] - 1)
            if not is_better(buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH], score, number):
                _leave_best(state, slot, score, number)
    if count > 0:
        oldest = number_of(buffers.numbers[place_in(buffers, slot, np.int64(0))], newest)
        wait_for(state, slot, oldest)


@inlined
def _leave_best(state: State, slot: int, score: float, number: int) -> None:
    """Handle the expiry of one of the best, already removed from the buffer: find the new k-th, if there is one."""
    buffers, work = state.buffers, state.work
    place = _touch(state, slot)
    if not is_better(work.before_scores[place], work.before_numbers[place], score, number):
        _note_exit(state, place, score, number)
    work.steps[place] |= OTHERS if work.steps[place] & ONE_EXIT else ONE_EXIT
    kth_score, kth = buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH]
    if kth != NOBODY:
        kth_score, kth = next_below(buffers, slot, kth_score, kth, state.messages.ends[1] - 1)
        buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH] = kth_score, kth


@inlined
def _note_exit(state: State, place: int, score: float, number: int) -> None:
    """Record the exit of an expired message that was among the best before this push."""
    work = state.work
    at = work.progress[EXITS]
    work.exit_numbers[at], work.exit_scores[at], work.next_exits[at] = number, score, NOBODY
    if work.first_exits[place] == NOBODY:
        work.first_exits[place] = at
    else:
        work.next_exits[work.last_exits[place]] = at
    work.last_exits[place] = at
    work.progress[EXITS] = at + 1


@inlined
def _touch(state: State, slot: int) -> int:
    """Record the worst of the best k before this push; returns the slot's position among those touched."""
    work, buffers = state.work, state.buffers
    at = np.int64(buffers.small[slot, TOUCHED_AT]) - 1
    if at < 0:
        at = work.progress[TOUCHED]
        work.touched[at], work.steps[at], work.first_exits[at] = slot, 0, NOBODY
        work.before_scores[at], work.before_numbers[at] = buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH]
        work.progress[TOUCHED] = at + 1
        buffers.small[slot, TOUCHED_AT] = at + 1
    return at


@inlined
def _refill(structure: Any, state: State) -> None:
    """Search the window for slots with fewer than k messages, if messages below their threshold may exist."""
    work, records, small = state.work, state.interests.records, state.buffers.small
    for i in range(work.progress[TOUCHED]):
        slot = np.int64(work.touched[i])
        if small[slot, COUNT] < small[slot, WANTED] and records[slot, THETA] > NO_SCORE:
            reevaluate(state, slot)
            retune(structure, state, slot)
            work.steps[i] |= OTHERS


# Arrival


@inlined
def _arrive(structure: Any, state: State, batch: Batch, row: int) -> None:
    """Add a message to the window, and to every buffer whose threshold it reaches."""
    work = state.work
    count = np.int64(batch.starts[row + 1] - batch.starts[row])
    norm = read_words(batch, row, state.words, work.words)
    x, y = batch.places[row, 0], batch.places[row, 1]
    hits = np.int64(0)
    if count > 0:
        hits = disseminate(structure, state, x, y, norm, count)
        forget_words(state.words, work.words, count)
    number = _add_message(state, batch, row, norm)
    for i in range(hits):
        prefetch(state.buffers.wide, 8 * np.int64(work.hits[np.int64(min(i + 2 * AHEAD, hits - 1))]))
        _ask_for_newest(state, min(i + AHEAD, hits - 1))
        _reach(structure, state, np.int64(work.hits[i]), work.hit_scores[i], number)
    work.counts[REACHED] += hits


@inner
def _add_message(state: State, batch: Batch, row: int, norm: float) -> int:
    """Store a message and its words; returns its number."""
    messages, lists = state.messages, state.lists
    number, word_end = messages.ends[1], messages.ends[2]
    at = number & (len(messages.word_starts) - 1)
    record = messages.records[at]
    record[X], record[Y] = batch.places[row, 0], batch.places[row, 1]
    record[TIME], record[MESSAGE_NORM] = batch.times[row], norm
    first = batch.starts[row]
    count = np.int64(batch.starts[row + 1] - first)
    messages.word_starts[at], messages.word_counts[at] = word_end, count
    for i in range(count):
        word = batch.words[first + i]
        messages.words[(word_end + i) & (len(messages.words) - 1)] = word
        if len(messages.factors) > 0:
            messages.factors[(word_end + i) & (len(messages.words) - 1)] = batch.factors[first + i]
        put_behind(lists, np.int64(word), number)
        state.words.uses[word] += 1
    messages.ends[1], messages.ends[2] = number + 1, word_end + count
    return number


@inlined
def _reach(structure: Any, state: State, slot: int, score: float, number: int) -> None:
    """Add a message to a buffer, and update the worst of the best k if it is one of them."""
    buffers = state.buffers
    small, is_skyband = buffers.small, len(buffers.above) > 0
    if is_skyband:
        leave_out_dominated(buffers, slot)
    if small[slot, COUNT] == small[slot, LIMIT]:
        raise_threshold(state, slot, number)
        retune(structure, state, slot)
        if score < state.interests.records[slot, THETA]:
            return
    if is_skyband:
        come_above(buffers, slot, score)
    kth_score, kth = buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH]
    put_in_buffer(state, slot, score, number)
    if kth != NOBODY and score < kth_score:
        return
    place = _touch(state, slot)
    state.work.arrivals[place] = score
    state.work.steps[place] |= ARRIVAL
    if kth != NOBODY:
        kth_score, kth = next_above(buffers, slot, kth_score, kth, number)
    else:
        kth_score, kth = ranked(buffers, slot, np.int64(small[slot, WANTED]), number, state.work.best)
    buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH] = kth_score, kth


# Prefetching


@inlined
def _ask_for_oldest(buffers: Buffers, slot: int) -> None:
    """Prefetch the first entry of a buffer, and all its scores, because the k-th best may change."""
    at = place_in(buffers, slot, np.int64(0))
    prefetch(buffers.numbers, at)
    _ask_for_all(buffers, slot, buffers.scores)


@inlined
def _ask_for_newest(state: State, i: int) -> None:
    """Prefetch the end of a buffer that a message reaches, and its scores if the message is one of the best."""
    buffers, slot = state.buffers, np.int64(state.work.hits[i])
    at = place_in(buffers, slot, np.int64(buffers.small[slot, COUNT]))
    prefetch(buffers.numbers, at)
    prefetch(buffers.scores, at)
    if state.work.hit_scores[i] >= buffers.real[slot, KTH_SCORE] or len(buffers.above) > 0:
        _ask_for_all(buffers, slot, buffers.scores)
    if len(buffers.above) > 0:
        _ask_for_all(buffers, slot, buffers.above)


@inlined
def _ask_for_all(buffers: Buffers, slot: int, entries: NDArray[Any]) -> None:
    """Prefetch a buffer's part of one of the pools, a cache line at a time."""
    start = buffers.wide[slot, START]
    for at in range(start, start + min(np.int64(buffers.small[slot, CAPACITY]), _MOST_ASKED), 64 // entries.itemsize):
        prefetch(entries, at)

"""Reporting of a push: the difference between the best messages before and after it, exits first, then entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocsin.index.window.kernels.buffers import is_better, number_of, place_in
from tocsin.index.window.kernels.layouts import (
    ARRIVAL,
    COUNT,
    EXITS,
    EXPIRED,
    KTH,
    KTH_SCORE,
    NOBODY,
    OTHERS,
    RANK,
    TOUCHED,
    TOUCHED_AT,
    TOUCHED_BITS,
    WANTED,
    WRITTEN,
    Changes,
    State,
)
from tocsin.jit.decorators import inlined, inner
from tocsin.kernels.sorting import sort_numbers

_PLACE = np.int64((1 << TOUCHED_BITS) - 1)


@inlined
def most_changes(state: State) -> int:
    """An upper bound on the number of changes of the current push."""
    work, small = state.work, state.buffers.small
    of_one = 2 * (work.progress[EXPIRED] + 1)
    most = work.progress[EXITS]
    for i in range(work.progress[TOUCHED]):
        most += min(of_one, 2 * np.int64(small[work.touched[i], WANTED]))
    return most


@inner
def tell(state: State, changes: Changes, came: int) -> None:
    """Write the changes of a push, and reset for the next one.

    Exits come first. Both are by subscription, the older message first. Messages from `came` on are new.
    """
    work, progress = state.work, state.work.progress
    touched, order = progress[TOUCHED], state.work.order
    for i in range(touched):
        order[i] = state.buffers.wide[work.touched[i], RANK] << TOUCHED_BITS | i
    sort_numbers(order, np.int64(0), touched)
    for i in range(touched):
        _tell_exits(state, changes, order[i] & _PLACE, came)
    for i in range(touched):
        place = order[i] & _PLACE
        _tell_enters(state, changes, place, came)
        state.buffers.small[work.touched[place], TOUCHED_AT] = 0
    progress[EXITS], progress[TOUCHED], progress[EXPIRED] = 0, 0, 0


@inlined
def _tell_exits(state: State, changes: Changes, place: int, came: int) -> None:
    """Write a subscription's exits: expired messages, which are the oldest, then those driven out."""
    work = state.work
    slot = np.int64(work.touched[place])
    one = np.int64(work.first_exits[place])
    while one != NOBODY:
        _write(changes, work.progress, slot, work.exit_numbers[one], False, work.exit_scores[one])
        one = np.int64(work.next_exits[one])
    if work.steps[place] == ARRIVAL:
        if work.before_numbers[place] != NOBODY:
            before = work.before_numbers[place]
            _write(changes, work.progress, slot, before, False, work.before_scores[place])
    elif work.steps[place] & OTHERS:
        _tell_differences(state, changes, slot, place, False, came)


@inlined
def _tell_enters(state: State, changes: Changes, place: int, came: int) -> None:
    """Write a subscription's entries. An expired message is replaced by a new one, or else by the next best."""
    work, buffers = state.work, state.buffers
    slot = np.int64(work.touched[place])
    steps = work.steps[place]
    if steps & OTHERS:
        _tell_differences(state, changes, slot, place, True, came)
    elif steps & ARRIVAL:
        _write(changes, work.progress, slot, came, True, work.arrivals[place])
    elif buffers.wide[slot, KTH] != NOBODY:
        _write(changes, work.progress, slot, buffers.wide[slot, KTH], True, buffers.real[slot, KTH_SCORE])


@inner
def _tell_differences(state: State, changes: Changes, slot: int, place: int, enters: bool, came: int) -> None:
    """Write the messages of a buffer that entered, or left, the best k in this push."""
    buffers, work = state.buffers, state.work
    newest = state.messages.ends[1] - 1
    before_score, before = work.before_scores[place], work.before_numbers[place]
    kth_score, kth = buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH]
    for i in range(buffers.small[slot, COUNT]):
        at = place_in(buffers, slot, np.int64(i))
        score, number = buffers.scores[at], number_of(buffers.numbers[at], newest)
        is_best = not is_better(kth_score, kth, score, number)
        was_best = number < came and not is_better(before_score, before, score, number)
        if is_best != was_best and is_best == enters:
            _write(changes, work.progress, slot, number, enters, score)


@inlined
def _write(changes: Changes, progress: Any, slot: int, number: int, enters: bool, score: float) -> None:
    at = progress[WRITTEN]
    changes.slots[at], changes.numbers[at] = np.int32(slot), number
    changes.enters[at], changes.scores[at] = enters, score
    progress[WRITTEN] = at + 1

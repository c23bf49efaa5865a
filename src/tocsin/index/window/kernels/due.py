"""Waiting slots: each message has the slots whose oldest buffered message it is, in chunks of a cache line.

A slot that holds messages is *due* with the oldest of them, or with an older one dropped since. When that message
expires, the slot becomes due with its next one. So messages need not know all the buffers they are in. All chunks of a
message are full, except the first.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.window.kernels.layouts import CHUNK, DUE, NOBODY, State
from tocsin.jit.decorators import inlined, inner


@inlined
def wait_for(state: State, slot: int, number: int) -> None:
    """Make a slot due with a message; it must not be due with any."""
    waiting, messages = state.waiting, state.messages
    at = number & (len(messages.first_due) - 1)
    state.buffers.small[slot, DUE] = np.int32(number)
    chunk, held = np.int64(messages.first_due[at]), np.int64(messages.due_held[at])
    if chunk == NOBODY or held == CHUNK:
        new = _free_chunk(state)
        waiting.chunks[new, 0] = np.int32(chunk)
        messages.first_due[at] = np.int32(new)
        chunk, held = new, np.int64(0)
    waiting.chunks[chunk, 1 + held] = np.int32(slot)
    messages.due_held[at] = np.int32(held + 1)


@inlined
def _free_chunk(state: State) -> int:
    """A returned or unused chunk; there is always one (`stored.with_waiting_room`)."""
    waiting = state.waiting
    free, used = waiting.ends[0], waiting.ends[1]
    if free != NOBODY:
        waiting.ends[0] = waiting.chunks[free, 0]
        return free
    waiting.ends[1] = used + 1
    return used


@inlined
def _give_back(state: State, first: int, last: int) -> None:
    """Return the chunks of one message; they are linked."""
    waiting = state.waiting
    waiting.chunks[last, 0] = np.int32(waiting.ends[0])
    waiting.ends[0] = first


@inner
def wait_for_nothing(state: State, slot: int) -> None:
    """Remove a due slot from its message's chunks. The slot added last takes its place."""
    chunks, messages = state.waiting.chunks, state.messages
    at = np.int64(state.buffers.small[slot, DUE]) & (len(messages.first_due) - 1)
    first, held = np.int64(messages.first_due[at]), np.int64(messages.due_held[at])
    chunk, stop = first, held
    while chunk != NOBODY:
        for i in range(1, 1 + stop):
            if chunks[chunk, i] == slot:
                chunks[chunk, i] = chunks[first, held]
                messages.due_held[at] = np.int32(held - 1)
                if held == 1:
                    messages.first_due[at], messages.due_held[at] = chunks[first, 0], CHUNK
                    _give_back(state, first, first)
                return
        chunk, stop = np.int64(chunks[chunk, 0]), np.int64(CHUNK)


@inlined
def take_due(state: State, number: int, room: int) -> int:
    """Move the slots due with a message to `work.hits`; returns how many.

    If they exceed `room`, it returns -1 and changes nothing.
    """
    chunks, messages, those = state.waiting.chunks, state.messages, state.work.hits
    at = number & (len(messages.first_due) - 1)
    first, stop = np.int64(messages.first_due[at]), np.int64(messages.due_held[at])
    chunk, last, due = first, first, np.int64(0)
    while chunk != NOBODY:
        for i in range(1, 1 + stop):
            those[due] = chunks[chunk, i]
            due += 1
        last = chunk
        chunk, stop = np.int64(chunks[chunk, 0]), np.int64(CHUNK)
    if due > room:
        return np.int64(-1)
    if first != NOBODY:
        _give_back(state, first, last)
    messages.first_due[at], messages.due_held[at] = NOBODY, 0
    return due

"""The messages of a window, in rings. They grow if time, not a count, limits how long messages stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.tables import new_table
from tocsin.index.window.growing import longer, power_of_two
from tocsin.index.window.kernels.layouts import CHUNK, NOBODY, Messages, Waiting


def no_messages(has_factors: bool = False) -> Messages:
    """An empty window, whose words have factors or not."""
    return new_table(Messages, messages=64, words=1024, factors=1024 if has_factors else 0)


def with_message_room(messages: Messages, more: int, more_words: int) -> Messages:
    """The messages with room for `more` messages with `more_words` words."""
    first, stop, word_stop = messages.ends.tolist()
    numbers = np.arange(first, stop)
    old = numbers & (len(messages.word_starts) - 1)
    room = power_of_two(max(stop - first + more, 2 * len(old)))
    new = numbers & (room - 1)
    records, starts, counts = np.zeros((room, 4)), np.zeros(room, np.int64), np.zeros(room, np.int32)
    due, held = np.full(room, NOBODY, np.int32), np.zeros(room, np.int32)
    records[new], starts[new] = messages.records[old], messages.word_starts[old]
    counts[new] = messages.word_counts[old]
    due[new], held[new] = messages.first_due[old], messages.due_held[old]
    word_first = int(messages.word_starts[old[0]]) if len(old) else word_stop
    words = _with_words(messages.words, word_first, word_stop, more_words)
    factors = messages.factors
    if len(factors) > 0:
        factors = _with_words(factors, word_first, word_stop, more_words)
    return Messages(
        records=records,
        word_starts=starts,
        word_counts=counts,
        first_due=due,
        due_held=held,
        words=words,
        factors=factors,
        ends=messages.ends,
    )


def no_waiting() -> Waiting:
    """No slot waits for any message."""
    return Waiting(np.empty((0, 1 + CHUNK), np.int32), np.array([NOBODY, 0], np.int64))


def with_waiting_room(waiting: Waiting, slots: int, messages: int) -> Waiting:
    """The chunks, one for each message plus as many as all slots fill, so that one is always free."""
    return Waiting(longer(waiting.chunks, messages + slots // CHUNK + 1), waiting.ends)


def _with_words(words: NDArray[Any], first: int, stop: int, more: int) -> NDArray[Any]:
    """A ring of words, or of their factors, with room for more."""
    held = np.arange(first, stop)
    room = power_of_two(max(stop - first + more, len(words)))
    ring = np.zeros(room, words.dtype)
    ring[held & (room - 1)] = words[held & (len(words) - 1)]
    return ring


def words_of_message(messages: Messages, number: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The words of one message of the window, and their factors."""
    at = number & (len(messages.word_starts) - 1)
    places = int(messages.word_starts[at]) + np.arange(int(messages.word_counts[at]))
    places &= len(messages.words) - 1
    return messages.words[places], messages.factors[places] if len(messages.factors) else np.ones(len(places))


def records_of_messages(messages: Messages, since: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of the messages with numbers from `since` on, and their records, oldest message first."""
    first, stop = messages.ends[:2].tolist()
    numbers = np.arange(max(first, since), stop)
    return numbers, messages.records[numbers & (len(messages.word_starts) - 1)]


def words_of_messages(
    messages: Messages, since: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Where the words of each message from number `since` on begin, and all these words, oldest message first.

    Their factors follow, (0,) if all are 1.
    """
    first, stop, word_stop = messages.ends.tolist()
    at = np.arange(max(first, since), stop) & (len(messages.word_starts) - 1)
    counts = messages.word_counts[at]
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    word_first = word_stop - int(starts[-1])
    places = np.arange(word_first, word_stop) & (len(messages.words) - 1)
    return starts, messages.words[places], messages.factors[places] if len(messages.factors) else messages.factors

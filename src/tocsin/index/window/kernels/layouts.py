"""What do structures over a sliding window have in common? Subscriptions, the messages of the window, and buffers.

A word is a number from 1 on; 0 stands for none. A message is a number that grows; tables keep it by its last bits.
Squares are those of what words weigh: a word in common adds its square to what a message and a subscription share.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

X, Y, ALPHA, THETA, NORM = range(5)
"""Columns of a subscription's record; of a message's X, Y, TIME and MESSAGE_NORM."""
TIME, MESSAGE_NORM = 2, 3

FIRST_WORD: Final = 10
WITHIN: Final = 6
"""A record holds six words behind its numbers, as int32; of more than six, five, and where the others are."""

START, KTH, RANK, KTH_SCORE = range(4)
"""Columns of a buffer's record: three of int64, one of float64."""
CAPACITY, HEAD, COUNT, WANTED, DUE, TOUCHED_AT, SEARCHED, LIMIT = range(8, 16)
"""And eight of int32 behind them."""

EMPTY: Final = -1.0
"""The score of a place in a buffer that holds none; scores are never below 0."""

NOBODY: Final = -1
NO_SCORE: Final = -np.inf
GONE: Final = np.inf
"""The threshold of a subscription that is no longer there: no message reaches it."""

CHUNK: Final = 15
"""Slots of a chunk of those that wait for a message."""

TOUCHED_BITS: Final = 25
"""So many subscriptions, as a power of two, may a window have: a place among them lies below a rank in 63 bits."""

ONE_EXIT, ARRIVAL, OTHERS = 1, 2, 4
"""What touched a subscription: one of its best expired, one came, or more than these two: several expired, a search."""

SPARE: Final = 64
"""Places behind what is found that may be written to."""

EXPIRING, TELLING = 0, 1
"""Where a push is that had to wait for room."""

DONE, MORE_CHANGES, MORE_EXITS, MORE_MESSAGES, MORE_LISTS = range(5)
"""What the stream says: that a batch is at its end, or which room it waits for."""

# Columns of `Work.progress`.
ROW, PHASE, EXITS, TOUCHED, WRITTEN, EXPIRED = range(6)
# Columns of `Work.counts`.
EXAMINED, REACHED, REEVALUATED, RAISED = range(4)


class Rules(NamedTuple):
    """What is in the window, and what a score is."""

    size: int  # messages at most
    span: float  # seconds; infinite where time does not count
    diagonal: float


class Interests(NamedTuple):
    """Subscriptions. S slots, L words of those with many."""

    records: Annotated[NDArray[np.float64], 2]  # (S, 8) X .. NORM, then words
    words: Annotated[NDArray[np.int32], 2]  # (S, 16) the same memory; the lightest word first, NO_WORD behind the last
    longer: NDArray[np.int32]  # (L,) runs of the words that a record has no room for, each behind its length
    ks: NDArray[np.int32]  # (S,)


class Buffers(NamedTuple):
    """For each slot the messages that reach its threshold, in the order in which they came. S slots, E entries.

    A buffer is a ring of a power of two; its record is a cache line. KTH and KTH_SCORE are the number and the score of
    the last of its best k, NOBODY and NO_SCORE where there are fewer; WANTED is k. A search finds the best SEARCHED,
    the last of which is the threshold, and so many are kept of LIMIT. RANK ascends with the ids. A slot is DUE with
    the oldest message of its buffer, given by its last bits (`due`).
    TOUCHED_AT is 1 + its place among those that a push touched, 0 between pushes.

    Where buffers are k-skybands, `above` says how many newer messages each has above it; otherwise it is empty.
    """

    wide: Annotated[NDArray[np.int64], 2]  # (S, 8) START, KTH, RANK
    real: Annotated[NDArray[np.float64], 2]  # (S, 8) the same memory: KTH_SCORE
    small: Annotated[NDArray[np.int32], 2]  # (S, 16) the same memory: CAPACITY .. TOUCHED_AT
    scores: NDArray[np.float64]  # (E,) EMPTY where no message is
    bits: NDArray[np.int64]  # (E,) the same memory: of numbers that are not negative, in the same order
    numbers: NDArray[np.int32]  # (E,) the last 32 bits of the messages' numbers
    above: NDArray[np.int32]  # (E,) or (0,)


class Messages(NamedTuple):
    """The messages of the window in a ring, their words in another."""

    records: Annotated[NDArray[np.float64], "messages, 4"]  # X, Y, TIME, MESSAGE_NORM
    word_starts: Annotated[NDArray[np.int64], "messages"]  # counted from the first word that ever was
    word_counts: Annotated[NDArray[np.int32], "messages"]
    first_due: Annotated[NDArray[np.int32], "messages", NOBODY]  # the first chunk of the slots that wait for it, NOBODY
    due_held: Annotated[NDArray[np.int32], "messages"]  # how many there are in the first chunk
    words: Annotated[NDArray[np.int32], "words"]
    ends: Annotated[NDArray[np.int64], "3"]  # the oldest message, the next one, the next word


class Waiting(NamedTuple):
    """Chunks of slots that wait for a message. C chunks."""

    chunks: Annotated[NDArray[np.int32], 2]  # (C, 16) the next chunk of the message, or of the free ones; CHUNK slots
    ends: NDArray[np.int64]  # (2,) the first of those that were given back, and how many were ever used


class Lists(NamedTuple):
    """A list of numbers for each word, in one pool. A list is a ring of a power of two."""

    starts: Annotated[NDArray[np.int64], "words"]
    capacities: Annotated[NDArray[np.int32], "words"]
    heads: Annotated[NDArray[np.int32], "words"]
    counts: Annotated[NDArray[np.int32], "words"]
    pool: Annotated[NDArray[np.int32], "places"]
    used: Annotated[NDArray[np.int64], "1"]  # places


class Words(NamedTuple):
    """What is known of words."""

    squares: Annotated[NDArray[np.float64], "words"]  # of what each weighs; above 0
    uses: Annotated[NDArray[np.int32], "words"]  # how many subscriptions and messages of the window have it
    present: Annotated[NDArray[np.float64], "words"]  # the square of each word of the message at hand; 0 for others


class Batch(NamedTuple):
    """Messages that come. B messages of N words."""

    starts: NDArray[np.int64]  # (B + 1,)
    words: NDArray[np.int32]  # (N,) each once in a message
    places: Annotated[NDArray[np.float64], 2]  # (B, 2)
    times: NDArray[np.float64]  # (B,)


class Changes(NamedTuple):
    """What changes, message by message."""

    slots: Annotated[NDArray[np.int32], "changes"]
    numbers: Annotated[NDArray[np.int64], "changes"]  # of messages
    enters: Annotated[NDArray[np.bool_], "changes"]  # else it exits
    scores: Annotated[NDArray[np.float64], "changes"]
    ends: Annotated[NDArray[np.int64], "messages"]  # where the changes of each message end


class Work(NamedTuple):
    """Memory of a call. `buffer` is how many entries the largest one has, `exits` how many messages were pushed out."""

    words: Annotated[NDArray[np.int32], "words"]  # of the message, the lightest first
    hits: Annotated[NDArray[np.int32], "slots + SPARE"]
    hit_scores: Annotated[NDArray[np.float64], "slots + SPARE"]
    shares: Annotated[NDArray[np.float64], "slots"]  # 0 between messages
    touched: Annotated[NDArray[np.int32], "slots"]  # whose best may have changed
    before_scores: Annotated[NDArray[np.float64], "slots"]  # of the last of the best k, before the push
    before_numbers: Annotated[NDArray[np.int64], "slots"]
    arrivals: Annotated[NDArray[np.float64], "slots"]  # the score of the message that came, of each that was touched
    steps: Annotated[NDArray[np.uint8], "slots"]  # what touched each: ONE_EXIT, ARRIVAL, OTHERS
    order: Annotated[NDArray[np.int64], "slots"]
    first_exits: Annotated[NDArray[np.int32], "slots", NOBODY]  # of what expired, of each that was touched
    last_exits: Annotated[NDArray[np.int32], "slots"]
    next_exits: Annotated[NDArray[np.int32], "exits"]  # the next one of the same
    exit_numbers: Annotated[NDArray[np.int64], "exits"]  # messages that were among the best, and expired
    exit_scores: Annotated[NDArray[np.float64], "exits"]
    found: Annotated[NDArray[np.int32], "messages + SPARE"]  # messages with a word in common
    reached: Annotated[NDArray[np.float64], "messages"]  # what they share, then their scores; 0 between calls
    best: Annotated[NDArray[np.float64], "4 * buffer + 64"]
    chosen: Annotated[NDArray[np.int64], "messages + SPARE"]
    kept_scores: Annotated[NDArray[np.float64], "buffer"]
    kept_numbers: Annotated[NDArray[np.int32], "buffer"]
    progress: Annotated[NDArray[np.int64], "6"]
    counts: Annotated[NDArray[np.int64], "4"]


class State(NamedTuple):
    """All that a push reads and writes, but for the structure that finds whom a message reaches."""

    rules: Rules
    interests: Interests
    buffers: Buffers
    messages: Messages
    waiting: Waiting
    lists: Lists  # of messages, by word
    words: Words
    work: Work

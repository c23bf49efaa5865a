"""Layouts shared by structures over a sliding window: subscriptions, the window's messages, and buffers.

A word is a number from 1 on; 0 stands for none. A message is a number that grows; tables store it by its last bits.
Squares are the squared weights of words. The similarity of a message and a subscription sums those of common words,
each times the factor of the word in the message.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

X, Y, ALPHA, THETA, NORM = range(5)
"""Columns of a subscription's record. A message's record has X, Y, TIME and MESSAGE_NORM."""
TIME, MESSAGE_NORM = 2, 3

FIRST_WORD: Final = 10
WITHIN: Final = 6
"""A record holds six words as int32 behind its numbers. With more than six, it holds five and where the rest are."""

START, KTH, RANK, KTH_SCORE = range(4)
"""Columns of a buffer's record: three of int64, one of float64."""
CAPACITY, HEAD, COUNT, WANTED, DUE, TOUCHED_AT, SEARCHED, LIMIT = range(8, 16)
"""The eight int32 columns behind them."""

EMPTY: Final = -1.0
"""The score of an empty place in a buffer; scores are never below 0."""

NOBODY: Final = -1
NO_SCORE: Final = -np.inf
GONE: Final = np.inf
"""The threshold of a removed subscription: no message reaches it."""

CHUNK: Final = 15
"""Slots in a chunk of those that wait for a message."""

TOUCHED_BITS: Final = 25
"""The most subscriptions of a window, as a power of two: their position is stored below a rank in 63 bits."""

ONE_EXIT, ARRIVAL, OTHERS = 1, 2, 4
"""What touched a subscription: one of its best expired, one arrived, or more: several expired, or a search."""

SPARE: Final = 64
"""Places behind the results that may be written to."""

EXPIRING, TELLING = 0, 1
"""The phase of a push that had to wait for room."""

DONE, MORE_CHANGES, MORE_EXITS, MORE_MESSAGES, MORE_LISTS = range(5)
"""Results of the stream kernels: the batch is done, or which room is needed."""

# Columns of `Work.progress`.
ROW, PHASE, EXITS, TOUCHED, WRITTEN, EXPIRED, UNFINISHED = range(7)
"""UNFINISHED is 1 while a push waits for room in the middle of a batch, so that buffers and messages may disagree."""

# Columns of `Work.counts`.
EXAMINED, REACHED, REEVALUATED, RAISED = range(4)


class Rules(NamedTuple):
    """The limits of the window, and the scale of distances."""

    size: int  # most messages
    span: float  # seconds; infinite if there is no limit
    diagonal: float


class Interests(NamedTuple):
    """Subscriptions. S slots, L words of long subscriptions."""

    records: Annotated[NDArray[np.float64], 2]  # (S, 8) X .. NORM, then words
    words: Annotated[NDArray[np.int32], 2]  # (S, 16) the same memory; the lightest word first, 0 behind the last
    longer: NDArray[np.int32]  # (L,) runs of words that exceed a record, each behind its length
    ks: NDArray[np.int32]  # (S,)


class Buffers(NamedTuple):
    """For each slot the messages that reach its threshold, in the order of arrival. S slots, E entries.

    A buffer is a ring whose size is a power of two; its record is a cache line. KTH and KTH_SCORE are the number and
    score of the worst of its best k, NOBODY and NO_SCORE if there are fewer. WANTED is k. A search finds the best
    SEARCHED, the last of which sets the threshold. A buffer that reaches LIMIT keeps SEARCHED. RANK ascends with the
    ids. A slot is DUE with the oldest message of its buffer, stored by its last bits (`due`).

    TOUCHED_AT is 1 + its position among the slots that a push touched, 0 between pushes.

    In k-skybands, `above` counts the newer messages that are better or equal; otherwise it is empty.
    """

    wide: Annotated[NDArray[np.int64], 2]  # (S, 8) START, KTH, RANK
    real: Annotated[NDArray[np.float64], 2]  # (S, 8) the same memory: KTH_SCORE
    small: Annotated[NDArray[np.int32], 2]  # (S, 16) the same memory: CAPACITY .. TOUCHED_AT
    scores: NDArray[np.float64]  # (E,) EMPTY if there is no message
    bits: NDArray[np.int64]  # (E,) the same memory; for non-negative numbers in the same order
    numbers: NDArray[np.int32]  # (E,) the last 32 bits of the messages' numbers
    above: NDArray[np.int32]  # (E,) or (0,)


class Messages(NamedTuple):
    """The messages of the window in a ring, and their words in another."""

    records: Annotated[NDArray[np.float64], "messages, 4"]  # X, Y, TIME, MESSAGE_NORM
    word_starts: Annotated[NDArray[np.int64], "messages"]  # counted from the first word ever
    word_counts: Annotated[NDArray[np.int32], "messages"]
    first_due: Annotated[NDArray[np.int32], "messages", NOBODY]  # the first chunk of the slots that wait for it, NOBODY
    due_held: Annotated[NDArray[np.int32], "messages"]  # slots in the first chunk
    words: Annotated[NDArray[np.int32], "words"]
    factors: Annotated[NDArray[np.float64], "factors"]  # of each of `words`, or (0,) if all are 1
    ends: Annotated[NDArray[np.int64], "3"]  # the oldest message, the next one, the next word


class Waiting(NamedTuple):
    """Chunks of slots that wait for a message. C chunks."""

    chunks: Annotated[NDArray[np.int32], 2]  # (C, 16) the next chunk of the message, or of the free ones; CHUNK slots
    ends: NDArray[np.int64]  # (2,) the first returned chunk, and how many chunks were ever used


class Lists(NamedTuple):
    """A list of numbers for each word, in one pool. A list is a ring whose size is a power of two."""

    starts: Annotated[NDArray[np.int64], "words"]
    capacities: Annotated[NDArray[np.int32], "words"]
    heads: Annotated[NDArray[np.int32], "words"]
    counts: Annotated[NDArray[np.int32], "words"]
    pool: Annotated[NDArray[np.int32], "places"]
    used: Annotated[NDArray[np.int64], "1"]  # places


class Words(NamedTuple):
    """The words."""

    squares: Annotated[NDArray[np.float64], "words"]  # squared weight, above 0
    uses: Annotated[NDArray[np.int32], "words"]  # subscriptions and messages of the window that have it
    # Squared weight of each word of the current message, times its factor; 0 for others.
    present: Annotated[NDArray[np.float64], "words"]


class Batch(NamedTuple):
    """New messages. B messages of N words. With factors, those that add least to a similarity come first."""

    starts: NDArray[np.int64]  # (B + 1,)
    words: NDArray[np.int32]  # (N,) distinct within a message
    factors: NDArray[np.float64]  # (N,) or (0,): what the weight of each word is multiplied by, above 0
    places: Annotated[NDArray[np.float64], 2]  # (B, 2)
    times: NDArray[np.float64]  # (B,)


class Changes(NamedTuple):
    """Changes, message by message."""

    slots: Annotated[NDArray[np.int32], "changes"]
    numbers: Annotated[NDArray[np.int64], "changes"]  # of messages
    enters: Annotated[NDArray[np.bool_], "changes"]  # False: it exits
    scores: Annotated[NDArray[np.float64], "changes"]
    ends: Annotated[NDArray[np.int64], "messages"]  # the end of each message's changes


class Work(NamedTuple):
    """Memory of a call. `buffer` is the size of the largest buffer, `exits` how many messages were pushed out."""

    words: Annotated[NDArray[np.int32], "words"]  # of the message, those that add least first
    common: Annotated[NDArray[np.float64], "words + 1"]
    hits: Annotated[NDArray[np.int32], "slots + SPARE"]
    hit_scores: Annotated[NDArray[np.float64], "slots + SPARE"]
    shares: Annotated[NDArray[np.float64], "slots"]  # 0 between messages
    touched: Annotated[NDArray[np.int32], "slots"]  # slots whose best may have changed
    before_scores: Annotated[NDArray[np.float64], "slots"]  # score of the worst of the best k, before the push
    before_numbers: Annotated[NDArray[np.int64], "slots"]
    arrivals: Annotated[NDArray[np.float64], "slots"]  # score of the new message, for each touched slot
    steps: Annotated[NDArray[np.uint8], "slots"]  # what touched each: ONE_EXIT, ARRIVAL, OTHERS
    order: Annotated[NDArray[np.int64], "slots"]
    first_exits: Annotated[NDArray[np.int32], "slots", NOBODY]  # first expired message of each touched slot
    last_exits: Annotated[NDArray[np.int32], "slots"]
    next_exits: Annotated[NDArray[np.int32], "exits"]  # next exit of the same slot
    exit_numbers: Annotated[NDArray[np.int64], "exits"]  # messages that were among the best, and expired
    exit_scores: Annotated[NDArray[np.float64], "exits"]
    found: Annotated[NDArray[np.int32], "messages + SPARE"]  # messages with a common word
    reached: Annotated[NDArray[np.float64], "messages"]  # similarity of each, then score; 0 between calls
    best: Annotated[NDArray[np.float64], "4 * buffer + 64"]
    chosen: Annotated[NDArray[np.int64], "messages + SPARE"]
    kept_scores: Annotated[NDArray[np.float64], "buffer"]
    kept_numbers: Annotated[NDArray[np.int32], "buffer"]
    progress: Annotated[NDArray[np.int64], "7"]
    counts: Annotated[NDArray[np.int64], "4"]


class State(NamedTuple):
    """All that a push reads and writes, except the structure that finds the subscriptions a message reaches."""

    rules: Rules
    interests: Interests
    buffers: Buffers
    messages: Messages
    waiting: Waiting
    lists: Lists  # of messages, by word
    words: Words
    work: Work

"""The value of a cell at an instant, its place among the numbers that it is compared with, and when that changes."""

from __future__ import annotations

import math

import numpy as np

from tocsin.jit.decorators import inlined, inner
from tocsin.kernels import codes
from tocsin.kernels.numbers import key_of_number, number_of_key
from tocsin.monitor.terms.memory.kernels.entries import place_of, width_of
from tocsin.monitor.terms.memory.kernels.sums import sum_of
from tocsin.monitor.terms.memory.layouts import (
    ABSENT,
    ALL,
    AVG,
    COUNT,
    DISTINCT,
    ENDLESS,
    NOTHING,
    PREVIOUS,
    SINCE,
    SUM,
    Memory,
    Terms,
)

_SECOND = 1e6


@inner
def value_of(terms: Terms, memory: Memory, cell: int, instant: int) -> tuple[int, int]:
    """The type and payload of a cell's value; ABSENT if it has none. Windows must have slid to the instant."""
    kind, count = terms.kinds[memory.terms[cell]], np.int64(memory.counts[cell])
    if count == 0:
        return np.int64(ABSENT), np.int64(0)
    oldest = place_of(memory, cell, width_of(kind), 0)
    if kind == COUNT or kind == DISTINCT:
        return np.int64(codes.NUMBER), key_of_number(float(count))
    if kind == PREVIOUS:
        return memory.words[oldest], memory.words[oldest + 1]
    if kind == SINCE:
        return np.int64(codes.NUMBER), key_of_number((instant - memory.words[oldest]) / _SECOND)
    if kind == SUM or kind == AVG:
        start, head = memory.starts[cell], np.int64(memory.heads[cell])
        total = sum_of(memory, start, head, count, np.int64(memory.capacities[cell]))
        if not math.isfinite(total):
            return np.int64(ABSENT), np.int64(0)
        return np.int64(codes.NUMBER), key_of_number((total / count if kind == AVG else total) + 0.0)
    return np.int64(codes.NUMBER), memory.words[oldest + 1]


@inlined
def place_among(terms: Terms, term: int, key: int) -> int:
    """How many of a term's steps a number has reached."""
    low, high = terms.step_starts[term], terms.step_starts[term + 1]
    first = low
    while low < high:
        middle = (low + high) // 2
        if terms.steps[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low - first


@inlined
def has_moved(terms: Terms, term: int, kind: int, payload: int, new_kind: int, new_payload: int) -> bool:
    """Whether a value differs from another in what matters; the place of a count of nothing is that of 0."""
    if terms.moves[term] == ALL:
        return kind != new_kind or payload != new_payload
    zero = np.int64(0)
    is_count = terms.kinds[term] == COUNT or terms.kinds[term] == DISTINCT
    if is_count:
        before = place_among(terms, term, payload if kind == codes.NUMBER else zero)
        return before != place_among(terms, term, new_payload if new_kind == codes.NUMBER else zero)
    if kind != new_kind:
        return True
    return place_among(terms, term, payload) != place_among(terms, term, new_payload)


@inner
def due_of(terms: Terms, memory: Memory, cell: int) -> int:
    """The next instant at which time may change what matters, or empties the cell."""
    term = memory.terms[cell]
    kind, count, moves = terms.kinds[term], np.int64(memory.counts[cell]), terms.moves[term]
    if kind == PREVIOUS or count == 0:
        return ENDLESS
    if kind == SINCE:
        return ENDLESS if moves == NOTHING else memory.words[memory.starts[cell] + 1]
    width, leaves = width_of(kind), terms.spans[term] + 1
    last = memory.words[place_of(memory, cell, width, count - 1)] + leaves
    if moves == NOTHING:
        return last
    if moves == ALL or not (kind == COUNT or kind == DISTINCT):
        return memory.words[place_of(memory, cell, width, 0)] + leaves
    reached = place_among(terms, term, key_of_number(float(count)))
    if reached == 0:
        return last
    step = number_of_key(terms.steps[terms.step_starts[term] + reached - 1])
    if not step > 0.0:
        return last
    # The count is below the step when all but so many entries have left.
    left = np.int64(math.ceil(step)) - 1
    return memory.words[place_of(memory, cell, width, count - left - 1)] + leaves


@inner
def next_meeting(terms: Terms, memory: Memory, cell: int, instant: int) -> int:
    """When the time since an event reaches the next step, after an instant."""
    term = memory.terms[cell]
    begun = memory.words[memory.starts[cell]]
    reached = place_among(terms, term, key_of_number((instant - begun) / _SECOND))
    at = terms.step_starts[term] + reached
    if at >= terms.step_starts[term + 1]:
        return ENDLESS
    step = number_of_key(terms.steps[at])
    if not step < 4e12:  # seconds
        return ENDLESS
    after = np.int64(step * _SECOND) - 2
    while key_of_number(after / _SECOND) < terms.steps[at]:
        after += 1
    return max(begun + after, instant + 1)

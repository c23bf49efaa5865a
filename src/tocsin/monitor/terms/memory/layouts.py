"""The tables of a memory: what each term has seen of each object, and when time alone will change it."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Kinds of terms.
COUNT: Final = 0  # entries: an instant each
DISTINCT: Final = 1  # entries: the latest instant of a value, and the value's code; by instant
SUM: Final = 2  # entries: an instant and a number's key
AVG: Final = 3  # the same
LEAST: Final = 4  # the same, of numbers that no later one undercuts
GREATEST: Final = 5  # the same, of numbers that no later one exceeds
PREVIOUS: Final = 6  # one entry: the type and payload of the value before the latest event, and of that in it
SINCE: Final = 7  # one entry: an instant, and when time changes the value next

WIDTHS: Final = (1, 2, 2, 2, 2, 2, 4, 2)
"""Words of an entry, by kind."""

# What time may change of a term's value that matters to somebody.
NOTHING: Final = 0
PLACE: Final = 1  # its place among the numbers that it is compared with
ALL: Final = 2  # the value itself
DOWN: Final = 3  # its place, in comparisons that are TRUE from a number on: time makes none of them TRUE

# When the value of a term is added to an event.
NEVER: Final = 0
ALWAYS: Final = 1  # if it has one
ABOVE: Final = 2  # if it is at least the least number that it is compared with

NOBODY: Final = -1
INACTIVE: Final = -2
"""In place of the next told cell: the cell is not among those that are told."""
ABSENT: Final = 255
"""The type of no value."""
ENDLESS: Final = np.int64(2**62)
"""Later than every instant."""

# Places of the counters in `Memory.ends`.
CELLS: Final = 0  # cells used so far
FREE: Final = 1  # the first of the returned cells
WORDS: Final = 2  # words used so far
WAITING: Final = 3  # entries of the queue
NEEDED: Final = 4  # words, or cells, that the next event needs
LIVING: Final = 5  # cells in use

# Why a kernel stopped.
DONE: Final = 0
MORE_CELLS: Final = 1
MORE_WORDS: Final = 2
MORE_WAITING: Final = 3
MORE_OUTPUT: Final = 4

LIMBS: Final = 72
"""Places of an exact sum, of 32 bits each: all of float64, and carries."""


class Terms(NamedTuple):
    """Terms, by number."""

    kinds: Annotated[NDArray[np.uint8], "terms"]
    spans: Annotated[NDArray[np.int64], "terms"]  # microseconds
    columns: Annotated[NDArray[np.int32], "terms"]  # of the attribute among those that terms read
    most: Annotated[NDArray[np.int64], "terms"]  # entries beyond which nobody can tell counts apart
    moves: Annotated[NDArray[np.uint8], "terms"]  # NOTHING, PLACE, ALL or DOWN
    emits: Annotated[NDArray[np.uint8], "terms"]  # NEVER, ALWAYS or ABOVE
    step_starts: Annotated[NDArray[np.int64], "terms + 1"]
    steps: Annotated[NDArray[np.int64], "steps"]  # keys of numbers, ascending: values from there on are told apart


class Memory(NamedTuple):
    """Cells, one for each term and object that has a value. Entries of a cell are a ring of words.

    A table of hashes finds the cell of a term and an object. An object has two structures of cells: a list of those
    whose values are told, and a pairing heap by when time may change them. A cell is in one of the two at least.
    """

    terms: Annotated[NDArray[np.int32], "cells"]
    objects: Annotated[NDArray[np.int32], "cells"]
    starts: Annotated[NDArray[np.int64], "cells"]  # of the ring, in `words`
    heads: Annotated[NDArray[np.int32], "cells"]  # the oldest entry
    counts: Annotated[NDArray[np.int32], "cells"]
    capacities: Annotated[NDArray[np.int32], "cells"]
    active: Annotated[
        NDArray[np.int32], "cells"
    ]  # the next cell of the object that is told; INACTIVE if this one is not
    due: Annotated[NDArray[np.int64], "cells"]  # no later than time may change what matters; ENDLESS outside the heap
    child: Annotated[NDArray[np.int32], "cells"]  # the first cell below in the heap; of a free cell, the next free one
    after: Annotated[NDArray[np.int32], "cells"]  # the next one beside it
    before: Annotated[NDArray[np.int32], "cells"]  # the one beside it, or for the first the one above
    slots: Annotated[NDArray[np.int32], "slots", NOBODY]  # the table of hashes: cells
    words: Annotated[NDArray[np.int64], "words"]
    first_active: Annotated[NDArray[np.int32], "objects", NOBODY]
    active_count: Annotated[NDArray[np.int32], "objects"]
    root: Annotated[NDArray[np.int32], "objects", NOBODY]  # of the object's heap
    latest: Annotated[NDArray[np.int64], "objects", NOBODY]  # the number of its latest event
    queued: Annotated[NDArray[np.int64], "objects", ENDLESS]  # its valid entry in the queue
    queue_instants: Annotated[NDArray[np.int64], "waiting"]  # a heap of objects by when they are due
    queue_objects: Annotated[NDArray[np.int32], "waiting"]
    ends: Annotated[NDArray[np.int64], "8"]
    limbs: Annotated[NDArray[np.int64], "72"]


class Cells(NamedTuple):
    """Cells without their places in memory. Entries are the oldest first."""

    owners: Annotated[NDArray[np.int32], "cells"]  # the objects
    terms: Annotated[NDArray[np.int32], "cells"]
    counts: Annotated[NDArray[np.int32], "cells"]
    words: Annotated[NDArray[np.int64], "words"]  # the entries of all cells, one cell behind the other


class Visits(NamedTuple):
    """Events, each for one object, in the order of processing. V visits with H hits."""

    objects: NDArray[np.int32]  # (V,)
    instants: NDArray[np.int64]  # (V,)
    events: NDArray[np.int64]  # (V,) numbers that ascend from call to call
    hit_starts: NDArray[np.int64]  # (V + 1,)
    hits: NDArray[np.int32]  # (H,) terms of which the condition was TRUE
    hit_types: NDArray[np.uint8]  # (H,) of the term's attribute
    hit_payloads: NDArray[np.int64]  # (H,) of numbers keys, and codes of all else


class Output(NamedTuple):
    """Rows, one for each visit and for each instant at which time alone changed what matters, with values of terms."""

    objects: Annotated[NDArray[np.int32], "rows"]
    instants: Annotated[NDArray[np.int64], "rows"]
    visits: Annotated[NDArray[np.int64], "rows"]  # NOBODY for a row that time made
    latest: Annotated[NDArray[np.int64], "rows"]  # the number of the object's latest event
    falls: Annotated[NDArray[np.bool_], "rows"]  # whether nothing can have become TRUE
    starts: Annotated[NDArray[np.int64], "rows + 1"]
    terms: Annotated[NDArray[np.int32], "values"]
    types: Annotated[NDArray[np.uint8], "values"]
    payloads: Annotated[NDArray[np.int64], "values"]
    used: Annotated[NDArray[np.int64], "1"]  # rows

"""Merging the lists of a subscription's copies, change by change.

An *entry* is a message that is in the list of some copy. Entries are sorted, best first, and the first k are the list
of the subscription. S subscriptions, E entries, R rows of copies, all by subscription; rows by event, phase and kind.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel

EXITS: Final = 0
ENTERS: Final = 1
MARKS: Final = 2
"""A row of a changed subscription: its k from now on, and a number that says how many copies it has."""

NO_MARK: Final = 0
NONE_LEFT: Final = 1
SINGLE: Final = 2
SHARED: Final = 3
"""The numbers of marks. A single copy tells its changes itself."""


class Entries(NamedTuple):
    """Entries, each with the row of its message's key."""

    numbers: NDArray[np.int64]  # (E,)
    scores: NDArray[np.float64]  # (E,)
    holders: NDArray[np.uint64]  # (E,) the copies that list it, one bit each
    origins: NDArray[np.int64]  # (E,)


class Rows(NamedTuple):
    """Changes of copies' lists, and marks."""

    events: NDArray[np.int64]  # (R,)
    phases: NDArray[np.int64]  # (R,) 0 before the event's message, 1 by it
    kinds: NDArray[np.int64]  # (R,)
    copies: NDArray[np.uint64]  # (R,) the bit of the copy
    numbers: NDArray[np.int64]  # (R,) of the message, or of the mark
    scores: NDArray[np.float64]  # (R,)
    ks: NDArray[np.int64]  # (R,) 0 of exits
    origins: NDArray[np.int64]  # (R,)


class Differences(NamedTuple):
    """Changes of merged lists."""

    rows: NDArray[np.int64]  # the row that caused it
    origins: NDArray[np.int64]
    kinds: NDArray[np.int64]
    scores: NDArray[np.float64]


@inner
def place_of(entries: Entries, count: int, number: int) -> int:
    """The place of a message among the first entries, or -1."""
    for place in range(count):
        if entries.numbers[place] == number:
            return place
    return -1


@inner
def move(entries: Entries, shown: NDArray[np.bool_], source: int, target: int) -> None:
    """Copy an entry to another place."""
    entries.numbers[target] = entries.numbers[source]
    entries.scores[target] = entries.scores[source]
    entries.holders[target] = entries.holders[source]
    entries.origins[target] = entries.origins[source]
    shown[target] = shown[source]


@inner
def insert(entries: Entries, shown: NDArray[np.bool_], count: int, rows: Rows, row: int) -> None:
    """Insert the message of a row behind all better entries; of equal scores the newer message is better."""
    number, score, place = rows.numbers[row], rows.scores[row], count
    while place > 0:
        before = entries.scores[place - 1]
        if before > score or (before == score and entries.numbers[place - 1] > number):
            break
        move(entries, shown, place - 1, place)
        place -= 1
    entries.numbers[place], entries.scores[place] = number, score
    entries.holders[place], entries.origins[place], shown[place] = rows.copies[row], rows.origins[row], False


@inner
def leave(
    entries: Entries, shown: NDArray[np.bool_], count: int, removed: Entries, removals: int, rows: Rows, row: int
) -> int:
    """Take a message from a copy's list, and remember it in `removed` if it was shown.

    A message that is not an entry was shown by the only copy. Returns twice the new count, plus 1 if it is remembered.
    """
    place = place_of(entries, count, rows.numbers[row])
    was_shown = True
    if place >= 0:
        entries.holders[place] &= ~rows.copies[row]
        if entries.holders[place] != 0:
            return 2 * count
        was_shown = shown[place]
        for behind in range(place + 1, count):
            move(entries, shown, behind, behind - 1)
        count -= 1
    if was_shown:
        removed.numbers[removals], removed.scores[removals], removed.origins[removals] = (
            rows.numbers[row],
            rows.scores[row],
            rows.origins[row],
        )
    return 2 * count + was_shown


@inner
def put(differences: Differences, end: int, row: int, origin: int, kind: int, score: float) -> int:
    """Write a change of a merged list."""
    differences.rows[end], differences.origins[end] = row, origin
    differences.kinds[end], differences.scores[end] = kind, score
    return end + 1


@inner
def report(
    entries: Entries,
    shown: NDArray[np.bool_],
    count: int,
    k: int,
    removed: Entries,
    removals: int,
    differences: Differences,
    end: int,
    row: int,
) -> int:
    """Write how the first k entries differ from those shown before: exits, then enters."""
    for place in range(min(k, count)):
        if not shown[place]:  # a message that left and came back with its score has not changed
            for other in range(removals):
                if removed.numbers[other] == entries.numbers[place] and removed.scores[other] == entries.scores[place]:
                    removed.numbers[other], shown[place] = -1, True
    for other in range(removals):
        if removed.numbers[other] >= 0:
            end = put(differences, end, row, removed.origins[other], EXITS, removed.scores[other])
    for place in range(min(k, count), count):
        if shown[place]:
            end, shown[place] = put(differences, end, row, entries.origins[place], EXITS, entries.scores[place]), False
    for place in range(min(k, count)):
        if not shown[place]:
            end, shown[place] = put(differences, end, row, entries.origins[place], ENTERS, entries.scores[place]), True
    return end


@kernel
def merge(
    entry_starts: NDArray[np.int64],
    before: Entries,
    row_starts: NDArray[np.int64],
    rows: Rows,
    ks: NDArray[np.int64],
    work: Entries,
    shown: NDArray[np.bool_],
    removed: Entries,
    after: Entries,
    ends: NDArray[np.int64],
    marks: NDArray[np.int64],
    differences: Differences,
) -> int:
    """Apply the rows of each subscription to its entries.

    `ks` (S,) are updated, `ends` (S,) receives the ends of the entries in `after`, and `marks` (S,) the last mark of
    each. `work`, `shown` and `removed` are scratch for the entries and rows of one subscription. `differences` has room
    for two changes a row, and for all entries and rows of a subscription at each mark. Returns the number of changes.
    """
    end, written = 0, 0
    for s in range(len(ks)):
        count = 0
        for entry in range(entry_starts[s], entry_starts[s + 1]):
            work.numbers[count], work.scores[count] = before.numbers[entry], before.scores[entry]
            work.holders[count], work.origins[count] = before.holders[entry], before.origins[entry]
            shown[count] = count < ks[s]
            count += 1
        row, stop = row_starts[s], row_starts[s + 1]
        while row < stop:
            first, removals, mark = row, 0, np.int64(NO_MARK)
            # All rows of one moment: exits, enters, then marks.
            while row < stop and rows.events[row] == rows.events[first] and rows.phases[row] == rows.phases[first]:
                if rows.kinds[row] == EXITS:
                    step = leave(work, shown, count, removed, removals, rows, row)
                    count, removals = step // 2, removals + step % 2
                elif rows.kinds[row] == ENTERS:
                    ks[s] = rows.ks[row]
                    place = place_of(work, count, rows.numbers[row])
                    if place >= 0:
                        work.holders[place] |= rows.copies[row]
                    else:
                        insert(work, shown, count, rows, row)
                        count += 1
                else:
                    mark = rows.numbers[row]
                    marks[s], ks[s] = mark, rows.ks[row]
                row += 1
            end = report(work, shown, count, ks[s], removed, removals, differences, end, first)
            if mark == NONE_LEFT or mark == SINGLE:
                count = 0
        for entry in range(count):
            after.numbers[written], after.scores[written] = work.numbers[entry], work.scores[entry]
            after.holders[written], after.origins[written] = work.holders[entry], work.origins[entry]
            written += 1
        ends[s] = written
    return end

"""CIQ's search: merges the lists of each cell that contains a message, subscription by subscription.

Paper: CIQ (Chen, Cong, Cao, Tan 2015) as section 2 of Wang et al. 2016 describes it: document at a time. A subscription
whose words share at least the cell's bound is a candidate, and is verified.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.window.kernels.disseminating import reach_all
from tocsin.index.window.kernels.layouts import ALPHA, EXAMINED, NOBODY, NORM, THETA, Interests, State
from tocsin.index.window.kernels.scoring import score_of
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.papers.skype.ciq.kernels.layouts import AT_END, SLACK, Cells, Ciq


@inlined
def search_cells(structure: Ciq, state: State, x: float, y: float, norm: float, count: int) -> int:
    """`disseminate` over the cells and the late subscriptions."""
    cells = structure.cells
    found = np.int64(0)
    if len(cells.list_words) > 0:
        last = np.int64(1) << cells.depth
        column = column_of(x, cells.box[0], cells.box[2], last)
        row = column_of(y, cells.box[1], cells.box[3], last)
        for level in range(cells.depth + 1):
            up = cells.depth - level
            cell = ((np.int64(1) << (2 * level)) - 1) // 3 + ((row >> up) << level) + (column >> up)
            lists = _open_lists(structure, state, cell, count)
            found = _merge(structure, state, lists, x, y, norm, found)
    return reach_all(structure.late, state, x, y, norm, count, found)


@inlined
def column_of(x: float, first: float, width: float, columns: int) -> int:
    """The column of a place; a place outside belongs to the nearest column."""
    return np.int64(min(max((x - first) / width * columns, 0.0), columns - 1.0))


@inner
def _open_lists(structure: Ciq, state: State, cell: int, count: int) -> int:
    """Open the lists of a message's words in a cell, in the order of the words; returns how many there are."""
    cells, scratch = structure.cells, structure.scratch
    lists = np.int64(0)
    for i in range(count):
        word = state.work.words[i]
        low, stop = cells.list_starts[cell], cells.list_starts[cell + 1]
        high = stop
        while low < high:
            middle = (low + high) >> 1
            if cells.list_words[middle] < word:
                low = middle + 1
            else:
                high = middle
        if low < stop and cells.list_words[low] == word:
            scratch.at[lists], scratch.stops[lists] = cells.starts[low], cells.starts[low + 1]
            scratch.heads[lists] = np.int64(cells.postings[cells.starts[low]])
            scratch.added[lists] = state.words.present[word]
            lists += 1
    return lists


@inner
def _merge(structure: Ciq, state: State, lists: int, x: float, y: float, norm: float, found: int) -> int:
    """Write the subscriptions of the open lists whose threshold is reached, after `found` others; returns the total."""
    cells, heads, work = structure.cells, structure.scratch.heads, state.work
    entry = np.int64(AT_END)
    for i in range(lists):
        entry = min(entry, heads[i])
    while entry != AT_END:
        shared, following = 0.0, np.int64(AT_END)
        for i in range(lists):
            if heads[i] == entry:
                shared += structure.scratch.added[i]
                _advance(structure, i)
            following = min(following, heads[i])
        if shared >= cells.needs[entry] * norm:
            slot = np.int64(cells.owners[entry])
            record = state.interests.records[slot]
            work.counts[EXAMINED] += 1
            score = score_of(record, x, y, norm, shared, state.rules.diagonal)
            if score >= record[THETA]:
                work.hits[found], work.hit_scores[found] = np.int32(slot), score
                found += 1
        entry = following
    return found


@inlined
def _advance(structure: Ciq, i: int) -> None:
    scratch = structure.scratch
    at = scratch.at[i] + 1
    scratch.at[i] = at
    scratch.heads[i] = np.int64(structure.cells.postings[at]) if at < scratch.stops[i] else np.int64(AT_END)


@inlined
def retune_cells(structure: Ciq, state: State, slot: int) -> None:
    """`retune` for all cells of a subscription; late subscriptions have none."""
    cells = structure.cells
    if slot < len(cells.place_starts) and cells.place_starts[slot] != NOBODY:
        bound_entries(cells, state.interests, slot)


@inlined
def bound_entries(cells: Cells, interests: Interests, slot: int) -> None:
    """Write the least share that words must contribute in each cell of a subscription (Equation 2)."""
    record = interests.records[slot]
    start = cells.place_starts[slot]
    for i in range(start, start + 1 + 3 * cells.depth):
        entry = np.int64(cells.places[i])
        needed = record[THETA] - record[ALPHA] * cells.worths[entry] - SLACK
        cells.needs[entry] = needed / (1.0 - record[ALPHA]) * record[NORM]


@kernel
def bound_all(cells: Cells, interests: Interests) -> None:
    """Write the same for all subscriptions."""
    held, all_ = viewed(cells), viewed(interests)
    for slot in range(len(held.place_starts)):
        if held.place_starts[slot] != NOBODY:
            bound_entries(held, all_, np.int64(slot))

"""CIQ: quadtree cells with an inverted file each, and bounds on what the words of a subscription must contribute.

A subscription is in 1 + 3 * `depth` cells, which cover the whole space, and in each cell under each of its words. A
message visits the cells that contain it, subscription by subscription. A subscription is scored if its words contribute
enough. Subscriptions added after the last build are scored as by an inverted file. The cells are rebuilt when these are
many, and while a window fills.

Cost: O(subscriptions that share a word, times words of the message), a few nanoseconds each; 4 bytes for each word and
28 for each subscription in each of its cells. `candidates_examined` counts the subscriptions scored.

Paper: CIQ (Chen, Cong, Cao, Tan 2015), as section 2 of Wang et al. 2016 and its figure 2 describe it. Departs: a
sliding window instead of decay. Thresholds are those of buffers and may fall, so a cell from which a subscription
cannot be reached is kept. All subscriptions have cells of the same depth.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import UnknownIndex
from tocsin.index.tables import grown, new_table
from tocsin.index.window.growing import no_lists
from tocsin.index.window.kernels.disseminating import register
from tocsin.index.window.kernels.layouts import NOBODY, Interests, Words, X, Y
from tocsin.index.window.pace import FIRST, LATE, BuiltAnew
from tocsin.papers.skype.ciq.covering import cells_before, covering_of
from tocsin.papers.skype.ciq.kernels.layouts import Cells, Ciq, Scratch
from tocsin.papers.skype.ciq.kernels.searching import bound_all, retune_cells, search_cells

DEPTH: Final = 3
_DEEPEST: Final = 8
OPTIONS: Final = {"depth": DEPTH, "late": LATE, "first": FIRST}


class CiqIndex(BuiltAnew):
    """The Disseminator over these cells; `diagonal` is the longest distance."""

    table: Ciq

    def __init__(self, diagonal: float, depth: int, late: int, first: int) -> None:
        if not 0 <= depth <= _DEEPEST:
            raise UnknownIndex(f"depth={depth}: depth is a number from 0 to {_DEEPEST}")
        super().__init__(diagonal, late, first)
        self._depth = depth
        self.table = Ciq(_no_cells(depth), no_lists(1), new_table(Scratch, words=0))

    def know_words(self, count: int) -> None:
        self.table = self.table._replace(late=grown(self.table.late, words=count))

    def know_length(self, words: int) -> None:
        self.table = self.table._replace(scratch=new_table(Scratch, words=words))

    def build(
        self,
        slots: NDArray[np.int32],
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        interests: Interests,
        table: Words,
        taken: int,
    ) -> None:
        covering = covering_of(interests.records[slots][:, [X, Y]], self._depth)
        width = covering.cells.shape[1]
        of_cell = covering.cells.reshape(-1)
        order = np.argsort(of_cell, kind="stable")
        entries = np.empty(len(order), np.int32)
        entries[order] = np.arange(len(order))
        place_starts = np.full(len(interests.ks), NOBODY, np.int64)
        place_starts[slots] = np.arange(len(slots)) * width
        cells = _no_cells(self._depth)._replace(
            box=covering.box,
            owners=np.repeat(slots, width)[order],
            worths=1.0 - covering.distances.reshape(-1)[order] / self._diagonal,
            needs=np.empty(len(order)),
            place_starts=place_starts,
            places=entries,
        )
        of_words = np.repeat(np.arange(len(slots)), np.diff(starts))
        cells = _with_lists(cells, words, covering.cells[of_words], entries.reshape(-1, width)[of_words])
        bound_all(cells, interests)
        self.table = self.table._replace(cells=cells, late=no_lists(len(table.squares)))
        self._pace.begin_anew(taken)


def _with_lists(cells: Cells, words: NDArray[np.int32], of: NDArray[np.int32], entries: NDArray[np.int32]) -> Cells:
    """The cells with a list for each word in each cell; rows of `of` and `entries` are a word's cells and entries."""
    most = int(words.max(initial=0)) + 1
    keys = (of.astype(np.int64) * most + words[:, None]).reshape(-1)
    postings = entries.reshape(-1)
    order = np.lexsort((postings, keys))
    lists, firsts = np.unique(keys[order], return_index=True)
    return cells._replace(
        list_starts=np.searchsorted(lists // most, np.arange(len(cells.list_starts))),
        list_words=(lists % most).astype(np.int32),
        starts=np.append(firsts, len(keys)),
        postings=postings[order],
    )


def _no_cells(depth: int) -> Cells:
    cells = new_table(Cells, cells=cells_before(depth + 1), lists=0, postings=0, entries=0, slots=0)
    return cells._replace(depth=depth, box=np.array([0.0, 0.0, 1.0, 1.0]))


register(Ciq, search_cells, retune_cells)

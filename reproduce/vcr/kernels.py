"""Linked lists of rectangles by VCR, with insertion and deletion. Wu, Chen and Yu 2004, sections 2.2 and 2.4."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel
from tocsin.jit.views import viewed


class Linked(NamedTuple):
    """A list of rectangles for each VCR, and a list of free entries. V VCRs, E room for entries."""

    heads: NDArray[np.int64]  # (V + 1,) the first entry of each; last the list of free entries; -1 for none
    nexts: NDArray[np.int64]  # (E,)
    owners: NDArray[np.int32]  # (E,)


@kernel
def link(lists: Linked, numbers: NDArray[np.int64], owner: int) -> None:
    """Put a rectangle at the head of the lists of its VCRs. There must be enough free entries."""
    linked = viewed(lists)
    heads, nexts, owners = linked.heads, linked.nexts, linked.owners
    free = len(heads) - 1
    for number in numbers:
        entry = heads[free]
        heads[free] = nexts[entry]
        nexts[entry], owners[entry] = heads[number], owner
        heads[number] = entry


@kernel
def unlink(lists: Linked, numbers: NDArray[np.int64], owner: int) -> None:
    """Remove a rectangle from the lists of its VCRs, which are walked to find it."""
    linked = viewed(lists)
    heads, nexts, owners = linked.heads, linked.nexts, linked.owners
    free = len(heads) - 1
    for number in numbers:
        before, entry = np.int64(-1), heads[number]
        while owners[entry] != owner:
            before, entry = entry, nexts[entry]
        if before < 0:
            heads[number] = nexts[entry]
        else:
            nexts[before] = nexts[entry]
        nexts[entry] = heads[free]
        heads[free] = entry


@kernel
def covering(lists: Linked, pivot: int, distances: NDArray[np.int64], out: NDArray[np.int32]) -> int:
    """Write the rectangles on the lists at these distances from the pivot, if there is room; returns how many."""
    return _covering(viewed(lists), pivot, distances, out)


@kernel
def covering_each(
    lists: Linked, pivots: NDArray[np.int64], distances: NDArray[np.int64], out: NDArray[np.int32]
) -> int:
    """The same for many pivots, one after the other into the same room; returns how many in all."""
    linked, count = viewed(lists), 0
    for pivot in pivots:
        count += _covering(linked, pivot, distances, out)
    return count


@inner
def _covering(linked: Linked, pivot: int, distances: NDArray[np.int64], out: NDArray[np.int32]) -> int:
    heads, nexts, owners = linked.heads, linked.nexts, linked.owners
    count = 0
    for distance in distances:
        entry = heads[pivot + distance]
        while entry >= 0:
            if count < len(out):
                out[count] = owners[entry]
            count += 1
            entry = nexts[entry]
    return count

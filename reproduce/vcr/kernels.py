"""How does a rectangle come onto the linked lists of its VCRs, and off? Wu, Chen and Yu 2004, sections 2.2 and 2.4."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import viewed


class Linked(NamedTuple):
    """A list of rectangles for each VCR, and one of entries that are free. V VCRs, E room for entries."""

    heads: NDArray[
        np.int64
    ]  # (V + 1,) the first entry of each; the last is the list of those that are free; -1 for none
    nexts: NDArray[np.int64]  # (E,)
    owners: NDArray[np.int32]  # (E,)


@kernel
def link(lists: Linked, numbers: NDArray[np.int64], owner: int) -> None:
    """Put a rectangle at the head of the lists of its VCRs. There are as many free entries."""
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
    """Take a rectangle off the lists of its VCRs, each walked until it comes."""
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
    """Write what is on the lists at these distances from the pivot's, as far as there is room; how much it is."""
    linked = viewed(lists)
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

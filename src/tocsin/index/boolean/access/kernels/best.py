"""Selection of the best of an event's matches, called by address so that it is compiled only on demand."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import int32, int64
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.layouts import Scratch, Wants
from tocsin.jit.addresses import call_address
from tocsin.jit.decorators import inlined, part
from tocsin.jit.views import view_of
from tocsin.kernels.answers.ordering import put_best
from tocsin.kernels.programs.parts import BEST


@part
def put_the_best(
    memory: Scratch, wants: Wants, heap: NDArray[np.int32], found: int, out: NDArray[np.int32], written: int
) -> None:
    """Write the best live hits to out[written:]; `memory.taken` says how many."""
    hits, words = memory.hits, memory.words
    memory.taken[0] = put_best(hits, found, wants.alive, words, wants.scores, wants.maxima, heap, out, written)


PUTTING: Final = (view_of(Scratch), view_of(Wants), int32[::1], int64, int32[::1], int64)
"""The argument types of `put_the_best`."""


@inlined
def the_best(
    memory: Scratch, wants: Wants, heap: NDArray[np.int32], found: int, out: NDArray[np.int32], written: int
) -> int:
    """Call `put_the_best`; returns how many it wrote."""
    call_address(wants.parts[BEST], (memory, wants, heap, np.int64(found), out, np.int64(written)))
    return memory.taken[0]

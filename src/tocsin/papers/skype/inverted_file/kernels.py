"""The search of the inverted file: scores every subscription that shares a word with a message.

Baseline: an inverted file, term at a time, without a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tocsin.index.window.kernels.disseminating import reach_all, register
from tocsin.index.window.kernels.layouts import Lists, State
from tocsin.jit.decorators import inlined


class InvertedFile(NamedTuple):
    """Slots by word."""

    lists: Lists


@inlined
def _disseminate(structure: InvertedFile, state: State, x: float, y: float, norm: float, count: int) -> int:
    return reach_all(structure.lists, state, x, y, norm, count, np.int64(0))


@inlined
def _retune(structure: InvertedFile, state: State, slot: int) -> None:
    """Does nothing, because the file stores no thresholds."""


register(InvertedFile, _disseminate, _retune)

"""Loads the code of leaf kinds when subscriptions use them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.forking import awaited
from tocsin.jit.addresses import address_of, signature
from tocsin.kernels import codes
from tocsin.kernels.programs.arrays import array_pair_part, array_set_part
from tocsin.kernels.programs.boxes import box_part
from tocsin.kernels.programs.layouts import WALK
from tocsin.kernels.programs.parts import PARTS, RANGED
from tocsin.kernels.programs.patterns import pattern_part
from tocsin.kernels.programs.ranges import ranged_part
from tocsin.kernels.programs.terms import compare_part, term_null_part
from tocsin.kernels.programs.truths import truth_part

_FUNCTIONS: Final[Mapping[int, Any]] = {
    codes.INTERSECTS: box_part,
    codes.LIKE: pattern_part,
    codes.REGEX: pattern_part,
    codes.ARRAY_SET: array_set_part,
    codes.ARRAY_PAIR: array_pair_part,
    codes.COMPARE: compare_part,
    codes.TERM_IS_NULL: term_null_part,
    codes.TRUTH: truth_part,
    RANGED: ranged_part,
}
_ALL: Final = sum(1 << kind for kind in _FUNCTIONS)
_LOCK: Final = awaited(threading.Lock())


def parts_of(leaf_kinds: NDArray[np.uint8]) -> int:
    """The parts that these kinds of leaves need, one bit each. Cost: linear."""
    return int((1 << np.flatnonzero(np.bincount(leaf_kinds, minlength=1))).sum()) & _ALL


def load(parts: int) -> None:
    """Compile the parts that are missing. Cost: a second each, once per environment; afterwards nothing."""
    for kind, function in _FUNCTIONS.items() if parts else ():
        if parts >> kind & 1:
            load_part(kind, function, signature(WALK))


def load_part(number: int, function: Any, given: tuple[Any, ...]) -> None:
    """Compile a part for these argument types, unless it is loaded."""
    if not PARTS[number]:
        with _LOCK:
            PARTS[number] = address_of(function, given)

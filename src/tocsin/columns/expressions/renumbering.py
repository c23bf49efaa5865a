"""What becomes of leaves and sets when their strings have other numbers?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.payloads import HIGHEST, LOWEST, string_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions


def with_strings_numbered(arrays: Expressions, numbers: NDArray[np.int64]) -> Expressions:
    """The same leaves and sets when string n becomes number `numbers[n]`. Elements of sets stay in their order."""
    ranges = (arrays.leaf_kinds == codes.RANGE) & (arrays.leaf_types == codes.STRING)
    lows, highs = arrays.leaf_lows, arrays.leaf_highs
    changes = 2 * (numbers - np.arange(len(numbers)))
    return arrays._replace(
        leaf_lows=_moved(lows, ranges & (lows != LOWEST), changes, at_low_end=True),
        leaf_highs=_moved(highs, ranges & (highs != HIGHEST), changes, at_low_end=False),
        set_payloads=_moved(arrays.set_payloads, arrays.set_types == codes.STRING, changes, at_low_end=False),
    )


def _moved(
    payloads: NDArray[np.int64], chosen: NDArray[np.bool_], changes: NDArray[np.int64], *, at_low_end: bool
) -> NDArray[np.int64]:
    if not chosen.any():
        return payloads
    moved = payloads.copy()
    moved[chosen] += changes[string_of(moved[chosen], at_low_end=at_low_end)]
    return frozen(moved, np.int64)

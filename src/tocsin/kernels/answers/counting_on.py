"""Which ids have some numbers, where ids are integers one after another?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


@kernel
def count_on(numbers: NDArray[np.int32], first: int, out: NDArray[np.int64]) -> None:
    """Write `first` and so many more for each number: half the time of NumPy, which widens them apart."""
    for place in range(len(numbers)):
        out[place] = first + np.int64(numbers[place])

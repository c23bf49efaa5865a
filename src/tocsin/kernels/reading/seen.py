"""Which types do a batch's attributes have?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


@kernel
def note_types(attributes: NDArray[np.int32], types: NDArray[np.uint8], out: NDArray[np.uint32]) -> None:
    """Set bit t of out[a] for each entry of attribute a and type t."""
    one = np.uint32(1)
    for i in range(len(attributes)):
        out[attributes[i]] |= one << np.uint32(types[i])

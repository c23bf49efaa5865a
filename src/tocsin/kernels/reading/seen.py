"""Records which types a batch's attributes have."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel
from tocsin.kernels import codes

LARGE: Final = 31
"""The bit for numbers so large that some neighbouring integers are not float64 values."""


@kernel
def note_types(
    attributes: NDArray[np.int32],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    least: int,
    most: int,
    out: NDArray[np.uint32],
) -> None:
    """Set bit t of out[a] for each entry of attribute a and type t.

    Bit LARGE is set for numbers that are at most `least` or at least `most`.
    """
    one = np.uint32(1)
    for i in range(len(attributes)):
        out[attributes[i]] |= one << np.uint32(types[i])
        if types[i] == codes.NUMBER and not least < payloads[i] < most:
            out[attributes[i]] |= one << np.uint32(LARGE)

"""Which events come too late for their object."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel


@kernel
def admit(
    objects: NDArray[np.int32], instants: NDArray[np.int64], latest: NDArray[np.int64], floor: int
) -> NDArray[np.bool_]:
    """(V,) which visits are not older than the latest of their object, which they move, nor than `floor`."""
    admitted = np.zeros(len(objects), np.bool_)
    for visit in range(len(objects)):
        object, instant = objects[visit], instants[visit]
        if instant >= floor and instant >= latest[object]:
            latest[object] = instant
            admitted[visit] = True
    return admitted

"""Which subscriptions may a message resemble enough? All of them, as far as `scan` knows: the exact linear baseline."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.spatial_text.kernels.layouts import Message, Seen
from tocsin.index.spatial_text.kernels.resembling import Similarity, register_alike
from tocsin.kernels.jit import inner


class Everyone(NamedTuple):
    """The subscriptions of each place. P places, M members."""

    starts: NDArray[np.int64]  # (P + 1,)
    members: NDArray[np.int32]  # (M,)


@inner
def find_everyone(
    everyone: Everyone,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """`find_alike`: everyone."""
    members, hits, stop = everyone.members, seen.hits, np.int64(found)
    for i in range(everyone.starts[place], everyone.starts[place + 1]):
        hits[stop] = members[i]
        stop += 1
    return stop


register_alike(Everyone, find_everyone)

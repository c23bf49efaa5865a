"""Merging of the changes that several shares of the subscriptions report for the same messages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel


@kernel
def merge_changes(
    firsts: NDArray[np.int64],
    ends: NDArray[np.int64],
    enters: NDArray[np.bool_],
    ranks: NDArray[np.int64],
    order: NDArray[np.int64],
    out_ends: NDArray[np.int64],
) -> None:
    """Write the merged order of all changes: by message, exits first, then rank; and where each message's changes end.

    Share t has the changes [firsts[t], firsts[t + 1]), and those of message b end at its ends[t, b]. They are in the
    same order.
    """
    shares, messages = ends.shape
    at = firsts[:-1].copy()
    written = np.int64(0)
    for b in range(messages):
        while True:
            best = np.int64(-1)
            for t in range(shares):
                if at[t] == firsts[t] + ends[t, b]:
                    continue
                if best < 0:
                    best = t
                    continue
                one, other = at[t], at[best]
                if enters[one] != enters[other]:
                    best = t if enters[other] else best
                elif ranks[one] < ranks[other]:
                    best = t
            if best < 0:
                break
            order[written] = at[best]
            at[best] += 1
            written += 1
        out_ends[b] = written

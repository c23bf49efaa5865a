"""Updates of blocks when a threshold changes: the posting's bytes, and the headers of its blocks.

Both falls and rises are written at once. After a fall the block's range grows, and its header needs less. A header
rises with the least of its postings.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.window.blocks.kernels.layouts import BLOCK, LEAST_NEED, LEAST_THETA, NEED, STEPS, Blocks
from tocsin.index.window.kernels.layouts import ALPHA, THETA, Interests
from tocsin.jit.decorators import inlined, inner

MOST_CODE = 255
_LAST = np.float32(254.0)
_NARROWEST = np.float32(1e-6)
_BELOW = np.float32(1e-6)
_BLUR = np.float32(1e-3)
_QUARTER = np.float32(0.25)
"""Room above the former maximum, as a share of the range: thresholds rise repeatedly as a window fills."""


@inlined
def need_of(theta: float, alpha: float) -> float:
    """theta - alpha in float32, rounded down."""
    return np.float32(max(theta, LEAST_THETA) - alpha) - _BELOW


@inner
def retune_blocks(blocks: Blocks, interests: Interests, slot: int) -> None:
    """Write a threshold into the postings of a subscription."""
    if slot >= len(blocks.place_starts):
        return
    records = interests.records
    need = need_of(records[slot, THETA], records[slot, ALPHA])
    start = blocks.place_starts[slot]
    for i in range(start, start + blocks.place_counts[slot]):
        place = np.int64(blocks.places[i])
        _put(blocks, place >> 6, place & (BLOCK - 1), need)


@inlined
def _put(blocks: Blocks, block: int, column: int, need: float) -> None:
    """Write the need of one posting; extends the block's range to it, and updates the header."""
    scale = blocks.scales[block]
    codes = blocks.codes[block, NEED * BLOCK : (NEED + 1) * BLOCK]
    least, step = scale[NEED], scale[STEPS + NEED]
    most = least + step * _LAST
    if need < least:
        _span(blocks, block, need, most)
    elif need > most:
        _span(blocks, block, least, need + (need - least) * _QUARTER)
    code = np.floor((need - scale[NEED]) / scale[STEPS + NEED] - _BLUR)
    codes[column] = np.uint8(min(max(code, np.float32(0.0)), _LAST))
    lowest = np.uint8(MOST_CODE)
    for t in range(BLOCK):
        lowest = codes[t] if codes[t] < lowest else lowest
    blocks.headers[LEAST_NEED, block] = scale[NEED] + scale[STEPS + NEED] * np.float32(lowest)


@inlined
def _span(blocks: Blocks, block: int, least: float, most: float) -> None:
    """Change the range of a block's thresholds; each is rounded down once more."""
    scale = blocks.scales[block]
    codes = blocks.codes[block, NEED * BLOCK : (NEED + 1) * BLOCK]
    old, old_step = scale[NEED], scale[STEPS + NEED]
    step = (most - least) / _LAST + _NARROWEST
    for t in range(BLOCK):
        if codes[t] < MOST_CODE:
            code = np.floor((old + old_step * np.float32(codes[t]) - least) / step - _BLUR)
            codes[t] = np.uint8(min(max(code, np.float32(0.0)), _LAST))
    scale[NEED], scale[STEPS + NEED] = least, step

"""B5 over a long run: a million messages through a full window, and the memory of the process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import tocsin
from benchmarks.rows import Row
from benchmarks.window_workload import BOUNDS, WindowLoad

_BATCH: Final = 8192
_MESSAGES: Final = 1_000_000
_LOOKS: Final = 10


def rows(subscriptions: int, size: int) -> Iterator[Row]:
    """Fill a window, then report memory and rate after each tenth of the messages."""
    load = WindowLoad()
    window = tocsin.Window(size, bounds=BOUNDS)
    for first in range(0, size, _BATCH):
        window.push_batch(load.messages(min(_BATCH, size - first), first), changes=False)
    window.subscribe_many(load.subscriptions(subscriptions))
    name = f"{subscriptions:,} subscriptions, {size:,} messages"
    batches = _MESSAGES // _BATCH
    spent, looked = 0.0, 0
    for number in range(batches):
        messages = load.messages(_BATCH, 10**6 + number)
        began = time.process_time()
        window.push_batch(messages)
        spent += time.process_time() - began
        if (number + 1) * _LOOKS // batches > number * _LOOKS // batches:
            note = f"{1e6 * spent / _BATCH / (number + 1 - looked):.1f} us a message since the last row"
            yield Row("blocks", name, f"after {(number + 1) * _BATCH:,}", _resident(), "MB", note)
            spent, looked = 0.0, number + 1


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

"""Events at a steady rate, and how long each took from the moment when it was due."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Final

from benchmarks.rows import Row

_SENT: Final = re.compile(rb'"sent": (\d+)')


class Latencies:
    """Times from the moment when events were due, which they have as `sent`, to their arrival."""

    def __init__(self) -> None:
        self.values_ms: list[float] = []

    def take(self, data: bytes, now_ns: int) -> None:
        """Add those of the events in some bytes."""
        self.values_ms += [(now_ns - int(sent)) / 1e6 for sent in _SENT.findall(data)]

    def add(self, nanoseconds: int) -> None:
        """Add one."""
        self.values_ms.append(nanoseconds / 1e6)

    def row(self, load: str, of: str, reached: float, rate: int) -> Row:
        """The median; the note has the tail, and whether the rate was reached."""
        cuts, most = statistics.quantiles(self.values_ms, n=100), max(self.values_ms)
        note = f"p99 {cuts[98]:,.1f} ms, most {most:,.1f}; {reached:,.0f} events/s of {rate:,} asked"
        return Row("service", load, of, cuts[49], "ms p50", note)


async def paced(publish: Callable[[int, int], Awaitable[None]], rate: int, count: int) -> float:
    """Publish so many events, whatever the earlier ones take. Returns the rate that was reached.

    `publish` gets the number of each event, and when it was due, in nanoseconds since 1970.
    """
    begun, begun_ns, tasks = time.perf_counter(), time.time_ns(), []
    for number in range(count):
        due = number / rate
        wait = due - (time.perf_counter() - begun)
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.ensure_future(publish(number, begun_ns + int(due * 1e9))))
    await asyncio.gather(*tasks)
    return count / (time.perf_counter() - begun)

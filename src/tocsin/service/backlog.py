"""Large requests that wait for each other: their bytes, and how long a further one would wait behind them.

Small requests are counted instead (`publishing.Load`). A request is large if its body takes room.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tocsin.service.bodies import SMALL

_MOST_WAIT_S: Final = 1.0
_ALWAYS: Final = 8
"""So many large requests are let in whatever they take: bulks of megabytes, which take their time."""
_RATE: Final = 64 << 20
"""Bytes a second, before there is a measurement."""
_MEMORY_S: Final = 5.0
"""The rate is that of the last seconds."""
_ARRIVING_S: Final = 1.0
"""A body that is announced counts for so long. If it comes slowly, others need not wait for it."""


class Request:
    """A large request from its head to its answer."""

    def __init__(self, size: int, begun_s: float) -> None:
        self.size, self.begun_s, self.has_arrived = size, begun_s, False

    def arrive(self) -> None:
        """Note that the body has come, and is worked on from now on."""
        self.has_arrived = True


class Backlog:
    """The large requests that are not answered yet, and the rate at which they are."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._requests: dict[Request, None] = {}
        self._bytes, self._seconds = _RATE * 0.5, 0.5  # of answers, and the time that they took, of the last seconds
        self._mark = 0.0  # when the last one was answered, or the first one since a pause came

    def admits(self, size: int) -> bool:
        """Whether a request would wait for about a second at most."""
        if size <= SMALL or len(self._requests) < _ALWAYS:
            return True
        now = self._clock()
        ahead = sum(one.size for one in self._requests if one.has_arrived or now - one.begun_s < _ARRIVING_S)
        return ahead * self._seconds <= _MOST_WAIT_S * self._bytes

    @contextmanager
    def request(self, size: int) -> Iterator[Request]:
        """Count a request until it is answered."""
        request = Request(size, self._clock())
        if size <= SMALL:
            yield request
            return
        self._requests[request] = None
        try:
            yield request
        finally:
            del self._requests[request]
            if request.has_arrived:
                self._measure(request)

    def _measure(self, request: Request) -> None:
        """Take the time since the answer before, or since this request came if it came after that, for the rate."""
        now = self._clock()
        seconds = now - max(self._mark, request.begun_s)
        fades = math.exp(-seconds / _MEMORY_S)
        self._bytes, self._seconds = self._bytes * fades + request.size, self._seconds * fades + seconds
        self._mark = now

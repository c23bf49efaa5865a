"""Thread pool for work with results in order: each thread takes the next item, and some items are prefetched."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from tocsin.errors import InvalidInput
from tocsin.spelling import only_in_python, option

Item = TypeVar("Item")
Result = TypeVar("Result")


def workers(count: int | None, what: str = "threads") -> int:
    """The number of workers: `count`, or the number of cores available to this process. Raises `InvalidInput`."""
    if count is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        or_none = only_in_python(", or None for all cores")
        raise InvalidInput(f"{option(what)} is {count!r:.40}; it must be an integer of at least 1{or_none}")
    return count


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], threads: int, is_live: Callable[[Item], bool]
) -> Iterator[Result]:
    """Yield the result of each item, in order. The caller's thread takes items, a few ahead.

    If the first item is live, as from a pipe, each is answered before the next is awaited. A single item starts no
    thread.
    """
    few = list(islice(items, 1))
    if threads > 1 and few and not is_live(few[0]):
        few += islice(items, 1)
    if len(few) < 2:
        yield from map(work, chain(few, items))
        return
    pool = ThreadPoolExecutor(threads, "tocsin")
    running: deque[Future[Result]] = deque()
    try:
        for item in chain(few, items):
            running.append(pool.submit(work, item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)

"""B5: the best ten of the last 100,000 messages for each subscription, with every structure of the family.

The window is filled once. Each structure then disseminates in the steady state: messages expire as others arrive, and
subscriptions search again. `kernel` is the time spent pushing messages. `call` is `push_batch` of an Arrow table with
the same batches, including reading and the table of changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import numpy as np

import tocsin
from benchmarks.rows import Row
from benchmarks.window_workload import BOUNDS, WindowLoad
from tocsin.index.registry import disseminators, window_index

_FILLED_AT_ONCE: Final = 1024
_BATCH: Final = 4096
_BATCHES: Final = 3
_PUSHES: Final = 2000
_LONG_S: Final = 30.0
"""The time limit for the batches of a structure."""


def rows(subscriptions: int, size: int) -> Iterator[Row]:
    """Fill a window with `blocks`, then measure every structure on the following messages."""
    load = WindowLoad()
    name = f"{subscriptions:,} subscriptions, {size:,} messages"
    window = tocsin.Window(size, bounds=BOUNDS)
    began = time.process_time()
    report = window.subscribe_many(load.subscriptions(subscriptions))
    assert not report.errors, report.errors[0].reason
    yield Row("blocks", name, "subscribe_many", subscriptions / (time.process_time() - began), "subscriptions/s")
    began = time.process_time()
    for first in range(0, size, _FILLED_AT_ONCE):
        window.push_batch(load.messages(min(_FILLED_AT_ONCE, size - first), first))
    yield Row("blocks", name, "cold start: an empty window is filled", time.process_time() - began, "s")
    yield from _shared(window, name, load)
    for registration in disseminators():
        if "slack" not in registration.options:
            continue  # a policy with other buffers; see `make reproduce ARGS=skype/buffers`
        window._sliding.change_to(window_index(registration.name, window.bounds.diagonal).disseminator)
        yield from _steady(window, registration.name, name, load)


def _shared(alone: tocsin.Window, name: str, load: WindowLoad) -> Iterator[Row]:
    """Alternate batches of the window and of one shared by two threads; wall time."""
    shared = tocsin.Window(alone.size, bounds=BOUNDS, threads=2)
    shared.subscribe_many(load.subscriptions(len(alone)))
    shared.push_batch(load.messages(int(alone.size or 0), 0), changes=False)
    rates: dict[str, list[float]] = {"1 thread": [], "2 threads": []}
    for part in range(_BATCHES):
        messages = load.messages(_BATCH, 10**5 + part)
        for held, window in zip(rates.values(), (alone, shared), strict=True):
            start = time.perf_counter()
            window.push_batch(messages)
            held.append(_BATCH / (time.perf_counter() - start))
    for threads, held in rates.items():
        yield Row("blocks", name, f"call (wall), {threads}", float(np.median(held)), "messages/s")


def _steady(window: tocsin.Window, structure: str, name: str, load: WindowLoad) -> Iterator[Row]:
    """Rates of batches, times of single pushes, and bytes."""
    calls, kernels, changes, reevaluations, done = [], [], 0, 0, 0
    began = time.perf_counter()
    size = _BATCH
    for part in range(_BATCHES):
        messages = load.messages(size, 10**6 + part)
        start = time.process_time()
        before = window.stats
        answer = window.push_batch(messages)
        spent = window.stats.less(before)
        calls.append(size / (time.process_time() - start))
        kernels.append(size / answer.stats.seconds)
        changes, reevaluations, done = changes + spent.changes, reevaluations + spent.reevaluations, done + size
        if time.perf_counter() - began > _LONG_S:
            break
    yield Row(structure, name, "kernel (wall)", float(np.median(kernels)), "messages/s")
    yield Row(structure, name, "call (CPU)", float(np.median(calls)), "messages/s")
    yield Row(structure, name, "changes a message", changes / done, "", f"{reevaluations / done:.3f} searches")
    yield from _pushes(window, structure, name, load)
    sizes = window.sizes()
    told = ", ".join(f"{part} {taken / len(window):.0f}" for part, taken in sizes.items())
    yield Row(structure, name, "bytes a subscription", sum(sizes.values()) / len(window), "", told)


def _pushes(window: tocsin.Window, structure: str, name: str, load: WindowLoad) -> Iterator[Row]:
    messages = load.messages(_PUSHES, 10**7).to_pylist()
    took = []
    began = time.perf_counter()
    for message in messages:
        start = time.perf_counter()
        window.push(**message)
        took.append(1e6 * (time.perf_counter() - start))
        if time.perf_counter() - began > _LONG_S:
            break
    for share in (50, 99):
        yield Row(structure, name, f"one push, p{share} (wall)", float(np.percentile(took, share)), "us")

"""Progress of the demo's steps: a live bar on a terminal, plain lines in a pipe or a file."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TextIO

from tqdm import tqdm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_S: Final = 0.25
_LINE_EVERY_S: Final = 10.0


class Steps:
    """The named steps of a job, shown on `stream` unless `shown` is False; `seconds` holds the time of each step."""

    def __init__(self, count: int, *, shown: bool = True, stream: TextIO | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.shown = shown
        self._count = count
        self._stream = sys.stderr if stream is None else stream

    def label(self, title: str) -> str:
        """The label of the next step."""
        return f"[{len(self.seconds) + 1}/{self._count}] {title}"

    @contextlib.contextmanager
    def step(self, name: str, title: str, spark: SparkSession | None = None) -> Iterator[None]:
        """Time the block under `name`; with `spark`, show how many of its tasks are done."""
        label = self.label(title)
        started = time.perf_counter()
        shown = _Bar if self.shown and self._stream.isatty() else _Lines if self.shown else _Nothing
        view = shown(label, self._stream)
        with _watched(spark, view) if spark is not None and self.shown else contextlib.nullcontext():
            try:
                yield
            except BaseException:
                view.close(None)
                raise
        self.seconds[name] = time.perf_counter() - started
        view.close(self.seconds[name])


class _Nothing:
    """Shows nothing."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self.label = label
        self.stream = stream

    def update(self, done: int, total: int) -> None:
        """Report that `done` of the `total` tasks known so far are finished."""

    def close(self, seconds: float | None) -> None:
        """End the step, which took `seconds`, or failed if None."""


class _Lines(_Nothing):
    """A line when a step starts, one when it ends, and one every ten seconds in between."""

    def __init__(self, label: str, stream: TextIO) -> None:
        super().__init__(label, stream)
        self._last = time.perf_counter()
        print(f"{label} ...", file=stream, flush=True)

    def update(self, done: int, total: int) -> None:
        if time.perf_counter() - self._last >= _LINE_EVERY_S:
            self._last = time.perf_counter()
            print(f"{self.label}: {done} of {total} tasks", file=self.stream, flush=True)

    def close(self, seconds: float | None) -> None:
        if seconds is not None:
            print(f"{self.label}: done in {seconds:.1f} s", file=self.stream, flush=True)


class _Bar(_Nothing):
    """A bar that moves, replaced by one line when the step ends."""

    def __init__(self, label: str, stream: TextIO) -> None:
        super().__init__(label, stream)
        shape = "{desc} {bar:30} {n_fmt}/{total_fmt} tasks, {elapsed}"
        self._bar = tqdm(desc=label, file=stream, leave=False, bar_format=shape, total=1, dynamic_ncols=True)

    def update(self, done: int, total: int) -> None:
        self._bar.total, self._bar.n = max(total, 1), done
        self._bar.refresh()

    def close(self, seconds: float | None) -> None:
        self._bar.close()
        if seconds is not None:
            print(f"{self.label}: done in {seconds:.1f} s", file=self.stream, flush=True)


@contextlib.contextmanager
def _watched(spark: SparkSession, view: _Nothing) -> Iterator[None]:
    """Report the tasks of every stage to `view` while the block runs."""
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, view, stop), daemon=True, name="tocsin-progress")
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join(timeout=5)


def _watch(spark: SparkSession, view: _Nothing, stop: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    stages: dict[int, tuple[int, int]] = {}
    while not stop.wait(_POLL_S):
        # Spark may be stopping, or gone; a progress bar must not fail because of it.
        try:
            active = set(tracker.getActiveStageIds())
            infos = {number: tracker.getStageInfo(number) for number in active}
        except Exception:  # noqa: BLE001
            return
        for number, (_, total) in stages.items():
            if number not in active:
                stages[number] = total, total
        stages |= {n: (info.numCompletedTasks, info.numTasks) for n, info in infos.items() if info}
        view.update(sum(done for done, _ in stages.values()), sum(total for _, total in stages.values()))

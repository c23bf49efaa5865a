"""Background merging of an engine's sources, by the logarithmic method.

A delta becomes a segment when it is full, or when examining it has cost more than merging it. Segments of similar size
(within a factor of `_FANOUT`) are merged when there are enough of them. A segment that has lost a quarter of its
subscriptions is rewritten. So each subscription is merged O(log n) times, and a match searches O(log n) segments
(Bentley and Saxe 1980).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from tocsin.engine.sources import Source
from tocsin.engine.store import Store
from tocsin.forking import renewed
from tocsin.index import Plan
from tocsin.segment import merged
from tocsin.segment.compacting import Rule, Size, next_to_merge

_FANOUT: Final = 2
_FEW: Final = 4
"""So many deltas are merged at once when an engine is saved; larger merges are left to the background."""


class Merger:
    """Merges the sources of one store, in a thread of its own or in the caller's."""

    def __init__(self, store: Store, plan: Plan, delta_limit: int) -> None:
        self.error: Exception | None = None
        self._store = store
        self._plan = plan
        self._limit = delta_limit
        self._closed = False
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether a merge is running in the background."""
        return self._thread is not None

    def wake(self) -> None:
        """Merge in the background until there is nothing to merge."""
        with self._guard:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="tocsin-merge", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Wait for a running merge, and start no more."""
        with self._guard:
            self._closed = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def settle(self) -> None:
        """Make segments of all recent subscriptions now."""
        with self._store.structure:
            self._store.seal()
            while self._store.sealed:
                self._merge(self._store.sealed[:1])

    def tidy(self) -> None:
        """Do the small merges that are due now, so that a folder that is opened again and again stays in few parts.

        Cost: at most that of merging a few times as many subscriptions as a delta holds.
        """
        with self._store.structure:
            while chosen := self._next():
                if sum(source.numbered for source in chosen) > _FEW * self._limit:
                    return
                self._merge(chosen)

    def merge_all(self) -> None:
        """Merge everything into one segment now, without removed subscriptions."""
        with self._store.structure:
            self._store.seal()
            segments, sealed = self._store.segments, self._store.sealed
            if sealed or len(segments) > 1 or any(source.gone for source in segments):
                self._merge([*segments, *sealed])

    def _run(self) -> None:
        try:
            while not self._closed and self._step():
                pass
        except Exception as error:  # the sources still answer; `stats` shows the error  # noqa: BLE001
            self.error = error
        finally:
            with self._guard:
                self._thread = None

    def _step(self) -> bool:
        """Do one merge, if one is due."""
        with self._store.structure:
            if self._store.delta.numbered >= self._limit or self._store.delta.is_ripe:
                self._store.seal()
            chosen = self._next()
            if chosen:
                self._merge(chosen)
            return bool(chosen)

    def _next(self) -> Sequence[Source]:
        """The sources to merge next: a full delta, else segments of one size (smallest first), else a thin one."""
        if self._store.sealed:
            return self._store.sealed[:1]
        segments = self._store.segments
        sizes = [Size(source.numbered, source.gone) for source in segments]
        return [segments[place] for place in next_to_merge(sizes, Rule(self._limit, _FANOUT))]

    def _merge(self, chosen: Sequence[Source]) -> None:
        try:
            snapshots = self._store.begin_merge(chosen)
            self._store.install(chosen, *merged(snapshots, self._plan))
        except BaseException:
            self._store.abandon_merge()
            raise
        self.error = None

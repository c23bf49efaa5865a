"""What was odd about the events of a monitor, for warnings about one call, or about all calls of a stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.engine.misnamed import absent
from tocsin.engine.notices import notices_of
from tocsin.engine.seen import Seen
from tocsin.language.nearest import nearest
from tocsin.model.subscription import Notice
from tocsin.monitor.fences.notes import Tally
from tocsin.monitor.terms.registry import TermRegistry
from tocsin.records.chunks import Chunk
from tocsin.segment import Snapshots
from tocsin.spelling import option


class MonitorNotes:
    """Counts of odd events, with their first rows. `Monitor.notes` makes them."""

    def __init__(self, time: str | None, key: tuple[str, ...]) -> None:
        self._time, self._key = time, key
        self.seen = Seen()
        self.late, self.ahead, self._without_time = Tally(), Tally(), Tally()
        self._with_time = self._with_key = 0
        self._announced: set[str] = set()

    def see(self, chunk: Chunk, batch: EventBatch, has_time: NDArray[np.bool_], has_key: NDArray[np.bool_]) -> None:
        """Note a batch, and which of its events have an instant and a key."""
        self.seen.add(chunk, [batch])
        self._with_time += int(has_time.sum())
        self._with_key += int(has_key.sum())
        self._without_time.add_all(batch.rows[~has_time & has_key])

    def notices(self, snapshots: Snapshots, registry: TermRegistry) -> list[Notice]:
        """The warnings about these events, and about conditions that none of them can satisfy."""
        self.seen.finish()
        return [
            *self._of_key(),
            *self._of_time(),
            *self._counted().values(),
            *notices_of(snapshots, self.seen),
            *registry.notices(self.seen),
        ]

    def news(self) -> list[Notice]:
        """The warnings about events of a kind that no event had when this was last called."""
        found = {kind: notice for kind, notice in self._counted().items() if kind not in self._announced}
        self._announced.update(found)
        return list(found.values())

    def _of_key(self) -> Iterator[Notice]:
        if self.seen.events and not self._with_key:
            names = self.seen.names()
            yield from (absent(option("key", one), one, self.seen) for one in self._key if one not in names)

    def _of_time(self) -> Iterator[Notice]:
        if self._time is None or self._with_time or not self._without_time:
            return
        near = nearest(self._time, self.seen.names())
        meant = f"; did you mean {near}?" if near else ""
        about = option("time", self._time)
        yield Notice(self._time, about, f"no event has {self._time} as an instant{meant}", 0, None)

    def _counted(self) -> dict[str, Notice]:
        about = option("time", self._time or "")
        kinds = {
            "without": (self._without_time, "ignored: without a time that can be read"),
            "late": (self.late, "ignored: older than what was processed of the same object"),
            "ahead": (self.ahead, "far ahead of all others; their times move their own objects alone"),
        }
        return {
            kind: Notice(self._time or "", about, f"{tally} {reason}", 0, None)
            for kind, (tally, reason) in kinds.items()
            if tally
        }

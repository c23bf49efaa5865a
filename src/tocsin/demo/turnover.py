"""Hourly changes of the alerts: inserts, deletions, rescores and updates with versions, drawn from waiting alerts.

The same seed makes the same changes. Each hour's changes are one file. The last change raises the score of `CLOCK`, an
alert that matches every flight, so each answer shows which hour's subscriptions it used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from tocsin.demo.alerts import Alert
from tocsin.records.changes import DELETE, INSERT, RESCORE, UPDATE

CLOCK: Final = Alert(id="the-clock", where="month >= 1", score=0.0)
"""Its score is the number of the last hour of changes that was applied."""

OF_AN_HOUR: Final = {INSERT: 40, DELETE: 30, RESCORE: 20, UPDATE: 10}
"""The number of changes of each kind."""

Change = dict[str, Any]
"""A record in the form that `spark.follow` takes."""


class Turnover:
    """Makes the changes of one hour after another, and tracks the current alerts."""

    def __init__(self, there: Sequence[Alert], waiting: Sequence[Alert], seed: int) -> None:
        self._there = [alert["id"] for alert in there]
        self._wheres = [alert["where"] for alert in there]
        self._waiting = iter(waiting)
        self._rng = random.Random(seed)
        self._hour = 0

    def __len__(self) -> int:
        """The number of current alerts."""
        return len(self._there)

    def hour(self) -> list[Change]:
        """The changes of the next hour; fewer inserts when no alerts are waiting any more."""
        self._hour += 1
        changed = self._rng.sample(range(len(self._there)), min(len(self._there) - 1, _CHANGED))
        records = list(self._changed(changed))
        gone = {at for at, record in zip(changed, records, strict=True) if record["change"] == DELETE}
        self._there = [name for at, name in enumerate(self._there) if at not in gone]
        for alert in islice(self._waiting, OF_AN_HOUR[INSERT]):
            records.append({**self._record(alert["id"], INSERT), "where": alert["where"], "score": alert["score"]})
            self._there.append(alert["id"])
        return [*records, {**self._record(CLOCK["id"], RESCORE), "score": float(self._hour)}]

    def _changed(self, chosen: Sequence[int]) -> Iterator[Change]:
        """Deletions first, then new scores, then new conditions, taken from other alerts."""
        for place, at in enumerate(chosen):
            name = self._there[at]
            if place < OF_AN_HOUR[DELETE]:
                yield self._record(name, DELETE)
            elif place < OF_AN_HOUR[DELETE] + OF_AN_HOUR[RESCORE]:
                yield {**self._record(name, RESCORE), "score": self._score()}
            else:
                yield {**self._record(name, UPDATE), "where": self._rng.choice(self._wheres), "score": self._score()}

    def _record(self, name: str, change: str) -> Change:
        return {"id": name, "change": change, "version": self._hour}

    def _score(self) -> float:
        return round(self._rng.paretovariate(1.5), 2)


_CHANGED: Final = OF_AN_HOUR[DELETE] + OF_AN_HOUR[RESCORE] + OF_AN_HOUR[UPDATE]

"""Matching of events with ranges or shapes, by chains or a scan; all other events go to the index itself.

Indexes find the expressions that a *value* or a box satisfies. For a range a comparison can be TRUE and FALSE at once.
Masks of predicates can express that (`kernels.programs.eager`), and chains test each access predicate by its mask. The
boxes that a shape meets are found beforehand (`columns.meeting`), and masks express them, too.

Cost: the chains are made for the first such event, 3 us an expression. A block of 64 events then takes some ns for each
expression on the chains of its attributes. If most expressions are on these chains, it takes the time of `scan`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tocsin.columns.events.batch import EventBatch
from tocsin.index.alive import Alive, everyone
from tocsin.index.boolean.chains.static import Chained
from tocsin.index.boolean.scan import Scan
from tocsin.index.found import Found
from tocsin.index.once import Once
from tocsin.index.protocols import Best, Matcher

MOST: Final = 0.25
"""If the chains that a block of events walks hold more than this share of all expressions, a scan is faster."""


class ExtentMatching:
    """Matching of a Matcher's expressions with events of any kind. Immutable; threads may share it."""

    def __init__(self, most: float = MOST) -> None:
        self._most = most
        self._scan: Once[Scan] = Once()
        self._chained: Once[Chained] = Once()

    def match(self, matcher: Matcher, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """The matches of a batch that may have ranges or shapes; exact."""
        beside = batch.with_extents()
        if isinstance(matcher, Scan) or not beside.any():
            return matcher.match(batch, alive, best)
        if beside.all():
            return self._of_extents(matcher, batch, alive)
        parts = np.flatnonzero(~beside), np.flatnonzero(beside)
        plain, ranged = (batch.only(part) for part in parts)
        found = matcher.match(plain, alive, best), self._of_extents(matcher, ranged, alive)
        events = np.concatenate([own[one.events] for own, one in zip(parts, found, strict=True)])
        order = np.argsort(events, kind="stable")
        return Found(
            np.searchsorted(events[order], np.arange(len(batch) + 1)),
            np.concatenate([one.subscriptions for one in found])[order],
            sum(one.candidates_examined for one in found),
            sum(one.verified for one in found),
        )

    def _of_extents(self, matcher: Matcher, batch: EventBatch, alive: Alive) -> Found:
        scan = self._scan.get(lambda: Scan.build(matcher.expressions()))
        chained = self._chained.get(lambda: Chained(scan.expressions()))
        if chained.share(batch) > self._most:
            return scan.match(batch, alive)
        return chained.view.match(batch, everyone(len(matcher)) if alive is None else alive)

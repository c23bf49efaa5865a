"""How does an index take events that have ranges? Those are scanned; all others go to the index.

The structures find what a *value* satisfies. Of a range a comparison can be TRUE and FALSE at once, which masks of
predicates can say (`kernels.eager`), and so whatever walks whole expressions.

Cost: an event with a range is that of `scan`, whose arrays are made when the first such event comes.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.batch import EventBatch
from tocsin.index.boolean.scan import Scan
from tocsin.index.once import Once
from tocsin.index.protocols import Alive, Best, Found, Matcher


class RangeMatching:
    """A Matcher's expressions on events of any kind. Immutable, safe to share between threads."""

    def __init__(self) -> None:
        self._scan: Once[Scan] = Once()

    def match(self, matcher: Matcher, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        """What the matcher is to find in a batch, which may have ranges; exact."""
        with_ranges = batch.with_ranges()
        if isinstance(matcher, Scan) or not with_ranges.any():
            return matcher.match(batch, alive, best)
        scan = self._scan.get(lambda: Scan.build(matcher.expressions()))
        if with_ranges.all():
            return scan.match(batch, alive, best)
        parts = np.flatnonzero(~with_ranges), np.flatnonzero(with_ranges)
        found = matcher.match(batch.only(parts[0]), alive, best), scan.match(batch.only(parts[1]), alive, best)
        events = np.concatenate([own[one.events] for own, one in zip(parts, found, strict=True)])
        order = np.argsort(events, kind="stable")
        return Found(
            np.searchsorted(events[order], np.arange(len(batch) + 1)),
            np.concatenate([one.subscriptions for one in found])[order],
            sum(one.candidates_examined for one in found),
            sum(one.verified for one in found),
        )

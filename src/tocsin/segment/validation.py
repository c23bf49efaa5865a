"""Do the parts of a mapped segment fit each other? What its index holds, the index has checked itself."""

from __future__ import annotations

import numpy as np

from tocsin.columns.expressions.checks import ascending, require
from tocsin.segment.segment import Segment


def check_segment(segment: Segment) -> None:
    """Raise `ValueError` unless ids, scores, texts and index tell of the same subscriptions."""
    count = len(segment.scores)
    require(len(segment.matcher) == count == len(segment.sources) == len(segment.ids), "its parts differ in length")
    require(segment.payloads is None or len(segment.payloads) == count, "its payloads are too many or too few")
    require(segment.weights is None or len(segment.weights) == count, "its weights are too many or too few")
    require(segment.alive is None or len(segment.alive) == count // 64 + 1, "it does not say who is alive")
    require(np.isfinite(segment.scores).all(), "a score is not finite")
    require(ascending(segment.ids), "its ids are not in order")

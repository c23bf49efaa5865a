"""The texts of subscriptions, for warnings that take an evaluation of their conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tocsin.index import Part
from tocsin.index.alive import are_alive
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import Snapshot


def texts_of_part(part: Part) -> Iterator[tuple[SubscriptionId, str]]:
    """The ids and texts of subscriptions in columns."""
    for number in range(len(part)):
        yield part.ids[number].as_py(), part.sources[number].as_py()


def texts_of_all(sources: Iterable[Snapshot]) -> Iterator[tuple[SubscriptionId, str]]:
    """The ids and texts of the live subscriptions of an index."""
    for one in sources:
        for first, stop in one.spans():
            part = one.part_of((first, stop))
            if one.alive is not None:
                part = part.only(np.flatnonzero(are_alive(one.alive, np.arange(first, stop))))
            yield from texts_of_part(part)

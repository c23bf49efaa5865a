"""How often do events on Spark have each attribute, and with which values? Each task counts, the driver adds up."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import InvalidInput
from tocsin.index import Statistics, sampled
from tocsin.index.statistics import shares_in, together
from tocsin.index.texts import with_texts
from tocsin.spark.answering import MatchOptions, encoded_events
from tocsin.spark.asking import asked_of, plain
from tocsin.spark.placing import checked_sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterable[pa.RecordBatch]


def statistics(
    events: DataFrame, *, attributes: list[str] | None = None, json: str | None = None, sample: int = 10_000
) -> Statistics:
    """Statistics of events, which are as `match` has them, for `compile` and `plan`; they stay true of such events.

    All events are counted; values are those of the first `sample` of each task. Runs a job. Raises `InvalidInput` where
    there is no event.
    """
    checked_sample(sample)
    asked = asked_of(events, attributes, json=json)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        own = (batch.rename_columns(list(asked.columns)) for batch in batches if batch.num_rows)
        found = pickle.dumps(counted(own, asked, sample))
        yield pa.RecordBatch.from_arrays([pa.array([found], pa.binary())], ["counted"])

    rows = plain(events, list(asked.columns)).mapInArrow(run, "counted binary").collect()
    several = [one for row in rows if (one := pickle.loads(row.counted)).events]  # by our own tasks
    if not several:
        raise InvalidInput("there is no event to count; without statistics they are estimated from the subscriptions")
    return together(several)


def counted(batches: Batches, asked: MatchOptions, sample: int) -> Statistics:
    """Statistics of some batches of events, values of the first `sample` of them."""
    wanted, shares, first = Wanted(None), list[Statistics](), list[EventBatch]()
    for batch in batches:
        for one in encoded_events(batch, asked, wanted)[0]:
            events = with_texts(one, wanted)
            left = sample - sum(len(other) for other in first)
            if left > 0:
                first.append(events if len(events) <= left else events.only(np.arange(left)))
            if len(events):
                shares.append(Statistics(shares_in([events]), "", len(events)))
    if not shares:
        return Statistics({}, "", 0)
    whole = together(shares)
    return replace(whole, values=sampled(first).values)

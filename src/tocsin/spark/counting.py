"""Statistics of events on Spark, counted in the tasks and added up in the driver."""

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
    """Count how often events have each attribute and value, for `compile` and `plan`.

    Parameters
    ----------
    events
        As in `tocsin.spark.match`.
    attributes
        As in `tocsin.spark.match`.
    json
        As in `tocsin.spark.match`.
    sample : int
        The number of events of each task whose values are kept. All events are counted.

    Returns
    -------
    Statistics
        Statistics that hold for later events of the same kind.

    Raises
    ------
    InvalidInput
        If there are no events, or options do not fit the columns.

    Notes
    -----
    Runs a job.
    """
    checked_sample(sample)
    asked = asked_of(events, attributes, json=json)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        own = (batch.rename_columns(list(asked.columns)) for batch in batches if batch.num_rows)
        found = pickle.dumps(counted(own, asked, sample))
        yield pa.RecordBatch.from_arrays([pa.array([found], pa.binary())], ["counted"])

    rows = plain(events, list(asked.columns)).mapInArrow(run, "counted binary").collect()
    several = [one for row in rows if (one := pickle.loads(row.counted)).events]  # pickled by our own tasks
    if not several:
        raise InvalidInput("there is no event to count; leave statistics out to estimate them from the subscriptions")
    return together(several)


def counted(batches: Batches, asked: MatchOptions, sample: int) -> Statistics:
    """Statistics of batches of events, with values from the first `sample` events."""
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

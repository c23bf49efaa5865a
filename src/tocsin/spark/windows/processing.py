"""The adapter for Spark's `transformWithState`: turns rows into packets, and Spark's state into named chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tocsin.spark.windows.answering import Answer, answer
from tocsin.spark.windows.keeping import Kept
from tocsin.spark.windows.merging import Home, Reported, answers_by_home, by_home
from tocsin.spark.windows.packets import SEAT, Packet, bytes_of, table_of
from tocsin.spark.windows.seats import seats
from tocsin.spark.windows.settings import Settings
from tocsin.spark.workers import settle

if TYPE_CHECKING:
    import pandas as pd


class Processor(StatefulProcessor):
    """Keeps the windows of partitions."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._partitions = {seat: partition for partition, seat in enumerate(seats(settings.partitions))}

    def init(self, handle: Any) -> None:
        """Open the only state, a map for each partition."""
        self._chunks = StateChunks(handle.getMapState("chunks", "name string", "data binary"))

    def handleInitialState(self, key: Any, initialState: pd.DataFrame, timerValues: Any) -> None:  # noqa: N802, N803
        """Store the subscriptions, before the first micro-batch of a query."""
        kept = Kept(self._chunks)
        for row in initialState.itertuples(index=False):
            kept.give(int(row.place), bytes(row.data))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Process a micro-batch of a partition."""
        given = [row for frame in rows for row in frame.itertuples(index=False)]
        packets = [Packet.of(row) for row in sorted(given, key=lambda row: row.place)]
        partition = self._partitions[int(key[0])]
        done = answer(partition, packets, Kept(self._chunks), self._settings)
        if self._settings.has_homes:
            if len(reports := _reports(partition, done, self._settings)):
                yield reports
        else:
            yield from (_frame(table) for table in done.tables if table.num_rows)
        settle()

    def close(self) -> None:
        """Nothing to close."""


class HomeProcessor(StatefulProcessor):
    """Merges the lists of subscriptions with several copies, and passes on all other answers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: Any) -> None:
        """Open the only state, a map for each home."""
        self._chunks = StateChunks(handle.getMapState("lists", "name string", "data binary"))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Process what all partitions report to a home."""
        given = [row for frame in rows for row in frame.itertuples(index=False)]
        tables = [table_of(row.answered) for row in given if row.answered is not None]
        reports = [Reported(table_of(row.reported), int(row.taken)) for row in given if row.reported is not None]
        told = Home(self._chunks, self._settings).answered(tables, reports)
        if told.num_rows:
            yield _frame(told)
        settle()

    def close(self) -> None:
        """Nothing to close."""


class StateChunks:
    """Chunks in a map of Spark's state."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, name: str) -> bytes | None:
        found = self._state.getValue((name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, data: bytes) -> None:
        self._state.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        self._state.removeKey((name,))


def _reports(partition: int, done: Answer, settings: Settings) -> pd.DataFrame:
    """Rows of REPORTS: one for each home with something to merge or to pass on."""
    import pandas as pd

    answered = answers_by_home(done.tables, partition, settings.partitions)
    merged = by_home(pa.concat_tables(done.reported), settings.partitions) if done.reported else {}
    homes = sorted({*answered, *merged})
    places = seats(settings.partitions)
    return pd.DataFrame(
        {
            SEAT: pd.Series([places[home] for home in homes], dtype="int32"),
            "taken": pd.Series([done.taken] * len(homes), dtype="int64"),
            "answered": pd.Series(
                [bytes_of(answered[home]) if home in answered else None for home in homes], dtype=object
            ),
            "reported": pd.Series([bytes_of(merged[home]) if home in merged else None for home in homes], dtype=object),
        }
    )


def _frame(table: pa.Table) -> pd.DataFrame:
    """A table for pandas, with Arrow columns. Spark requires lists as Python objects."""
    import pandas as pd

    frame = table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype)
    for field in table.schema:
        if pa.types.is_list(field.type):
            frame[field.name] = pd.Series(table[field.name].to_pylist(), dtype=object)
    return frame

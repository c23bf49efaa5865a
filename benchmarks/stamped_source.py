"""A partitioned Python source for Spark whose events know their time of creation, at a fixed rate.

Event number n exists from `begun + n / rate` on. Its text is a line of a file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from tocsin.spark.workers import settle

_PARTITIONS = 2


class Stamped(DataSource):
    """Options: `rate` (events a second) and `lines` (a file of JSON objects)."""

    @classmethod
    def name(cls) -> str:
        return "stamped"

    def schema(self) -> str:
        return "born double, value string"

    def streamReader(self, schema: Any) -> _Reader:  # noqa: N802
        return _Reader(int(self.options["rate"]), self.options["lines"])


class _Reader(DataSourceStreamReader):
    """A reader that uses the numbers of events as offsets."""

    def __init__(self, rate: int, lines: str) -> None:
        self._rate = rate
        self._lines = lines
        self._begun = time.time()

    def initialOffset(self) -> dict[str, float]:  # noqa: N802
        return {"n": 0, "begun": self._begun}

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, float]:  # noqa: N802
        return {"n": int((time.time() - self._begun) * self._rate), "begun": self._begun}

    def partitions(self, start: dict[str, float], end: dict[str, float]) -> list[InputPartition]:
        edges = np.linspace(start["n"], end["n"], _PARTITIONS + 1).astype(int).tolist()
        return [InputPartition((*pair, end["begun"])) for pair in pairwise(edges)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first, stop, begun = partition.value
        numbers = np.arange(first, stop)
        lines = _lines(self._lines)
        texts = lines.take(pa.array(numbers % len(lines)))
        yield pa.RecordBatch.from_arrays([pa.array(begun + numbers / self._rate), texts], ["born", "value"])
        settle()

    def commit(self, end: Any) -> None:
        """Does nothing, because no state is kept."""


@cache
def _lines(path: str) -> pa.Array:
    return pa.array(Path(path).read_text(encoding="utf-8").splitlines())

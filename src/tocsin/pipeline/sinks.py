"""Sinks of matches: files, exactly once; Kafka, at least once with a key; or the terminal.

A micro-batch has a folder of its own. If it is replayed after a failure, it overwrites the files that it wrote before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tocsin.pipeline.description import End
from tocsin.pipeline.sources import BAD
from tocsin.spark.names import ERROR, MATCHES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Write = Callable[["DataFrame", int], None]
"""Writes the results of a micro-batch."""

_ROWS: Final = 20


def writer_of(sink: End) -> Write:
    """The writer for a sink."""
    if sink.kind == "files":
        return files(Path(sink["path"]), sink["format"])
    if sink.kind == "kafka":
        return _kafka(sink)
    return _console(sink.get("rows", _ROWS))


def files(folder: Path, form: str) -> Write:
    """Writes files of a format into a folder for each micro-batch."""

    def write(rows: DataFrame, number: int) -> None:
        rows.write.mode("overwrite").format(form).save(str(folder / f"batch={number:08d}"))

    return write


def rejects_of(rows: DataFrame, json: str | None) -> DataFrame:
    """The events with an error: `error`, and `event` with the text of a JSON event, or with all its columns.

    `json` names the column of JSON events. A message of Kafka keeps its other columns beside its text.
    """
    from pyspark.sql import functions

    bad = rows.where(functions.col(ERROR).isNotNull())
    names = [name for name in rows.columns if name not in (MATCHES, ERROR)]
    columns = [functions.col(f"`{name.replace('`', '``')}`") for name in names]
    if json is None:
        return bad.select(ERROR, functions.struct(*columns).alias("event"))
    texts = [name for name in (json, BAD) if name in names]
    event = functions.coalesce(*texts).alias("event")
    return bad.select(ERROR, event, *(one for name, one in zip(names, columns, strict=True) if name not in texts))


def _console(most: int) -> Write:
    """Prints the first rows of each micro-batch, as JSON."""

    def write(rows: DataFrame, number: int) -> None:
        from pyspark.sql import functions

        told = rows.limit(most).select(functions.to_json(functions.struct("*")))
        for (line,) in told.collect():
            print(line, flush=True)

    return write


def _kafka(sink: End) -> Write:
    from tocsin.spark import write_kafka

    def write(rows: DataFrame, number: int) -> None:
        write_kafka(
            rows,
            servers=sink["servers"],
            topic=sink["topic"],
            key=sink.get("key"),
            options=sink.get("options", {}),
        )

    return write

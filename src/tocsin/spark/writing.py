"""Writing matches in the workers: each task writes a Parquet file, and the folder appears when all are complete.

From Parquet to Parquet, passing rows through Java costs more than matching; here only counts pass through it. Every
worker must see the folders under the same path.
"""

from __future__ import annotations

import datetime as dt
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tocsin.encoding import Points
from tocsin.errors import InvalidInput
from tocsin.index import question_of
from tocsin.model.ranking import Ranking
from tocsin.records.csv_files import ColumnType
from tocsin.segment import IndexFolder
from tocsin.spark.answering import Given, MatchOptions, counted_answer
from tocsin.spark.asking import asked_of
from tocsin.spark.names import WORK_FIELDS, Counts
from tocsin.spark.parquet import Piece, by_file, columns_of, folders_of, pieces_of, read_events, read_piece
from tocsin.spark.versions import opened, published
from tocsin.spark.workers import Batches, Task, settling
from tocsin.writing import aside, raising_invalid_input

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE: Final = "file"
_WRITTEN: Final = pa.schema([(_FILE, pa.string()), *((name, pa.int64()) for name in WORK_FIELDS)])
_SUCCESS: Final = "_SUCCESS"


class WriteReport(NamedTuple):
    """The counts of what `match_to_parquet` read and wrote.

    Attributes
    ----------
    files : int
        The number of files that were written.
    events : int
        The number of events.
    matches : int
        The number of matches.
    rejected : int
        Events that were rejected whole.
    reported : int
        Events with an error, whole or of one attribute.
    candidates : int
        Pairs of event and subscription that no index ruled out.
    verified : int
        Candidates whose expression was evaluated.
    version : str
        The version of the index.
    """

    files: int
    events: int
    matches: int
    rejected: int
    reported: int
    candidates: int
    verified: int
    version: str


def match_to_parquet(
    session: SparkSession,
    path: str | Path,
    index: str | Path,
    out: str | Path,
    *,
    columns: list[str] | None = None,
    attributes: list[str] | None = None,
    ranking: Ranking | None = None,
    explode: bool = False,
    event_id: str | None = None,
    json: str | None = None,
    schema: Mapping[str, ColumnType] | None = None,
    points: Points | None = None,
    overwrite: bool = False,
    now: dt.datetime | str | None = None,
) -> WriteReport:
    """Match the events of Parquet files into Parquet files, which workers read and write themselves.

    The rows are those of `match_parquet`, but none passes through Java.

    Parameters
    ----------
    session
        As in `tocsin.spark.match_parquet`.
    path
        As in `tocsin.spark.match_parquet`.
    index
        As in `tocsin.spark.match`.
    out : str or Path
        A new folder. It appears when everything is written, with `_SUCCESS` in it.
    columns
        As in `tocsin.spark.match_parquet`.
    attributes
        As in `tocsin.spark.match`.
    ranking
        As in `tocsin.spark.match`.
    explode
        As in `tocsin.spark.match`.
    event_id
        As in `tocsin.spark.match`.
    json
        As in `tocsin.spark.match`.
    schema
        As in `tocsin.spark.match`.
    points
        As in `tocsin.spark.match`.
    overwrite : bool
        Whether `out` replaces an existing folder.
    now
        As in `tocsin.spark.match`.

    Returns
    -------
    WriteReport
        The counts.

    Raises
    ------
    InvalidInput
        For paths that cannot be read or written, or if options do not fit the columns.
    SegmentError
        If there is no valid index.

    Notes
    -----
    A retried task writes the same file. A run that fails or is killed leaves the existing folder, and beside it a
    folder `out.<hex>.part`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    folder = published(index)
    question_of(ranking)  # raises an error for an unknown ranking
    place = _checked_place(Path(out).absolute(), overwrite=overwrite)
    events = read_events(session, path, columns)
    asked = asked_of(
        *(events, attributes, ranking),
        event_id=event_id,
        json=json,
        explode=explode,
        schema=schema,
        points=points,
        now=now or dt.datetime.now(dt.UTC),
    )
    asked = by_file(asked, all_columns=attributes is None and columns is None)
    asked = replace(asked, folders=folders_of(path))
    numbers, pieces = pieces_of(session, path)
    types = to_arrow_schema(events.schema, timezone="UTC")
    beside = place.with_name(f"{place.name}.{uuid.uuid4().hex[:8]}.part")
    write = settling(_writer(folder, asked, types, pieces, beside))
    with raising_invalid_input(place):
        beside.mkdir(parents=True)
    try:
        written = numbers.mapInArrow(write, from_arrow_schema(_WRITTEN)).toArrow()
        with raising_invalid_input(place):
            _publish(beside, place, set(written[_FILE].to_pylist()))
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    sums = [int(pc.sum(written[name], min_count=0).as_py()) for name in WORK_FIELDS]
    return WriteReport._make([len(written), *sums, folder.version])


def _checked_place(out: Path, *, overwrite: bool) -> Path:
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"cannot write {out}: it is a file; give the name of a folder")
    if out.exists() and not overwrite and any(out.iterdir()):
        raise InvalidInput(f"{out} is there already; give another folder, or overwrite=True")
    return out


def _writer(folder: IndexFolder, asked: MatchOptions, types: pa.Schema, pieces: Sequence[Piece], out: Path) -> Task:
    """The task: reads its pieces, writes a file for each, and returns the counts."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        snapshots = opened(folder)
        wanted = columns_of(types, asked)
        empty = pa.RecordBatch.from_pylist([], schema=wanted)
        nothing = counted_answer(Given(empty, empty), asked, snapshots)[0].schema
        for batch in batches:
            for number in batch.column(0).to_pylist():
                name = f"part-{number:05d}.parquet"
                given = read_piece(pieces[number], wanted, asked)
                answers = (counted_answer(one, asked, snapshots) for one in given)
                with raising_invalid_input(out / name):
                    counts = _write(out / name, nothing, answers)
                yield pa.RecordBatch.from_arrays([pa.array([one]) for one in (name, *counts)], schema=_WRITTEN)

    return run


def _write(place: Path, schema: pa.Schema, answers: Iterable[tuple[pa.RecordBatch, Counts]]) -> NDArray[np.int64]:
    """Write a file atomically; returns the sums of its counts."""
    total = np.zeros(len(WORK_FIELDS), np.int64)
    with aside(place) as beside, pq.ParquetWriter(beside, schema, compression="zstd") as file:
        for rows, counts in answers:
            file.write_batch(rows)
            total += counts
    return total


def _publish(written: Path, out: Path, names: set[str]) -> None:
    """Put a folder in the place of an existing one, without files left by killed tasks."""
    for left in written.iterdir():
        if left.name not in names:
            left.unlink()
    (written / _SUCCESS).touch()
    if not out.exists():
        written.rename(out)
        return
    before = out.with_name(f"{written.name}.before")
    out.rename(before)
    try:
        written.rename(out)
    except OSError:
        before.rename(out)
        raise
    shutil.rmtree(before, ignore_errors=True)

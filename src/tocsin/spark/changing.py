"""Changing the subscriptions of an index while events are matched, by a table or a stream of changes.

Each batch of changes becomes a version of the index: a small part with the new subscriptions, and tombstones for the
deleted ones. One task does this, with the parts memory-mapped. The versions of changes decide which change of an id
counts. So a batch that is applied twice after a failure changes nothing more.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.index import Plan, Statistics, choose
from tocsin.records.changes import REQUIRED, read_changes
from tocsin.segment import IndexFolder
from tocsin.segment.amending import KEEP_S, Amendment, amend
from tocsin.segment.compacting import compact, is_due
from tocsin.segment.folder import local_folder, saved_statistics
from tocsin.segment.storage import MANIFEST
from tocsin.spark.compiling import REJECTS, write_rejects
from tocsin.spark.names import CHANGE_FIELDS
from tocsin.spark.schemas import AMENDED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOG: Final = logging.getLogger(__name__)
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """The outcome of a batch of changes.

    Attributes
    ----------
    version : str
        The version of the index that has them all.
    inserted, updated, deleted, rescored : int
        The numbers of changes that were applied.
    superseded : int
        Changes without an effect, because of a later change of their id.
    rejected : int
        Changes that could not be applied.
    rejects : str or None
        A folder of Parquet with these (id, field, reason); None if there are none.
    merge_due : bool
        Whether the index has many small parts, so that `merge` is worth its cost.
    """

    version: str
    inserted: int
    updated: int
    deleted: int
    rescored: int
    superseded: int
    rejected: int
    rejects: str | None
    merge_due: bool


def update(
    changes: DataFrame,
    path: str | Path,
    *,
    index: str = "auto",
    statistics: Statistics | None = None,
    rejects: str | Path | None = None,
    keep_s: float = KEEP_S,
) -> UpdateReport:
    """Apply a table of changes of subscriptions to an index folder; a folder without an index becomes one.

    All changes are in the next version of the index, or none is.

    Parameters
    ----------
    changes : pyspark.sql.DataFrame
        Columns `id`, `change` ("insert", "update", "delete" or "rescore"), `version` (integer), and `where` or
        `predicates`, `score` and `weights` as in `compile`.
    path : str or Path
        The folder, which driver and workers share.
    index : str
        The structure for new subscriptions, with options in parentheses.
    statistics : Statistics, optional
        How often events have each attribute and value. Default: those saved with the index.
    rejects : str or Path, optional
        The folder for changes that cannot be applied. Default: `rejects/` in the index.
    keep_s : float
        How many seconds an older version stays for readers.

    Returns
    -------
    UpdateReport
        The counts and the version.

    Raises
    ------
    InvalidInput
        For missing columns, or for ids of another kind than the index has.

    Notes
    -----
    Of two changes of an id the one with the higher version is later, in whatever order they arrive. An insert of an
    existing id, and an update of a missing one, store the subscription all the same. Runs one job of one task.
    """
    amender = amender_of(path, index, statistics, rejects, keep_s)
    return amender.run(changes, f"update-{uuid.uuid4().hex[:12]}")


def follow(
    changes: DataFrame,
    path: str | Path,
    *,
    checkpoint: str | Path,
    index: str = "auto",
    statistics: Statistics | None = None,
    rejects: str | Path | None = None,
    keep_s: float = KEEP_S,
    trigger: Mapping[str, str | bool] | None = None,
    name: str | None = None,
    look: Callable[[UpdateReport], None] | None = None,
) -> StreamingQuery:
    """Apply a stream of changes to an index folder, each micro-batch as by `update`, while others match against it.

    The index exists when this returns. Restarted with its checkpoint, the query resumes.

    Parameters
    ----------
    changes : pyspark.sql.DataFrame
        A streaming DataFrame with the columns of `update`.
    path
        As in `tocsin.spark.update`.
    checkpoint : str or Path
        The folder for the query's checkpoint.
    index
        As in `tocsin.spark.update`.
    statistics
        As in `tocsin.spark.update`.
    rejects
        As in `tocsin.spark.update`.
    keep_s
        As in `tocsin.spark.update`.
    trigger : mapping, optional
        Arguments of `DataStreamWriter.trigger`: `{"processingTime": "10 seconds"}`.
    name : str, optional
        The name of the query.
    look : callable, optional
        Called with the `UpdateReport` of each micro-batch.

    Returns
    -------
    pyspark.sql.streaming.StreamingQuery
        The running query.

    Raises
    ------
    InvalidInput
        For missing columns or invalid options.

    Notes
    -----
    Changes that are applied twice have no further effect. Small parts are merged in the background, by jobs of one
    task.
    """
    amender = amender_of(path, index, statistics, rejects, keep_s)
    return followed(changes, amender, checkpoint=checkpoint, trigger=trigger, name=name, look=look)


def followed(
    changes: DataFrame,
    amender: Amender,
    *,
    checkpoint: str | Path,
    trigger: Mapping[str, str | bool] | None = None,
    name: str | None = None,
    look: Callable[[UpdateReport], None] | None = None,
) -> StreamingQuery:
    """Apply a stream of changes by an amender: `follow` with its options in one object."""
    _checked(changes)
    amender.begin(changes)
    merging = _Merging(amender)

    def take(batch: DataFrame, number: int) -> None:
        report = amender.run(batch, f"batch-{number:08d}")
        if look is not None:
            look(report)
        if report.merge_due:
            merging.wake(batch.sparkSession)

    writer = changes.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    writer = writer if name is None else writer.queryName(name)
    return (writer.trigger(**trigger) if trigger else writer).start()  # type: ignore[arg-type]


def merge(session: SparkSession, path: str | Path, *, index: str = "auto", keep_s: float = KEEP_S) -> int:
    """Merge the small parts of an index until few are left.

    Other processes may match against the index, and change it, meanwhile.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session.
    path
        As in `tocsin.spark.update`.
    index
        As in `tocsin.spark.update`.
    keep_s
        As in `tocsin.spark.update`.

    Returns
    -------
    int
        The number of merges.

    Raises
    ------
    InvalidInput
        For an unknown `index`. A folder without a valid index fails the job.

    Notes
    -----
    Runs a job of one task.
    """
    return _merge(session, local_folder(path), choose(index, saved_statistics(path)), keep_s)


def _merge(session: SparkSession, folder: Path, plan: Plan, keep_s: float) -> int:
    def run(_: Batches) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays([pa.array([compact(folder, plan, keep_s=keep_s)])], ["merges"])

    (row,) = session.range(1).coalesce(1).mapInArrow(run, "merges bigint").collect()
    return int(row.merges)


def _checked(changes: DataFrame) -> list[str]:
    """The columns of changes; raises `InvalidInput` if one is missing."""
    chosen: list[str] = [name for name in CHANGE_FIELDS if name in changes.columns]
    missing = [name for name in REQUIRED if name not in chosen]
    if missing:
        raise InvalidInput(
            f"changes need the columns {', '.join(REQUIRED)}; {missing[0]} is missing of {changes.columns}"
        )
    return chosen


def amender_of(
    path: str | Path, index: str, statistics: Statistics | None, rejects: str | Path | None, keep_s: float
) -> Amender:
    """Uses the statistics saved with the index, unless others are given."""
    folder = local_folder(path)
    plan = choose(index, saved_statistics(folder, statistics))
    return Amender(folder, plan, folder / REJECTS if rejects is None else Path(rejects).absolute(), keep_s)


@dataclass(frozen=True, slots=True)
class Amender:
    """Applies tables of changes to an index; sent to the tasks."""

    folder: Path
    plan: Plan
    rejects: Path
    keep_s: float
    as_json: bool = False  # whether rejects are JSON lines; else they are Parquet

    def begin(self, changes: DataFrame) -> None:
        """Create an empty index if there is none."""
        from pyspark.sql.types import IntegralType

        if not (self.folder / MANIFEST).exists():
            kind = pa.int64() if isinstance(changes.schema["id"].dataType, IntegralType) else pa.string()
            types = {"id": kind, "change": pa.string(), "version": pa.int64()}
            nothing = pa.table({name: pa.array([], one) for name, one in types.items()})
            amend(self.folder, read_changes(nothing), self.plan, keep_s=self.keep_s)

    def run(self, changes: DataFrame, name: str) -> UpdateReport:
        """Apply a table of changes in one task; `name` names the file of its rejects."""

        def task(batches: Batches) -> Iterator[pa.RecordBatch]:
            given = list(batches)
            yield self.amended(pa.Table.from_batches(given) if given else None, name)

        chosen = changes.select(*_checked(changes)).coalesce(1)
        rows = chosen.mapInArrow(task, AMENDED).collect()
        return UpdateReport(**rows[0].asDict())

    def amended(self, table: pa.Table | None, name: str) -> pa.RecordBatch:
        """Apply a table of changes; returns a row of AMENDED."""
        if table is None:
            done = Amendment(IndexFolder.read(self.folder).version)
        else:
            done = amend(self.folder, read_changes(table), self.plan, keep_s=self.keep_s)
        if done.rejects:
            write_rejects(done.rejects, self.rejects, name, as_json=self.as_json)
        row = {one: getattr(done, one) for one in AMENDED.names if hasattr(done, one)}
        row["rejected"], row["rejects"] = len(done.rejects), str(self.rejects) if done.rejects else None
        row["merge_due"] = is_due(self.folder)
        return pa.RecordBatch.from_arrays([pa.array([row[one]]) for one in AMENDED.names], AMENDED.names)


class _Merging:
    """Merges in the background, one merge at a time."""

    def __init__(self, amender: Amender) -> None:
        self._amender = amender
        self._thread: threading.Thread | None = None

    def wake(self, session: SparkSession) -> None:
        """Start merging, unless a merge is running."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, args=(session,), name="tocsin-merge", daemon=True)
            self._thread.start()

    def _run(self, session: SparkSession) -> None:
        try:
            _merge(session, self._amender.folder, self._amender.plan, self._amender.keep_s)
        except Exception as error:  # the small parts stay; the next micro-batch tries again  # noqa: BLE001
            if session.sparkContext._jsc is not None and "SparkContext was shut down" not in str(error):
                _LOG.exception("parts of %s could not be merged", self._amender.folder)

"""How do subscriptions change while events are matched? By changes, a table or a stream of them, into the same index.

Each batch of changes is a version of the index: a small part for what is new, notes for what is gone. One task does it,
where the parts are mapped already. Which change of an id counts is told by its version, so a batch that is taken twice
after a failure changes nothing more.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.index import Plan, Statistics
from tocsin.planner import choose
from tocsin.records.changes import REQUIRED, read_changes
from tocsin.segment import IndexFolder
from tocsin.segment.amending import KEEP_S, Amendment, amend
from tocsin.segment.compacting import compact, is_due
from tocsin.segment.folder import saved_statistics
from tocsin.segment.storage import MANIFEST
from tocsin.spark.compiling import REJECTS, write_rejects
from tocsin.spark.names import CHANGE_FIELDS
from tocsin.spark.schemas import AMENDED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_LOG: Final = logging.getLogger(__name__)
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What became of some changes. `version` has them all.

    `superseded` are those that a later change of their id had made idle. `rejects` is a folder of Parquet (id, field,
    reason), None when all could be taken; `merge_due` says that the index has many small parts.
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
    """Take changes of subscriptions into an index folder; a folder that holds no index becomes one.

    Columns: `id`, `change` (`insert`, `update`, `delete` or `rescore`), `version` (integer: of one id the higher is
    the later, in whatever order they come), and `where` or `predicates`, `score`, `weights` as `compile` has them. An
    insert of an id that is there, and an update of one that is not, put the subscription there all the same. All
    changes are in the next version, or none is. What cannot be taken is written to `rejects`, a folder (`rejects/` of
    the index, unless it is named), and the rest is taken. Versions younger than `keep_s` seconds stay for readers.

    Runs one job of one task. Raises `InvalidInput` on missing columns, or on ids of another kind than the index has.
    """
    amender = _amender(path, index, statistics, rejects, keep_s)
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
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    look: Callable[[UpdateReport], None] | None = None,
) -> StreamingQuery:
    """Take a stream of changes into an index folder, each micro-batch as `update` does, while others match against it.

    Started again with its checkpoint, it goes on where it was; what it takes twice changes nothing. Small parts are
    merged in the background, by jobs of one task. `trigger` is as `DataStreamWriter.trigger` has it, `name` is the
    query's; `look` gets the report of each micro-batch. The index is there when this returns.
    """
    amender = _amender(path, index, statistics, rejects, keep_s)
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
    return (writer.trigger(**trigger) if trigger else writer).start()


def merge(session: SparkSession, path: str | Path, *, index: str = "auto", keep_s: float = KEEP_S) -> int:
    """Merge the small parts of an index until there are few, in a job of one task; how many merges it took.

    Others may match against the index, and change it, meanwhile.
    """
    return _merge(session, Path(path).absolute(), choose(index, saved_statistics(path)), keep_s)


def _merge(session: SparkSession, folder: Path, plan: Plan, keep_s: float) -> int:
    def run(_: Batches) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays([pa.array([compact(folder, plan, keep_s=keep_s)])], ["merges"])

    (row,) = session.range(1).coalesce(1).mapInArrow(run, "merges bigint").collect()
    return int(row.merges)


def _checked(changes: DataFrame) -> list[str]:
    """The columns of changes; raises `InvalidInput` where one is missing."""
    chosen = [name for name in CHANGE_FIELDS if name in changes.columns]
    missing = [name for name in REQUIRED if name not in chosen]
    if missing:
        raise InvalidInput(
            f"changes need the columns {', '.join(REQUIRED)}; {missing[0]} is missing of {changes.columns}"
        )
    return chosen


def _amender(
    path: str | Path, index: str, statistics: Statistics | None, rejects: str | Path | None, keep_s: float
) -> Amender:
    """Where nothing is said of the events, by what the index knows of them."""
    folder = Path(path).absolute()
    plan = choose(index, saved_statistics(folder, statistics))
    return Amender(folder, plan, folder / REJECTS if rejects is None else Path(rejects).absolute(), keep_s)


@dataclass(frozen=True, slots=True)
class Amender:
    """Takes tables of changes into an index; goes to the tasks that do."""

    folder: Path
    plan: Plan
    rejects: Path
    keep_s: float

    def begin(self, changes: DataFrame) -> None:
        """Make an index of nothing, where there is none."""
        from pyspark.sql.types import IntegralType

        if not (self.folder / MANIFEST).exists():
            kind = pa.int64() if isinstance(changes.schema["id"].dataType, IntegralType) else pa.string()
            types = {"id": kind, "change": pa.string(), "version": pa.int64()}
            nothing = pa.table({name: pa.array([], one) for name, one in types.items()})
            amend(self.folder, read_changes(nothing), self.plan, keep_s=self.keep_s)

    def run(self, changes: DataFrame, name: str) -> UpdateReport:
        """Take a table of changes, in one task; `name` is that of the file of its rejects."""

        def task(batches: Batches) -> Iterator[pa.RecordBatch]:
            given = list(batches)
            yield self.amended(pa.Table.from_batches(given) if given else None, name)

        chosen = changes.select(*_checked(changes)).coalesce(1)
        rows = chosen.mapInArrow(task, AMENDED).collect()
        return UpdateReport(**rows[0].asDict())

    def amended(self, table: pa.Table | None, name: str) -> pa.RecordBatch:
        """Take a table of changes; returns a row of AMENDED."""
        if table is None:
            done = Amendment(IndexFolder.read(self.folder).version)
        else:
            done = amend(self.folder, read_changes(table), self.plan, keep_s=self.keep_s)
        if done.rejects:
            write_rejects(done.rejects, self.rejects, name)
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
        """Merge what there is to merge, unless that is being done."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, args=(session,), name="tocsin-merge", daemon=True)
            self._thread.start()

    def _run(self, session: SparkSession) -> None:
        try:
            _merge(session, self._amender.folder, self._amender.plan, self._amender.keep_s)
        except Exception as error:  # the index goes on with its small parts; the next micro-batch tries again  # noqa: BLE001
            if session.sparkContext._jsc is not None and "SparkContext was shut down" not in str(error):
                _LOG.exception("parts of %s could not be merged", self._amender.folder)

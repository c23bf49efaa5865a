"""How do subscriptions on Spark become an index? Read, place by a hash of the id, compile each partition, publish.

Each task writes its segment aside and renames it, so that a retried or doubled task does no harm; the manifest that
makes the new version current is written last, by the driver. The folder must be one that driver and workers share.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.columns.arrays import Texts
from tocsin.errors import InvalidInput
from tocsin.index import Plan, Statistics
from tocsin.language import Templates
from tocsin.model.subscription import Reject
from tocsin.planner import choose
from tocsin.records import chunk_of
from tocsin.segment import Publication, SegmentBuilder
from tocsin.segment.folder import part_name, version_folder
from tocsin.segment.publishing import write_part
from tocsin.spark.schemas import COMPILED, PARTITION, SUBSCRIPTION_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REJECTS = "rejects"
_PIECE_ROWS = 8192
_REJECT_SCHEMA = pa.schema([("id", pa.string()), ("field", pa.string()), ("reason", pa.string())])


@dataclass(frozen=True, slots=True)
class CompileReport:
    """What became of the subscriptions. `rejects` is a folder of Parquet (id, field, reason), None when all are in."""

    accepted: int
    rejected: int
    version: str
    rejects: str | None


def compile(
    subscriptions: DataFrame,
    path: str | Path,
    *,
    partitions: int = 8,
    index: str = "auto",
    statistics: Statistics | None = None,
) -> CompileReport:
    """Compile subscriptions into an index folder, one segment a partition.

    Columns: `id` (string or integer), `where` (CQL2 text) or `predicates` (see `Conjunctions`), optionally `score`
    (double) and `weights` (map of string to double); others are ignored. Of several subscriptions with one id the one
    whose text sorts first is kept. A bad subscription is written to the report's `rejects`, and the rest compiled.
    Readers of the version before go on undisturbed. `statistics` of the events to come (`tocsin.sample`) make better
    access keys. Raises `InvalidInput` on missing columns.
    """
    if partitions < 1:
        raise InvalidInput(f"partitions is {partitions}; it must be at least 1")
    plan = choose(index, statistics)
    folder = Path(path).absolute()
    with Publication(folder) as new:
        written = compiled(place(read(subscriptions), partitions), folder, new.version, plan).collect()
        parts = [new.place(row.part) for row in written if row.accepted]
        accepted, rejected = sum(row.accepted for row in written), sum(row.rejected for row in written)
        ids = {row.ids for row in written if row.accepted} or {"string"}
        new.publish(sorted(parts), accepted, ids.pop())
    rejects = str(new.folder / REJECTS) if rejected else None
    return CompileReport(accepted, rejected, new.version, rejects)


def read(subscriptions: DataFrame) -> DataFrame:
    """The columns of subscriptions; integer ids become 64 bits wide."""
    from pyspark.sql import functions
    from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

    if "id" not in subscriptions.columns or not {"where", "predicates"} & set(subscriptions.columns):
        raise InvalidInput(
            f"subscriptions need the columns id and where (or predicates); there are {subscriptions.columns}"
        )
    kind = subscriptions.schema["id"].dataType
    if not isinstance(kind, StringType | ByteType | ShortType | IntegerType | LongType):
        raise InvalidInput(f"the column id is {kind.simpleString()}; ids are strings or integers")
    chosen = subscriptions.select(*(name for name in SUBSCRIPTION_FIELDS if name in subscriptions.columns))
    return chosen if isinstance(kind, StringType) else chosen.withColumn("id", functions.col("id").cast("long"))


def place(subscriptions: DataFrame, partitions: int) -> DataFrame:
    """Give each subscription a partition by a hash of its id, so that equal ids meet."""
    from pyspark.sql import functions

    number = functions.pmod(functions.xxhash64("id"), functions.lit(partitions)).cast("int")
    return subscriptions.withColumn(PARTITION, number).repartitionById(partitions, functions.col(PARTITION))


def compiled(placed: DataFrame, folder: Path, version: str, plan: Plan) -> DataFrame:
    """Write a segment for each partition; a row of counts comes back from each."""
    return placed.mapInArrow(_writer(folder, version, plan), COMPILED)


def _writer(folder: Path, version: str, plan: Plan) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task runs: `compile_partition` on its batches."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled:
            yield compile_partition(pa.Table.from_batches(filled), folder, version, plan)

    return write


def compile_partition(table: pa.Table, folder: Path, version: str, plan: Plan) -> pa.RecordBatch:
    """Compile one partition's subscriptions into its segment; returns a row of COMPILED."""
    number = table[PARTITION][0].as_py()
    ordered = in_order(table.drop_columns([PARTITION]))
    builder, templates = SegmentBuilder(), Templates()
    for first in range(0, ordered.num_rows, _PIECE_ROWS):
        records = ordered.slice(first, _PIECE_ROWS).to_pylist()
        builder.add(chunk_of(enumerate(records, first), templates, []))
    segment = builder.finish(plan)
    if len(segment):
        write_part(folder, version, number, segment)
    if builder.rejects:
        write_rejects(builder.rejects, folder / version_folder(version) / REJECTS, part_name(number))
    kind = "string" if isinstance(segment.ids, Texts) else "int64"
    counts = (len(segment), len(builder.rejects))
    columns = [pa.array([number], pa.int32()), *(pa.array([count]) for count in counts), pa.array([kind])]
    return pa.RecordBatch.from_arrays(columns, names=COMPILED.names)


def in_order(table: pa.Table) -> pa.Table:
    """The rows in an order that does not depend on how Spark laid them: of equal ids the first text is kept."""
    keys = [(name, "ascending") for name in ("id", "where", "score") if name in table.column_names]
    return table.sort_by(keys)


def write_rejects(rejects: list[Reject], folder: Path, name: str) -> None:
    """Write rejects as a Parquet file of a name: again, where a task is tried again."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = [
        pa.array([None if r.id is None else str(r.id) for r in rejects], pa.string()),
        pa.array([r.field for r in rejects], pa.string()),
        pa.array([r.reason for r in rejects], pa.string()),
    ]
    beside = folder / f".{name}.{uuid.uuid4().hex[:8]}"
    pq.write_table(pa.Table.from_arrays(columns, schema=_REJECT_SCHEMA), beside)
    beside.replace(folder / f"{name}.parquet")

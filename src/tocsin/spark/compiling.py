"""Compiling an index on Spark: read subscriptions, place them, compile each partition, publish.

Each task writes its segment to a temporary folder and renames it, so retried or duplicate tasks do no harm. The driver
writes the manifest last, which makes the new version current. Driver and workers must share the folder.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tocsin.columns.arrays import Texts
from tocsin.index import Plan, Statistics, choose
from tocsin.model.subscription import Notice, Reject
from tocsin.placement import HASH, Placement, check_placement, key_set, most_alike, planned
from tocsin.records.extras import Extras
from tocsin.segment import Publication, assemble
from tocsin.segment.folder import local_folder, part_name, saved_statistics, version_folder
from tocsin.segment.placed import Hashes, Placed, Signs
from tocsin.segment.publishing import write_part
from tocsin.spark.names import COPY, FIELD, KEYS, PARTITION, PLACED_NAMES, REASON, SUBSCRIPTION_FIELDS
from tocsin.spark.placing import (
    SUBSCRIPTIONS,
    built,
    by_hash,
    by_placement,
    checked_sample,
    in_order,
    part_of,
    read,
    some_of,
)
from tocsin.spark.schemas import COMPILED
from tocsin.writing import aside

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REJECTS = "rejects"
_REJECT_SCHEMA = pa.schema([("id", pa.string()), ("field", pa.string()), ("reason", pa.string())])


@dataclass(frozen=True, slots=True)
class CompileReport:
    """The outcome of a compilation.

    Attributes
    ----------
    accepted : int
        The number of subscriptions in the index.
    rejected : int
        The number of bad subscriptions.
    version : str
        The version of the index.
    rejects : str or None
        A folder of Parquet with the bad subscriptions (id, field, reason); None if there are none.
    largest : float
        The largest partition's share of all subscriptions, copies included.
    warnings : tuple of Notice
        Warnings about ignored columns.
    """

    accepted: int
    rejected: int
    version: str
    rejects: str | None
    largest: float = 0.0
    warnings: tuple[Notice, ...] = ()


def compile(
    subscriptions: DataFrame,
    path: str | Path,
    *,
    partitions: int = 8,
    index: str = "auto",
    statistics: Statistics | None = None,
    placement: str = HASH,
    sample: int = SUBSCRIPTIONS,
) -> CompileReport:
    """Compile subscriptions into an index folder, one segment per partition.

    Readers of the previous version are not disturbed.

    Parameters
    ----------
    subscriptions : pyspark.sql.DataFrame
        Columns `id` (string or integer), `where` (CQL2 text) or `predicates` (see `Conjunctions`), and optionally
        `score` (double) and `weights` (map of string to double). Other columns are ignored and listed in the warnings.
    path : str or Path
        The folder, which driver and workers share.
    partitions : int
        The number of partitions.
    index : str
        The structure that finds candidates, with options in parentheses. "auto" chooses; answers do not depend on it.
    statistics : Statistics, optional
        How often events have each attribute and value. They are saved with the index. Default: those saved before.
    placement : str
        Which subscriptions share a partition: "hash", "location", "keyword", "prefix", "access" or "auto". `plan`
        predicts what they cost. Events are then matched only against partitions with possible matches.
    sample : int
        The number of subscriptions by which a placement is planned.

    Returns
    -------
    CompileReport
        The counts, the version, and where the rejected subscriptions are.

    Raises
    ------
    InvalidInput
        For missing columns or invalid options.

    Notes
    -----
    Of several subscriptions with one id, the one with the text that sorts first is kept. All placements but "hash" take
    another job, and further partitions for subscriptions that cannot be placed.
    """
    check_placement(placement, partitions)
    folder = local_folder(path)
    plan = choose(index, saved_statistics(folder, statistics))
    rows = read(subscriptions)
    chosen = None if placement == HASH else _placement(rows, partitions, placement, plan, sample)
    with Publication(folder) as new:
        placed = by_hash(rows, partitions) if chosen is None else by_placement(rows, chosen)
        written = compiled(placed, folder, new.version, plan, chosen.name if chosen else HASH).collect()
        parts = [new.place(row.part, None if chosen is None else row.part) for row in written if row.accepted]
        rejected, copies = sum(row.rejected for row in written), sum(row.copies for row in written)
        accepted = sum(row.accepted for row in written) - copies
        ids = {row.ids for row in written if row.accepted} or {"string"}
        by = None if chosen is None else Placed.of(chosen, copies, new.write_placement(chosen))
        known = new.write_statistics(plan.statistics)
        new.publish(sorted(parts), accepted, ids.pop(), placed=by, statistics=known)
    rejects = str(new.folder / REJECTS) if rejected else None
    largest = max((row.accepted for row in written), default=0) / max(accepted + copies, 1)
    return CompileReport(accepted, rejected, new.version, rejects, largest, ignored(subscriptions.columns))


def ignored(columns: Sequence[str]) -> tuple[Notice, ...]:
    """Warnings about columns that are not a subscription's: Spark keeps no payload."""
    extras = Extras(SUBSCRIPTION_FIELDS, what="Spark subscription")
    extras.see(columns)
    return tuple(extras.warnings())


def _placement(rows: DataFrame, partitions: int, name: str, plan: Plan, sample: int) -> Placement | None:
    """The named placement for subscriptions like a sample of these; None for placement by hash."""
    chosen = planned(part_of(some_of(rows, checked_sample(sample))), name, partitions, plan.statistics).placement
    return None if chosen.name == HASH else chosen


def compiled(placed: DataFrame, folder: Path, version: str, plan: Plan, placement: str = HASH) -> DataFrame:
    """Write a segment for each partition; returns a row of counts from each."""
    return placed.mapInArrow(_writer(folder, version, plan, placement), COMPILED)


def _writer(
    folder: Path, version: str, plan: Plan, placement: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The task: `compile_partition` on its batches."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled:
            yield compile_partition(pa.Table.from_batches(filled), folder, version, plan, placement)

    return write


def compile_partition(table: pa.Table, folder: Path, version: str, plan: Plan, placement: str = HASH) -> pa.RecordBatch:
    """Compile the subscriptions of one partition into its segment; returns a row of COMPILED."""
    number = table[PARTITION][0].as_py()
    rows, rejects, keys, copies = undealt(table)
    builder = built(in_order(rows))
    part = builder.part()
    segment = assemble(part, plan)
    rejects += builder.rejects
    if len(segment):
        signs = None if keys is None else Signs(keys, most_alike(placement, part.compiled))
        write_part(folder, version, number, segment, signs=signs)
    if rejects:
        write_rejects(rejects, folder / version_folder(version) / REJECTS, part_name(number))
    kind = "string" if isinstance(segment.ids, Texts) else "int64"
    counts = (len(segment), len(rejects), copies)
    columns = [pa.array([number], pa.int32()), *(pa.array([count]) for count in counts), pa.array([kind])]
    return pa.RecordBatch.from_arrays(columns, names=COMPILED.names)


def undealt(table: pa.Table) -> tuple[pa.Table, list[Reject], Hashes | None, int]:
    """A partition's subscriptions, the placement's rejects, the routing keys, and the number of copies."""
    if KEYS not in table.column_names:
        return table.drop_columns([PARTITION]), [], None, 0
    is_refused = table[REASON].is_valid()
    refused, rows = table.filter(is_refused), table.filter(pc.invert(is_refused))
    given = zip(*(refused[name].to_pylist() for name in ("id", FIELD, REASON)), strict=True)
    rejects = [Reject(row, *about) for row, about in enumerate(given)]
    keys = pc.list_flatten(rows[KEYS]).to_numpy().view(np.uint64)
    return rows.drop_columns(PLACED_NAMES), rejects, key_set(keys), int(pc.sum(rows[COPY]).as_py() or 0)


def write_rejects(rejects: list[Reject], folder: Path, name: str, *, as_json: bool = False) -> None:
    """Write rejects as a named file, Parquet or JSON lines; a retried task replaces it."""
    folder.mkdir(parents=True, exist_ok=True)
    if as_json:
        lines = [json.dumps({"id": r.id, "field": r.field, "reason": r.reason}, ensure_ascii=False) for r in rejects]
        with aside(folder / f"{name}.json") as beside:
            beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="backslashreplace")
        return
    columns = [
        pa.array([None if r.id is None else str(r.id) for r in rejects], pa.string()),
        pa.array([r.field for r in rejects], pa.string()),
        pa.array([r.reason for r in rejects], pa.string()),
    ]
    beside = folder / f".{name}.{uuid.uuid4().hex[:8]}"
    pq.write_table(pa.Table.from_arrays(columns, schema=_REJECT_SCHEMA), beside)
    beside.replace(folder / f"{name}.parquet")

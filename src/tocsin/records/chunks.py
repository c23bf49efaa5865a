"""Chunks of records: thousands of records as objects or as a table, with the rejects found while reading.

Every kind has a length, and `part(first, stop)` gives a range of its records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.model.distinct_keys import DuplicateKey
from tocsin.model.subscription import Reject, shown

CHUNK_ROWS: Final = 16_384
"""Records in a chunk: large enough to share work among its events, small enough to bound memory."""


@dataclass(frozen=True, slots=True)
class ObjectChunk:
    """Records as objects. `done` is the share of the source read so far, None if its size is unknown."""

    records: list[tuple[int, Mapping[str, Any]]]  # row and object
    rejects: list[Reject] = field(default_factory=list)
    done: float | None = None

    def __len__(self) -> int:
        return len(self.records)

    def part(self, first: int, stop: int) -> ObjectChunk:
        rows = [row for row, _ in self.records] if self.rejects else []
        return ObjectChunk(self.records[first:stop], _rejects_between(self.rejects, rows, first, stop), self.done)


@dataclass(frozen=True, slots=True)
class TableChunk:
    """Records as a table. Values marked by `misfits[column]` are present but have no type."""

    table: pa.Table | pa.RecordBatch
    rows: NDArray[np.int64]  # the row number of each record in the source
    misfits: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    done: float | None = None
    others: tuple[str, ...] = ()  # the names of columns that were not read

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, first: int, stop: int) -> TableChunk:
        return TableChunk(
            self.table.slice(first, stop - first),
            self.rows[first:stop],
            {name: where[first:stop] for name, where in self.misfits.items()},
            _rejects_between(self.rejects, self.rows, first, stop),
            self.done,
            self.others,
        )


@dataclass(frozen=True, slots=True)
class LinesChunk:
    """JSON lines that are not parsed yet: line i is `text[starts[i]:stops[i]]`."""

    text: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]  # line numbers as in an editor, from 1
    done: float | None = None
    name: str = ""  # the file's name, if there are several files

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, first: int, stop: int) -> LinesChunk:
        start, end = int(self.starts[first]), int(self.stops[stop - 1])
        return LinesChunk(
            self.text[start:end],
            self.starts[first:stop] - start,
            self.stops[first:stop] - start,
            self.rows[first:stop],
            self.numbers[first:stop],
            self.done,
            self.name,
        )


@dataclass(frozen=True, slots=True)
class SparseChunk:
    """Events as parallel lists of names and values."""

    names: pa.Array
    values: pa.Array
    rows: NDArray[np.int64]
    done: float | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, first: int, stop: int) -> SparseChunk:
        count = stop - first
        return SparseChunk(
            self.names.slice(first, count), self.values.slice(first, count), self.rows[first:stop], self.done
        )


def _rejects_between(
    rejects: list[Reject], rows: Sequence[int] | NDArray[np.int64], first: int, stop: int
) -> list[Reject]:
    """The rejects that belong to a part of a chunk: from its first row up to the first row of the next part."""
    if not rejects:
        return []
    low = rows[first] if first else -math.inf
    high = rows[stop] if stop < len(rows) else math.inf
    return [reject for reject in rejects if low <= reject.row < high]


Chunk: TypeAlias = ObjectChunk | TableChunk | LinesChunk | SparseChunk


def read_objects(source: Iterable[Any], what: str) -> Iterator[ObjectChunk]:
    """Read dicts in chunks; anything else among them is a reject."""
    total = len(source) if isinstance(source, Sized) else None
    given, first = iter(source), 0
    while part := list(islice(given, CHUNK_ROWS)):
        records, rejects = [], []
        for row, record in enumerate(part, first):
            if type(record) is dict or isinstance(record, Mapping):  # the first is ten times as fast
                records.append((row, record))
            else:
                rejects.append(_refused(row, record, what))
        first += len(part)
        yield ObjectChunk(records, rejects, first / total if total else None)


def _refused(row: int, record: object, what: str) -> Reject:
    if isinstance(record, DuplicateKey):
        return Reject(row, None, record.key, str(record))
    return Reject(row, None, "", f"{what} are objects; this is {shown(record)}")


def behind(chunk: Chunk, rows: int, name: str) -> Chunk:
    """Shift the rows of a file's chunk by `rows`, the rows of earlier files. Its rejects name the file."""
    if isinstance(chunk, LinesChunk):
        return replace(chunk, rows=chunk.rows + rows, name=name)
    if isinstance(chunk, SparseChunk):
        return replace(chunk, rows=chunk.rows + rows)
    where = f"{name}: " if name else ""
    rejects = [reject._replace(row=reject.row + rows, reason=where + reject.reason) for reject in chunk.rejects]
    if isinstance(chunk, TableChunk):
        return replace(chunk, rows=chunk.rows + rows, rejects=rejects)
    return replace(chunk, records=[(row + rows, record) for row, record in chunk.records], rejects=rejects)


def rows_to(chunk: Chunk) -> int:
    """The row after the last one of a chunk, including rejects; 0 for an empty chunk."""
    rows = [row for row, _ in chunk.records] if isinstance(chunk, ObjectChunk) else chunk.rows
    rejects = chunk.rejects if isinstance(chunk, ObjectChunk | TableChunk) else []
    return int(max([-1, *(rows[-1:]), *(reject.row for reject in rejects)])) + 1


def pieces(chunks: Iterable[Chunk], size: Callable[[], int]) -> Iterator[Chunk]:
    """Cut chunks into pieces of at most `size()` records. `size` is called for each piece, and `done` grows with it."""
    before = 0.0
    for chunk in chunks:
        first = 0
        while first < len(chunk):
            stop = min(first + size(), len(chunk))
            done = None if chunk.done is None else before + (chunk.done - before) * stop / len(chunk)
            piece = chunk if stop - first == len(chunk) else chunk.part(first, stop)
            yield replace(piece, done=done)
            first = stop
        if not len(chunk):
            yield chunk
        before = chunk.done or before

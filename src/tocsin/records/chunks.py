"""What is a chunk of records? Some thousand of them, as objects or as a table, with what was wrong on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.model.subscription import Reject

CHUNK_ROWS: Final = 16_384
"""Records in a chunk: large enough to share work among its events, small enough to bound memory."""


@dataclass(frozen=True, slots=True)
class ObjectChunk:
    """Records as objects. `done` is the share of the source read so far, None where its size is unknown."""

    records: list[tuple[int, Mapping[str, Any]]]  # row and object
    rejects: list[Reject] = field(default_factory=list)
    done: float | None = None


@dataclass(frozen=True, slots=True)
class TableChunk:
    """Records as a table. Where `misfits[column]` is set, a value is present but of no type."""

    table: pa.Table | pa.RecordBatch
    rows: NDArray[np.int64]  # the row number of each record in the source
    misfits: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    done: float | None = None


@dataclass(frozen=True, slots=True)
class LinesChunk:
    """JSON lines that nobody has parsed yet: line i is `text[starts[i]:stops[i]]`."""

    text: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]  # the number of each line as an editor counts, from 1
    done: float | None = None


@dataclass(frozen=True, slots=True)
class SparseChunk:
    """Events as parallel lists of names and values."""

    names: pa.Array
    values: pa.Array
    rows: NDArray[np.int64]
    done: float | None = None


Chunk: TypeAlias = ObjectChunk | TableChunk | LinesChunk | SparseChunk

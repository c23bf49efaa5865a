"""Tombstones of ids that are in no segment, so that an older change that comes late does not undo a deletion.

If version 5 deletes a subscription, it stays deleted when its version 4 arrives. While a segment has the id, the
segment's changes record the deletion. Otherwise this module does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tocsin.errors import SegmentError
from tocsin.segment.ids import Ids, as_arrow, as_ids, find_ids
from tocsin.segment.part_changes import OLDEST
from tocsin.writing import aside

_COLUMNS: Final = ("id", "version")


class Tombstones(NamedTuple):
    """Deleted ids, sorted, with the versions of their deletions. D of them."""

    ids: Ids
    versions: NDArray[np.int64]  # (D,)

    @classmethod
    def none(cls, kind: pa.DataType) -> Tombstones:
        """No tombstones, for ids of a kind."""
        return cls(as_ids(pa.array([], kind)), np.empty(0, np.int64))

    def __bool__(self) -> bool:
        return bool(len(self.versions))

    def of(self, ids: Ids) -> NDArray[np.int64]:
        """The versions that deleted some ids; OLDEST for ids without a tombstone."""
        below, is_known = find_ids(self.ids, ids)
        versions = np.full(len(is_known), OLDEST)
        versions[is_known] = self.versions[below[is_known]]
        return versions

    def with_more(self, ids: pa.Array, versions: NDArray[np.int64]) -> Tombstones:
        """Add tombstones; the latest of each id is kept."""
        if not len(ids):
            return self
        kind = ids.type
        both = pa.concat_arrays([as_arrow(self.ids).cast(kind), ids])
        given = np.concatenate([self.versions, versions])
        table = pa.table({"id": both, "version": given})
        order = pc.sort_indices(table, [("id", "ascending"), ("version", "ascending")]).to_numpy()
        ordered = both.take(pa.array(order))
        is_last = np.ones(len(order), bool)
        if len(order) > 1:
            is_last[:-1] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
        return Tombstones(as_ids(ordered.filter(pa.array(is_last))), given[order[is_last]])


def write_tombstones(path: Path, tombstones: Tombstones) -> None:
    """Write tombstones as Parquet, atomically."""
    table = pa.table([as_arrow(tombstones.ids), pa.array(tombstones.versions)], list(_COLUMNS))
    with aside(path) as beside:
        pq.write_table(table, beside)


def read_tombstones(path: Path) -> Tombstones:
    """Read tombstones; raises `SegmentError` if they are damaged."""
    try:
        table = pq.read_table(path, columns=list(_COLUMNS), page_checksum_verification=True).combine_chunks()
        ids, versions = table["id"].combine_chunks(), table["version"].to_numpy()
        if versions.dtype != np.int64 or table["version"].null_count or ids.null_count:
            raise ValueError(f"its versions are {table['version'].type}")
        return Tombstones(
            as_ids(ids.cast(pa.int64() if pa.types.is_integer(ids.type) else pa.large_string())), versions
        )
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise SegmentError(f"{path} is damaged or missing: {error}. Compile the index again.") from None

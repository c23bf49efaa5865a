"""Statistics about events, saved with an index: shares of attributes, and values.

They are in a file beside a version's parts, which later versions share. No answer depends on them. They guide compiling
further subscriptions, merging parts and placing changes, unless newer ones are given.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.errors import SegmentError
from tocsin.index import Statistics
from tocsin.index.fields.histogram import COARSEST, FINEST, MOST_CELLS, Histogram
from tocsin.index.fields.kernels.layouts import CELL, ELEMENT
from tocsin.index.statistics import Values, thinned
from tocsin.kernels import codes
from tocsin.writing import aside

_SCHEMA: Final = pa.schema(
    [
        ("attribute", pa.string()),
        ("share", pa.float64()),
        ("seen", pa.int64()),  # sampled events with the attribute; null if values were not sampled
        ("kind", pa.int32()),  # kind of this row's values; null in a row with only the share
        ("payloads", pa.list_(pa.int64())),
        ("texts", pa.list_(pa.string())),
    ]
)
_MOST_VALUES: Final = 10_000
"""The most values of an attribute that are saved. Larger lists are thinned to every second, third ... value."""


def write_statistics(path: Path, statistics: Statistics) -> None:
    """Write statistics as Parquet, atomically."""
    rows = [row for name, share in sorted(statistics.shares.items()) for row in _rows(statistics, name, share)]
    about = {"source": statistics.source, "events": str(statistics.events)}
    table = pa.Table.from_pylist(rows, schema=_SCHEMA.with_metadata(about))
    with aside(path) as beside:
        pq.write_table(table, beside)


def _rows(statistics: Statistics, name: str, share: float) -> list[dict[str, Any]]:
    values = statistics.values.get(name)
    row = {"attribute": name, "share": share}
    if values is None:
        return [row]
    kept = thinned(values, _MOST_VALUES)
    row |= {"seen": kept.events}
    of_kinds = [row | {"kind": kind, "payloads": own.tolist()} for kind, own in sorted(kept.payloads.items())]
    if values.places is not None:
        of_kinds.append(row | {"kind": CELL, "payloads": _of_histogram(values.places)})
    return [row, *of_kinds, *(row | {"kind": kind, "texts": list(own)} for kind, own in sorted(kept.texts.items()))]


def _of_histogram(places: Histogram) -> list[int]:
    """The grid and the number of places, then column, row and count of each cell."""
    cells = np.column_stack([places.cells, places.counts])
    return [places.level, places.events, *cells.reshape(-1).tolist()]


def _histogram(given: list[int]) -> Histogram:
    """Parse a saved histogram; raises `ValueError` if it is invalid."""
    if len(given) < 2 or (len(given) - 2) % 3 or not FINEST <= given[0] <= COARSEST:
        raise ValueError(f"{len(given)} numbers of a histogram on grid {given[:1]}")
    cells = np.array(given[2:], np.int64).reshape(-1, 3)
    counts = cells[:, 2]
    if (counts < 1).any() or int(counts.sum()) > given[1] or len(cells) > MOST_CELLS:
        raise ValueError(f"{len(cells)} cells of a histogram of {given[1]} places")
    return Histogram(given[0], frozen(cells[:, :2], np.int64), frozen(counts, np.int64), given[1])


@lru_cache(maxsize=8)
def read_statistics(path: Path) -> Statistics:
    """Read statistics; raises `SegmentError` if they are damaged. Cached, because a file never changes."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        if table.schema.remove_metadata() != _SCHEMA:
            raise ValueError(f"its columns are {table.schema.names}")
        return _statistics(table.to_pylist(), about)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise SegmentError(f"{path} is damaged or missing: {error}. Compile the index again.") from None


def _statistics(rows: list[dict[str, Any]], about: dict[str, str]) -> Statistics:
    shares, seen = dict[str, float](), dict[str, int]()
    payloads: dict[str, dict[int, NDArray[np.int64]]] = {}
    texts: dict[str, dict[int, list[str]]] = {}
    places = dict[str, Histogram]()
    for row in rows:
        name, kind = row["attribute"], row["kind"]
        if not 0.0 <= row["share"] <= 1.0:
            raise ValueError(f"{row['share']!r:.40} is not a share of events")
        shares[name] = row["share"]
        if row["seen"] is None:
            continue
        if row["seen"] < 1:
            raise ValueError(f"values of {row['seen']} events")
        seen[name] = row["seen"]
        if kind == CELL:
            places[name] = _histogram(row["payloads"])
            continue
        if kind is not None and not 0 <= kind & ~ELEMENT <= codes.INSTANT:
            raise ValueError(f"{kind} is not a kind of values")
        if row["payloads"] is not None:
            payloads.setdefault(name, {})[kind] = np.array(row["payloads"], np.int64)
        if row["texts"] is not None:
            texts.setdefault(name, {})[kind] = row["texts"]
    values = {
        name: Values(count, payloads.get(name, {}), texts.get(name, {}), places.get(name))
        for name, count in seen.items()
    }
    return Statistics(shares, about["source"], max(int(about["events"]), 1), values)

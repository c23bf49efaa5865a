"""What Parquet's types of geometries and GeoArrow's metadata say is in warnings; frames with types that Arrow lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import tocsin
from tocsin.errors import InvalidInput

POINT = shapely.to_wkb(shapely.Point(1, 1))
ASKED = {"id": 1, "where": "S_INTERSECTS(g, BBOX(0, 0, 5, 5))"}


class WellKnownBinary(pa.ExtensionType):
    """GeoArrow's type, of which Arrow's writer makes Parquet's GEOMETRY or GEOGRAPHY."""

    def __init__(self, about: str) -> None:
        self.about = about
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.about.encode()


SYSTEMS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"crs": "srid:25832"}, ["EPSG:25832"]),
    ({"crs": "srid:0"}, []),
    ({"crs": "4326", "crs_type": "srid"}, []),
    ({"crs": {"type": "ProjectedCRS", "name": "x", "id": {"authority": "EPSG", "code": 25832}}}, ["EPSG:25832"]),
    ({"crs": json.dumps({"type": "GeographicCRS", "name": "WGS 84", "id": {"authority": "EPSG", "code": 4326}})}, []),
    ({"edges": "spherical"}, ["its edges are spherical"]),
    ({"edges": "spherical", "crs": "srid:4267"}, ["EPSG:4267", "its edges are spherical"]),
]


@pytest.mark.parametrize(("about", "told"), SYSTEMS)
def test_what_a_column_says_of_itself_is_told(about: dict[str, Any], told: list[str], tmp_path: Path) -> None:
    """By the type in the file alone, and by metadata of the column; the answer is the same."""
    column = pa.ExtensionArray.from_storage(WellKnownBinary(json.dumps(about)), pa.array([POINT, None]))
    pq.write_table(pa.table({"g": column, "k": [1, 2]}), tmp_path / "g.parquet", store_schema=False)
    metadata = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps(about)}
    table = pa.table([column.storage], schema=pa.schema([pa.field("g", pa.binary(), metadata=metadata)]))
    for source in (tmp_path / "g.parquet", table):
        answer = tocsin.match(ASKED, source)
        assert [row["event"] for row in answer] == [0] and not answer.errors
        assert len(answer.warnings) == len(told)
        assert all(words in str(warning) for words, warning in zip(told, answer.warnings, strict=True))


def test_edges_of_geoparquet_are_told() -> None:
    geo = {"version": "1.1.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB", "edges": "spherical"}}}
    table = pa.table({"g": [POINT]}).replace_schema_metadata({"geo": json.dumps(geo)})
    assert "its edges are spherical" in str(tocsin.match(ASKED, table).warnings[0])


def test_a_polars_frame_with_types_that_arrow_lacks_is_read_by_row() -> None:
    """A value that is too large is an error of its row."""
    frame = pl.DataFrame({"a": pl.Series([5, 2**100, None], dtype=pl.Int128), "k": ["x", "y", "z"]})
    asked = [{"id": where, "where": where} for where in ("a = 5", "k = 'y'", "a IS NULL")]
    for source in (frame, frame.lazy(), frame.to_struct("events")):
        answer = tocsin.match(asked, source)
        assert [(row["event"], row["subscription"]) for row in answer] == [
            (0, "a = 5"),
            (1, "k = 'y'"),
            (2, "a IS NULL"),
        ]
        assert [(reject.row, reject.field) for reject in answer.errors] == [(1, "a")]
    assert len(tocsin.match({"id": 1, "where": "b IS NULL"}, frame)) == 3


def test_a_series_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="cannot be read from a polars Series; give a data frame"):
        tocsin.match(ASKED, pl.Series("a", [1, 2]))

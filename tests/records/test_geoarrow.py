"""GeoArrow's encodings and GeoParquet's native ones: each gives the answers of the same geometries in binary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import tocsin

SHAPES = {
    "point": ["POINT (1 2)", "POINT (-3 4)", "POINT (2 2)"],
    "linestring": ["LINESTRING (0 0, 1 1, 2 0)", "LINESTRING (-3 0, -1 4)"],
    "multipoint": ["MULTIPOINT ((0 0), (1 1))", "MULTIPOINT ((-3 -3))"],
    "polygon": ["POLYGON ((0 0, 4 0, 4 4, 0 0), (2 1, 3 1, 3 2, 2 1))", "POLYGON ((5 5, 6 5, 6 6, 5 5))"],
    "multilinestring": ["MULTILINESTRING ((0 0, 1 1), (2 2, 3 3))", "MULTILINESTRING ((-5 0, -4 0))"],
    "multipolygon": ["MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
                     "MULTIPOLYGON (((7 7, 8 7, 8 8, 7 7)))"],
}  # fmt: skip
ASKED = ["S_INTERSECTS(g, BBOX(0, 0, 1.5, 5))", "S_WITHIN(g, BBOX(-5, -5, 4, 4))", "g IS NULL", "k = 1"]


def matched(table: pa.Table) -> list[tuple[int, str]]:
    answer = tocsin.match([{"id": where, "where": where} for where in ASKED], table)
    assert not answer.errors and not answer.warnings
    return sorted(
        ((row["event"], row["subscription"]) for row in answer), key=lambda found: (found[0], ASKED.index(found[1]))
    )


def native(shapes: Any, *, is_interleaved: bool) -> pa.Array:
    """The column of shapely's own arrays, with a null before and a slice around."""
    _, coordinates, offsets = shapely.to_ragged_array(shapes)
    if is_interleaved:
        column: pa.Array = pa.FixedSizeListArray.from_arrays(pa.array(coordinates.ravel()), 2)
    else:
        column = pa.StructArray.from_arrays([pa.array(axis) for axis in coordinates.T], ["x", "y"])
    for part in offsets:
        column = pa.ListArray.from_arrays(pa.array(part.astype(np.int32)), column)
    values = column.to_pylist()
    return pa.array([values[0], None, *values], column.type).slice(1)


def named(table: pa.Table, encoding: str, *, is_file: bool) -> pa.Table:
    """The table with metadata of GeoParquet, or of GeoArrow."""
    if is_file:
        geo = {
            "version": "1.1.0",
            "primary_column": "g",
            "columns": {"g": {"encoding": encoding, "geometry_types": []}},
        }
        return table.replace_schema_metadata({"geo": json.dumps(geo)})
    field = table.schema.field("g").with_metadata({"ARROW:extension:name": f"geoarrow.{encoding}"})
    return table.cast(pa.schema([field, *(other for other in table.schema if other.name != "g")]))


@pytest.mark.parametrize("encoding", SHAPES)
def test_native_encodings_are_geometries(encoding: str, tmp_path: Path) -> None:
    shapes = shapely.from_wkt(SHAPES[encoding])
    numbers = pa.array(range(len(shapes) + 1))
    expected = matched(pa.table({"g": pa.array([None, *shapely.to_wkb(shapes)]), "k": numbers}))
    assert len(expected) > 2
    for is_interleaved in (False, True):
        for is_file in (False, True):
            table = pa.table({"g": native(shapes, is_interleaved=is_interleaved), "k": numbers})
            table = named(table, encoding, is_file=is_file)
            assert matched(table) == expected
            assert matched(pa.concat_tables([table.slice(0, 1), table.slice(1)])) == expected
            pq.write_table(table, tmp_path / "g.parquet")
            assert matched(tmp_path / "g.parquet") == expected


def test_texts_and_boxes_are_geometries() -> None:
    texts = ["POINT (1 2)", None, "SRID=4326;LINESTRING (0 0, 1 1, 2 0)"]
    boxes = [
        {"xmin": 0.0, "ymin": 0.0, "xmax": 1.0, "ymax": 1.0},
        None,
        {"xmin": 9.0, "ymin": 9.0, "xmax": 9.5, "ymax": 9.5},
    ]
    found = [
        matched(named(pa.table({"g": pa.array(values), "k": [1, 2, 3]}), encoding, is_file=False))
        for encoding, values in (("wkt", texts), ("box", boxes))
    ]
    assert found == [
        [(0, ASKED[0]), (0, ASKED[1]), (0, ASKED[3]), (1, ASKED[2]), (2, ASKED[0]), (2, ASKED[1])],
        [(0, ASKED[0]), (0, ASKED[1]), (0, ASKED[3]), (1, ASKED[2])],
    ]


def test_members_of_a_point_stay_attributes() -> None:
    table = pa.table({"g": [{"x": 1.0, "y": 2.0}, {"x": 7.0, "y": 2.0}]})
    asked = [{"id": 0, "where": "g.x > 5"}, {"id": 1, "where": "S_INTERSECTS(g, BBOX(0, 0, 5, 5))"}]
    found = tocsin.match(asked, named(table, "point", is_file=True)).table.to_pylist()
    assert [(row["event"], row["subscription"]) for row in found] == [(0, 1), (1, 0)]


def test_a_bad_geometry_is_an_error_of_its_row() -> None:
    """The rows around it are served; a layout that is not that of the encoding stays what it is."""
    points = [[{"x": x, "y": y} for x, y in ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 0.0))]]
    rows = [
        points,
        [points[0][:2]],
        [],
        [None],
        [[None, *points[0][1:]]],
        [[{"x": float("nan"), "y": 0.0}] * 4],
        points,
    ]
    table = named(pa.table({"g": rows, "k": range(7)}), "polygon", is_file=True)
    answer = tocsin.match([{"id": where, "where": where} for where in ASKED], table)
    assert {row["event"] for row in answer if row["subscription"] == ASKED[0]} == {0, 6}
    assert [(reject.row, reject.field) for reject in answer.errors] == [(row, "g") for row in range(1, 6)]
    assert "at least four points" in answer.errors[0].reason

    other = named(pa.table({"g": [{"x": 1.0}], "k": [1]}), "point", is_file=True)
    assert tocsin.match({"id": 0, "where": "g.x = 1"}, other).table.num_rows == 1


def test_metadata_that_is_damaged_is_left_out() -> None:
    for geo in (b"x", b"[]", b'{"columns": 1}', b'{"columns": {"g": 1}}', b"[" * 100_000):
        table = pa.table({"g": [{"x": 1.0, "y": 2.0}]}).replace_schema_metadata({"geo": geo})
        assert tocsin.match({"id": 0, "where": "g.x = 1"}, table).table.num_rows == 1

"""Curves, bytes that are left over and MySQL's geometries: each is a value of its record alone, in every form."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely

import tocsin
from tocsin.model.reading_shapes import _length, read_binary

POINT = shapely.to_wkb(shapely.Point(1, 1))
CURVES = [
    "CIRCULARSTRING (0 0, 1 1, 2 0)",
    "COMPOUNDCURVE ((0 0, 1 1), CIRCULARSTRING (1 1, 2 2, 3 1))",
    "CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))",
    "MULTICURVE ((0 0, 1 1), CIRCULARSTRING (1 1, 2 2, 3 1))",
    "GEOMETRYCOLLECTION (POINT (1 1), CIRCULARSTRING (0 0, 1 1, 2 0))",
    "GEOMETRYCOLLECTION (GEOMETRYCOLLECTION (CIRCULARSTRING (0 0, 1 1, 2 0)))",
]
CIRCLE = struct.pack("<BII6d", 1, 8, 3, 0, 0, 1, 1, 2, 0)
IN_COLLECTION = struct.pack("<BII", 1, 7, 1) + CIRCLE
SHAPES = [
    "POINT (1 2)",
    "POINT Z (1 2 3)",
    "LINESTRING (0 0, 1 1, 2 0)",
    "POLYGON ((0 0, 4 0, 4 4, 0 0), (2 1, 3 1, 3 2, 2 1))",
    "MULTIPOINT ((0 0), (1 1))",
    "MULTIPOLYGON Z (((0 0 1, 4 0 1, 4 4 1, 0 0 1)), ((5 5 1, 6 5 1, 6 6 1, 5 5 1)))",
    "GEOMETRYCOLLECTION (POINT (1 1), GEOMETRYCOLLECTION (LINESTRING (0 0, 1 1)))",
]


def told(source: Any, **options: Any) -> tuple[list[tuple[int, str]], dict[int, str]]:
    asked = ["S_INTERSECTS(g, BBOX(0, 0, 5, 5))", "k = 1"]
    answer = tocsin.match([{"id": str(i), "where": where} for i, where in enumerate(asked)], source, **options)
    found = [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]
    return sorted(found), {reject.row: reject.reason for reject in answer.errors}


@pytest.mark.parametrize("curve", CURVES)
def test_a_curve_in_a_text_is_an_error_of_its_value(curve: str) -> None:
    found, errors = told([{"g": curve, "k": 1}, {"g": "POINT (1 1)", "k": 2}], schema={"g": "geometry"})
    assert found == [(0, "1"), (1, "0")]
    assert errors.keys() == {0} and "curve" in errors[0]


@pytest.mark.parametrize("circle", [CIRCLE, IN_COLLECTION])
def test_a_curve_in_bytes_is_an_error_of_its_value(circle: bytes) -> None:
    events = [{"g": circle, "k": 1}, {"g": POINT, "k": 2}]
    for source, schema in (
        (events, None),
        (pa.Table.from_pylist(events), None),
        ([{**event, "g": event["g"].hex()} for event in events], {"g": "geometry"}),
    ):
        found, errors = told(source, schema=schema)
        assert found == [(0, "1"), (1, "0")]
        assert errors.keys() == {0} and "curve" in errors[0]


def test_a_subscription_with_a_curve_is_refused_alone() -> None:
    """Texts of places are read many at once."""
    wheres = [f"S_INTERSECTS(g, {shape})" for shape in [*CURVES, *SHAPES] * 20]
    answer = tocsin.match([{"id": str(i), "where": where} for i, where in enumerate(wheres)], [{"k": 1}])
    assert len(answer.subscription_errors) == 20 * len(CURVES)
    engine = tocsin.Engine()
    with pytest.raises(tocsin.RecordError, match="CIRCULARSTRING"):
        engine.subscribe("x", f"S_INTERSECTS(g, {CURVES[0]})")


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("flavor", ["iso", "extended"])
def test_the_length_of_a_geometry_is_that_of_its_bytes(text: str, order: int, flavor: Any) -> None:
    geometry = shapely.set_srid(shapely.from_wkt(text), 0 if flavor == "iso" else 4326)
    data = shapely.to_wkb(geometry, byte_order=order, flavor=flavor, include_srid=flavor == "extended")
    assert _length(data) == len(data) == _length(data + b"\0more")
    assert {_length(data[:cut]) for cut in range(len(data))} == {None}


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("srid", [0, 1, 4326])
def test_mysql_writes_the_reference_system_first(text: str, srid: int) -> None:
    geometry = shapely.from_wkt(text)
    data = srid.to_bytes(4, "little") + shapely.to_wkb(geometry)
    read, reasons = read_binary(shapely, np.array([data, POINT], object))
    assert not reasons and read[0].equals(geometry) and shapely.get_srid(read[0]) == srid
    found, errors = told([{"g": data, "k": 0}])
    assert (0, "0") in found and not errors


@pytest.mark.parametrize("more", [b"\0", b"\0\0\0\0", POINT])
def test_bytes_behind_a_geometry_are_an_error(more: bytes) -> None:
    events = [{"g": POINT + more, "k": 1}, {"g": POINT, "k": 2}]
    for source in (events, pa.Table.from_pylist(events)):
        found, errors = told(source)
        assert found == [(0, "1"), (1, "0")]
        assert f"{len(more)} bytes follow the geometry" in errors[0]


@pytest.mark.parametrize("data", [b"", b"x", b"caf\xc3\xa9 au lait", POINT[:-1], b"\1\1\0\0", b"\1\x63\0\0\0"])
def test_other_bytes_are_an_error(data: bytes) -> None:
    for source in ([{"g": data, "k": 1}], pa.Table.from_pylist([{"g": data, "k": 1}])):
        found, errors = told(source)
        assert found == [(0, "1")] and "well-known binary" in errors[0]

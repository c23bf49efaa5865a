"""Coordinates that are no longitude and latitude are told of, once, and matched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import tocsin
from tocsin.cli.main import main

ASKED = [{"id": "near", "where": "S_INTERSECTS(geometry, BBOX(0, 0, 3, 3)) AND n = 1"}]
MERCATOR = {"type": "ProjectedCRS", "name": "WGS 84 / Pseudo-Mercator", "id": {"authority": "EPSG", "code": 3857}}


def geoparquet(path: Path, **column: Any) -> Path:
    table = pa.table({"geometry": [shapely.to_wkb(shapely.Point(1, 1))] * 3, "n": [1, 1, 2]})
    told = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB", **column}}}
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(told)}), path)
    return path


@pytest.mark.parametrize(
    ("column", "system"),
    [
        ({}, ""),
        ({"crs": None}, ""),
        ({"crs": {"name": "WGS 84 (CRS84)", "id": {"authority": "OGC", "code": "CRS84"}}}, ""),
        ({"crs": {"id": {"authority": "EPSG", "code": 4326}}}, ""),
        ({"crs": MERCATOR}, "EPSG:3857"),
        ({"crs": {"type": "ProjectedCRS", "name": "Our grid"}}, "Our grid"),
        ({"crs": [1]}, ""),
    ],
)
def test_a_file_in_another_system_is_told(column: dict[str, Any], system: str, tmp_path: Path) -> None:
    """By `match`, an engine, a sample and a folder; what is longitude and latitude, or not said, is not."""
    path = geoparquet(tmp_path / "places.parquet", **column)
    engine = tocsin.Engine()
    engine.subscribe_many(ASKED)

    answer = tocsin.match(ASKED, path)

    assert answer.table["event"].to_pylist() == [0, 1]
    told = [f"geometry: its coordinates are in {system} and used as they are"] if system else []
    for notices in (answer.warnings, tocsin.match(ASKED, tmp_path).warnings, engine.warnings(path)):
        assert [str(one).partition(";")[0] for one in notices] == told


def test_a_column_that_says_its_system_is_told() -> None:
    """As GeoArrow says it, of tables in memory."""
    of_arrow = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": '{"crs": "EPSG:25832"}'}
    fields = [pa.field("geometry", pa.binary(), metadata=of_arrow), pa.field("n", pa.int64())]
    table = pa.table([[shapely.to_wkb(shapely.Point(1, 1))], [1]], schema=pa.schema(fields))

    (notice,) = tocsin.match(ASKED, table).warnings

    assert notice.reason.startswith("its coordinates are in EPSG:25832 and used as they are; convert them to")


def test_nobody_is_told_of_what_nobody_asks(tmp_path: Path) -> None:
    path = geoparquet(tmp_path / "places.parquet", crs=MERCATOR)

    assert tocsin.match([{"id": 1, "where": "n = 1"}], path).warnings == []


def test_commands_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = geoparquet(tmp_path / "places.parquet", crs=MERCATOR)
    (tmp_path / "s.jsonl").write_text(json.dumps(ASKED[0]))

    main(["match", str(tmp_path / "s.jsonl"), str(path), "--out", str(tmp_path / "out.jsonl")])
    assert "warning: geometry: its coordinates are in EPSG:3857" in capsys.readouterr().err
    main(["check", str(tmp_path / "s.jsonl"), "--sample", str(path)])
    assert "warning: geometry: its coordinates are in EPSG:3857" in capsys.readouterr().out


NEAR = "DISTANCE_M(at, POINT(13.4 52.5)) <= 5000"
BEYOND = "beyond longitude 180 or latitude 90, where DISTANCE_M is UNKNOWN; longitude comes first"


@pytest.mark.parametrize(
    ("where", "events", "told"),
    [
        (NEAR, [{"at": [52.5, 113.4]}, {"at": [13.4, 52.5]}, {"at": [200, 0]}], f"at: 2 points lie {BEYOND}"),
        (NEAR, [{"at": {"type": "Point", "coordinates": [1, -91]}}], f"at: 1 point lies {BEYOND}"),
        (NEAR, b'{"at": [181, 5]}\n{"at": [13.4, 52.5]}\n', f"at: 1 point lies {BEYOND}"),
        (NEAR.replace("<=", ">"), [{"at": [-200, 0]}], f"at: 1 point lies {BEYOND}"),
        (f"ANY(stops, {NEAR})", [{"stops": [{"at": [1, 1]}, {"at": [1, 100]}]}], f"stops.at: 1 point lies {BEYOND}"),
        (NEAR, [{"at": [180, -90]}, {"at": [-180, 90]}, {"at": [0, 0, 300, 300]}, {"at": [5, 1, 2]}], ""),
        (NEAR, [{"at": [500, 1, 2]}], f"at: 1 point lies {BEYOND}"),
        ("S_INTERSECTS(at, BBOX(0, 0, 900, 900))", [{"at": [200, 300]}], ""),
        (f"{NEAR} AND S_INTERSECTS(to, BBOX(0, 0, 900, 900))", [{"at": [1, 1], "to": [200, 300]}], ""),
    ],
)
def test_points_beyond_the_globe_are_told(where: str, events: Any, told: str) -> None:
    """Where a distance is asked of them; on the plane any point will do."""
    engine = tocsin.Engine()
    engine.subscribe("s", where)

    for notices in (tocsin.match([{"id": "s", "where": where}], events).warnings, engine.warnings(events)):
        assert [str(one) for one in notices] == [told] * bool(told)


POINT = shapely.Point(1, 1)
EWKB = shapely.to_wkb(shapely.set_srid(POINT, 25832), include_srid=True)


@pytest.mark.parametrize(
    "place",
    [
        EWKB,
        EWKB.hex(),
        "SRID=25832;POINT(1 1)",
        (25832).to_bytes(4, "little") + shapely.to_wkb(POINT),
        {"wkb": shapely.to_wkb(POINT), "srid": 25832},
        {"type": "Point", "coordinates": [1, 1], "crs": {"type": "name", "properties": {"name": "EPSG:25832"}}},
        shapely.set_srid(POINT, 25832),
    ],
)
def test_a_value_that_names_its_system_is_told(place: Any) -> None:
    schema = {"geometry": "geometry"} if isinstance(place, str) else None
    answer = tocsin.match(ASKED, [{"geometry": [1, 1], "n": 1}, {"geometry": place, "n": 1}], schema=schema)
    assert answer.table["event"].to_pylist() == [0, 1]
    (notice,) = answer.warnings
    assert "EPSG:25832 and used as they are" in str(notice)


@pytest.mark.parametrize(
    "place", ["SRID=4326;POINT(1 1)", "SRID=0;POINT(1 1)", "POINT(1 1)", shapely.to_wkb(POINT).hex()]
)
def test_a_value_in_degrees_is_not_told(place: str) -> None:
    assert not tocsin.match(ASKED, [{"geometry": place, "n": 1}], schema={"geometry": "geometry"}).warnings


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("urn:ogc:def:crs:EPSG::25832", "EPSG:25832"),
        ("urn:ogc:def:crs:EPSG:8.5:25832", "EPSG:25832"),
        ("http://www.opengis.net/def/crs/EPSG/0/25832", "EPSG:25832"),
        ("EPSG:25832", "EPSG:25832"),
        ("epsg:25832", "EPSG:25832"),
        ("Our grid", "Our grid"),
        ("urn:ogc:def:crs:OGC:1.3:CRS84", ""),
        ("urn:ogc:def:crs:EPSG::4326", ""),
        ("http://www.opengis.net/def/crs/OGC/1.3/CRS84", ""),
    ],
)
def test_a_collection_that_names_its_system_is_told(name: str, system: str, tmp_path: Path) -> None:
    """As GeoJSON of 2008 has it, and ogr2ogr writes it. The system holds for all features."""
    feature = {"type": "Feature", "properties": {"n": 1}, "geometry": {"type": "Point", "coordinates": [1, 1]}}
    crs = {"type": "name", "properties": {"name": name}}
    path = tmp_path / "places.geojson"
    empty = {"type": "Feature", "properties": {"n": 1}, "geometry": None}
    path.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": [empty, feature]}))
    answer = tocsin.match(ASKED, path)
    assert answer.table["event"].to_pylist() == [1]
    assert [system in str(notice) for notice in answer.warnings] == ([True] if system else [])


@pytest.mark.parametrize(
    "crs",
    [
        json.dumps({"type": "GeographicCRS", "name": "WGS 84", "id": {"authority": "EPSG", "code": 4326}}),
        json.dumps({"type": "GeographicCRS", "name": "WGS 84 (CRS84)"}),
        'GEOGCRS["WGS 84",ENSEMBLE["World Geodetic System 1984 ensemble",ID["EPSG",6326]],ID["EPSG",4326]]',
        'GEOGCS["WGS 84",DATUM["WGS_1984",AUTHORITY["EPSG","6326"]],AUTHORITY["EPSG","4326"]]',
        "OGC:CRS84",
    ],
)
def test_degrees_in_any_notation_are_not_told(crs: str) -> None:
    """PROJJSON in a string and well-known text of systems, as GeoArrow has them."""
    own = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps({"crs": crs})}
    fields = [pa.field("geometry", pa.binary(), metadata=own), pa.field("n", pa.int64())]
    table = pa.table([[shapely.to_wkb(POINT)], [1]], schema=pa.schema(fields))
    assert not tocsin.match(ASKED, table).warnings

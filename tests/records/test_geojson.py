"""GeoJSON features are records in every layout, and geometries in texts are places where a schema says so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
import shapely

import tocsin

FEATURES = [
    {
        "type": "Feature",
        "id": 7,
        "geometry": {"type": "Point", "coordinates": [1, 1]},
        "properties": {"a": 1},
        "seen": 3,
    },
    {"type": "Feature", "geometry": None, "properties": {"a": 2, "id": "own"}, "bbox": [0, 0, 1, 1]},
]
ASKED = [
    {"id": "place", "where": "S_INTERSECTS(geometry, BBOX(0, 0, 9, 9)) AND a = 1 AND id = 7 AND seen = 3"},
    {"id": "own", "where": "a = 2 AND id = 'own' AND geometry IS NULL AND bbox IS NULL AND type IS NULL"},
]
LINES = "".join(json.dumps(one) + "\n" for one in FEATURES)
LAYOUTS = {
    "lines": LINES,
    "sequence": "".join("\x1e" + line + "\n" for line in LINES.splitlines()),
    "collection": json.dumps({"type": "FeatureCollection", "features": FEATURES}),
    "array": json.dumps(FEATURES),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ending", ["jsonl", "geojson", "geojsonl", "geojsons"])
def test_features_are_records(layout: str, ending: str, tmp_path: Path) -> None:
    """Properties, geometry, id and foreign members are attributes, in every layout and under every ending."""
    file = tmp_path / f"e.{ending}"
    file.write_text(LAYOUTS[layout])
    for source in (file, LAYOUTS[layout].encode()):
        answer = tocsin.match(ASKED, source)
        assert [(row["event"], row["subscription"]) for row in answer.table.to_pylist()] == [(0, "place"), (1, "own")]
        assert answer.errors == []


POINT = shapely.Point(1, 1)
TEXTS = [
    "POINT(1 1)",
    " point ( 1 1 ) ",
    "SRID=4326;POINT(1 1)",
    "srid=4326; POINT Z (1 1 5)",
    shapely.to_wkb(POINT, hex=True),
    shapely.to_wkb(shapely.set_srid(POINT, 4326), hex=True, include_srid=True).lower(),
    '{"type": "Point", "coordinates": [1, 1, 9]}',
    "POLYGON((0.5 0.5, 1.5 0.5, 1.5 1.5, 0.5 0.5))",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_a_place_where_a_schema_says_so(text: str, tmp_path: Path) -> None:
    """Well-known text, PostGIS's texts, hexadecimal binary and GeoJSON, in dicts, JSON, tables and CSV."""
    asked = [{"id": "s", "where": "S_INTERSECTS(g, BBOX(0, 0, 5, 5))"}]
    quoted = '"' + text.replace('"', '""') + '"'
    (tmp_path / "e.csv").write_text(f"g\n{quoted}\n")
    for source in ([{"g": text}], json.dumps({"g": text}).encode(), pa.table({"g": [text]}), tmp_path / "e.csv"):
        answer = tocsin.match(asked, source, schema={"g": "geometry"})
        assert answer.table["event"].to_pylist() == [0] and answer.errors == []


AREA = {"type": "Feature", "properties": {"name": "depot"}, "geometry": {"type": "Point", "coordinates": [1, 2]}}


@pytest.mark.parametrize("form", ["collection", "lines"])
def test_areas_are_not_subscriptions(form: str, tmp_path: Path) -> None:
    """One message says so, for a file without any subscription; others are told record by record."""
    asked = {**AREA, "properties": {"id": "s", "where": "n = 1"}}
    bad: dict[str, object] = {"id": 1, "where": "n ="}

    def written(*records: dict[str, object]) -> Path:
        path = tmp_path / "areas.geojson"
        collection = json.dumps({"type": "FeatureCollection", "features": records})
        path.write_text(collection if form == "collection" else "\n".join(map(json.dumps, records)))
        return path

    for call in (tocsin.match, lambda path, _: tocsin.Engine().subscribe_many(path)):
        with pytest.raises(tocsin.InvalidInput, match=r"areas.geojson is GeoJSON with areas.*docs/how-to/geofences.md"):
            call(written(*[AREA] * 50), [{"n": 1}])
    assert len(tocsin.Engine().subscribe_many(written(AREA, AREA, asked)).errors) == 2
    assert len(tocsin.Engine().subscribe_many(written(AREA, bad)).errors) == 2
    assert len(tocsin.Engine().subscribe_many([AREA]).errors) == 1


@pytest.mark.parametrize(
    "text", ["0101", "00zz", "SRID=4326", '{"type": "Point"}', "{", "POINT(1)", "0101000000ffffffff"]
)
def test_a_text_that_is_not_a_place_is_reported(text: str) -> None:
    """The event is served, and the reject shows the text and the forms that are read."""
    asked = [{"id": "s", "where": "g IS NOT NULL"}]
    answer = tocsin.match(asked, [{"g": text}], schema={"g": "geometry"})

    assert answer.table["event"].to_pylist() == [0]
    assert [error.field for error in answer.errors] == ["g"] and "POINT(2.35 48.85)" in answer.errors[0].reason

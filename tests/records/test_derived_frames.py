"""Frames of libraries that derive theirs from pandas, such as GeoPandas, are read as frames of pandas."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import shapely

import tocsin

ASKED = ["S_INTERSECTS(g, BBOX(0, 0, 5, 5))", "k = 2", "g IS NULL", "o = 'x'"]
SHAPES = [shapely.Point(1, 1), None, shapely.Point(9, 9)]
EXPECTED = [(0, ASKED[0]), (0, ASKED[3]), (1, ASKED[1]), (1, ASKED[2])]


class Frame(pd.DataFrame):
    """A frame of another library."""

    @property
    def _constructor(self) -> Any:
        return type(self)


class GeometryFrame(Frame):
    """One that makes an Arrow table itself, as GeoPandas does."""

    def to_arrow(self, *, index: bool) -> pa.Table:
        assert not index
        about = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps({"crs": "EPSG:25832"})}
        columns = {name: self[name].tolist() for name in self.columns}
        arrays = [pa.array(shapely.to_wkb(values) if name == "g" else values) for name, values in columns.items()]
        fields = [
            pa.field(name, array.type, metadata=about if name == "g" else None)
            for name, array in zip(columns, arrays, strict=True)
        ]
        return pa.table(arrays, schema=pa.schema(fields))


def matched(frame: Any, *asked: str) -> tuple[list[tuple[int, str]], list[str]]:
    answer = tocsin.match([{"id": where, "where": where} for where in asked or ASKED], frame)
    assert not answer.errors
    found = sorted((row["event"], row["subscription"]) for row in answer.table.to_pylist())
    return found, [str(warning) for warning in answer.warnings]


@pytest.mark.parametrize("kind", [pd.DataFrame, Frame, GeometryFrame])
def test_a_derived_frame_is_a_frame(kind: Any) -> None:
    """Also if a column has values of several types, so that it is read by row."""
    for others in (["x", "y", None], ["x", 5, None]):
        frame = kind({"k": [1, 2, 3], "g": SHAPES, "o": others})
        found, told = matched(frame)
        assert found == sorted(EXPECTED)
        is_told = kind is GeometryFrame and others[1] == "y"
        assert any("EPSG:25832" in words for words in told) is is_told


@pytest.mark.parametrize("kind", [pd.DataFrame, Frame, GeometryFrame])
def test_a_frame_without_a_column_that_is_asked_for_has_rows(kind: Any) -> None:
    assert matched(kind({"k": [1, 2]}), "z IS NULL")[0] == [(0, "z IS NULL"), (1, "z IS NULL")]


def test_a_derived_series_is_refused_by_name() -> None:
    class Places(pd.Series):
        pass

    with pytest.raises(tocsin.InvalidInput, match="cannot be read from a pandas Places; give a data frame"):
        matched(Places([1, 2]))


def test_frames_of_geopandas() -> None:
    geopandas = pytest.importorskip("geopandas", reason="GeoPandas is not installed")
    frame = geopandas.GeoDataFrame({"k": [1, 2, 3], "o": ["x", "y", None], "g": SHAPES}, geometry="g", crs=25832)
    found, told = matched(frame)
    assert found == sorted(EXPECTED) and any("EPSG:25832" in words for words in told)

"""A day of planes through fences: where they fly, what is found, and a picture."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin.cli.main import main
from tocsin.demo import fences
from tocsin.language.distances import distance_m
from tocsin.model.values import Point

image = pytest.importorskip("matplotlib.image")

places = st.tuples(st.floats(-179, 179), st.floats(-80, 80)).map(np.array)


@given(places, places)
def test_a_great_circle_is_the_shortest_way(start, end):
    """It begins and ends where it should, and its parts are as long as the whole."""
    way = fences.great_circle(start, end, np.linspace(0, 1, 9))
    whole = distance_m(Point(*start), Point(*end))
    parts = [distance_m(Point(*one), Point(*other)) for one, other in pairwise(way)]

    assert whole is not None
    if whole < 1.9e7:  # from the other side of the earth all ways are as short
        assert sum(part or 0 for part in parts) == pytest.approx(whole, rel=1e-6, abs=1)
        assert distance_m(Point(*way[-1]), Point(*end)) == pytest.approx(0, abs=1)


def test_a_ring_is_a_polygon_of_that_radius():
    ring = fences.ring_around(-73.9, 40.7, 80)

    assert shapely.Polygon(ring).is_valid
    assert [distance_m(Point(-73.9, 40.7), Point(*corner)) for corner in ring[::6]] == pytest.approx(
        [80_000] * 5, rel=0.01
    )


def test_a_day_is_flown_followed_and_painted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """What the command leaves; what was found is what matching every position says."""
    assert main(["demo", "fences", "--out", str(tmp_path), "--day", "2013-02-09"]) == 0
    told = capsys.readouterr().out
    positions, changes = (pq.read_table(tmp_path / name) for name in fences.OUTPUT[:2])
    summary = json.loads((tmp_path / "fences.json").read_text())

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(fences.OUTPUT)
    assert f"{summary['planes']:,} planes at {len(positions):,} places" in told
    assert summary["changes"]["enter"] == sum(row["change"] == "enter" for row in changes.to_pylist())
    assert summary["changes"]["exit"] > 0
    assert image.imread(tmp_path / "fences.png").std() > 0.05
    late = {row["object"] for row in changes.to_pylist() if row["subscription"] == fences.LATE}
    assert late == {row["plane"] for row in positions.to_pylist() if row["late"] >= 60}


@pytest.mark.parametrize("day", ["2012-02-01", "soon"])
def test_a_day_without_flights(day: str, tmp_path: Path):
    with pytest.raises(tocsin.InvalidInput, match=r"2013"):
        fences.run(tmp_path / "out", day=day)
    assert not (tmp_path / "out").exists()

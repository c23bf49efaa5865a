"""The subscriptions of the demo: repeatable, different from each other, and valid."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.demo import by_sql
from tocsin.demo import alerts
from tocsin.demo.alerts import Catalogue, Route
from tocsin.errors import InvalidInput

KNOWN = Catalogue(
    [
        Route("JFK", "LAX", "AA", 900, -118.41, 33.94),
        Route("JFK", "LAX", "DL", 700, -118.41, 33.94),
        Route("EWR", "SFO", "UA", 800, -122.37, 37.62),
        Route("LGA", "BOS", "US", 400, -71.01, 42.36),
        Route("JFK", "HNL", "HA", 10, -157.92, 21.32),
    ],
    ["N14228", "N24211", "N619AA"],
)


def test_the_same_seed_draws_the_same_alerts() -> None:
    """A draw depends on nothing but the catalogue, the count and the seed."""
    assert alerts.draw(KNOWN, 500, 7) == alerts.draw(KNOWN, 500, 7)
    assert alerts.draw(KNOWN, 500, 7) != alerts.draw(KNOWN, 500, 8)


def test_alerts_are_all_distinct() -> None:
    """No two alerts have the same id, and hardly two ask the same, even where few routes are flown."""
    drawn = alerts.draw(KNOWN, 600, 7)

    assert len({alert["id"] for alert in drawn}) == 600
    assert len({alert["where"] for alert in drawn}) > 590
    assert all(math.isfinite(alert["score"]) and alert["score"] >= 1 for alert in drawn)


def test_the_famous_ones_come_first() -> None:
    """The hand-written alerts are always among them, as far as the count allows."""
    names = [name for name, _ in alerts.FAMOUS]

    assert [alert["id"] for alert in alerts.draw(KNOWN, 40, 7)][: len(names)] == names
    assert [alert["id"] for alert in alerts.draw(KNOWN, 3, 7)] == names[:3]


def test_none_is_refused() -> None:
    """A demo without subscriptions is a mistake."""
    with pytest.raises(InvalidInput, match="0 subscriptions; there must be at least 1"):
        alerts.draw(KNOWN, 0, 7)


def test_they_are_written_as_records(tmp_path: Path) -> None:
    """The Parquet file holds the records, in order."""
    drawn = alerts.draw(KNOWN, 50, 7)
    alerts.write(drawn, tmp_path / "alerts.parquet")

    assert pq.read_table(tmp_path / "alerts.parquet").to_pylist() == drawn


@pytest.mark.spark
def test_the_catalogue_is_what_flew(spark: object, flown: Path) -> None:
    """Routes and planes are read off the events, in an order that does not vary, and alerts drawn from them
    are SQL."""
    events = spark.read.parquet(str(flown))  # type: ignore[attr-defined]
    known = alerts.catalogue(events, planes=20)
    drawn = alerts.draw(known, 150, 7)
    rang = by_sql.match(events, drawn).selectExpr("sum(size(matches))").first()[0]

    assert sum(route.flights for route in known.routes) == 2000
    assert list(known.routes) == sorted(known.routes)
    assert len(known.planes) == 20
    assert rang > 0
